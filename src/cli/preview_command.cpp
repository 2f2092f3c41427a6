#include "cli/preview_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "base/text_cursor.h"
#include "cli/terminal.h"
#include "cli/when.h"
#include "core/schedules/schedule.h"
#include "core/time/json_time.h"
#include "core/triggers/preview.h"
#include "core/triggers/timetable.h"
#include "core/triggers/trigger.h"
#include "core/triggers/trigger_kind.h"
#include "daemon/config.h"

namespace carillon {

namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;

// What a preview needs of a schedule, wherever it came from.
struct Plan {
  Trigger trigger;
  std::optional<std::string> timezone;
  DstPolicy dst;
  std::optional<GivenTime> starts;
  std::optional<GivenTime> ends;
  std::set<LocalDays> exclude_dates;
};

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::unexpected(
        Error{.code = ErrorCode::unavailable,
              .message = fmt::format("cannot read {}: no such file, or no permission", quoted(path))});
  }
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) {
    return std::unexpected(
        Error{.code = ErrorCode::unavailable,
              .message = fmt::format("cannot read {}: it is not a file that can be read", quoted(path))});
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) return invalid_request(fmt::format("{} is larger than 1 MiB", quoted(path)));
  return text;
}

// A whole schedule, as it would be put to the server. What does not bear on its times is not looked at.
Result<Plan> read_schedule(std::string_view text, const Json& root) {
  Plan plan;
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, root, "", kScheduleFields));
  TRY_ASSIGN(const Json* trigger, fields.required("trigger", JsonType::object));
  TRY_ASSIGN(plan.trigger, parse_trigger_json(text, *trigger, "trigger"));
  TRY_ASSIGN(const Json* timezone, fields.optional("timezone", JsonType::string));
  if (timezone != nullptr) plan.timezone = timezone->text;
  TRY_ASSIGN(const Json* dst, fields.optional("dst", JsonType::object));
  if (dst != nullptr) {
    TRY_ASSIGN(plan.dst, read_dst_json(text, *dst, "dst"));
  }
  if (const Json* starts_at = fields.optional("starts_at")) {
    TRY_ASSIGN(plan.starts, read_json_given_time(text, *starts_at, "starts_at"));
  }
  if (const Json* ends_at = fields.optional("ends_at")) {
    TRY_ASSIGN(plan.ends, read_json_given_time(text, *ends_at, "ends_at"));
  }
  TRY_ASSIGN(const Json* exclude_dates, fields.optional("exclude_dates", JsonType::array));
  if (exclude_dates != nullptr) {
    for (const Json& date : exclude_dates->items) {
      if (date.type != JsonType::string)
        return fields.fail(date, "exclude_dates", "expected dates like \"2026-12-25\"");
      auto day = parse_date(date.text);
      if (!day) return fields.fail(date, "exclude_dates", day.error().message);
      plan.exclude_dates.insert(*day);
    }
  }
  return plan;
}

Result<Plan> read_plan_file(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_file(path));
  const auto parse = [&]() -> Result<Plan> {
    TRY_ASSIGN(const Json root, parse_json(text));
    if (root.type == JsonType::object && root.find("trigger") != nullptr) return read_schedule(text, root);
    Plan plan;
    TRY_ASSIGN(plan.trigger, parse_trigger_json(text, root, "trigger"));
    return plan;
  };
  auto plan = parse();
  if (!plan) return std::unexpected(with_context(path, std::move(plan).error()));
  return plan;
}

Result<void> set_start(Trigger& trigger, const std::string& start, const Zone& zone) {
  const TriggerKind& kind = kind_of(trigger);
  if (!kind.set_start) {
    const std::string those = kinds_where([](const TriggerKind& one) { return one.set_start != nullptr; });
    return invalid_request(fmt::format("--start goes with {} only; the other kinds have no start", those));
  }
  TRY_ASSIGN(const Instant at, parse_when(start, zone));
  // A local time is taken as it is written, even one that a clock change skips.
  const auto local = parse_local_seconds(start);
  kind.set_start(trigger, local ? GivenTime(*local) : GivenTime(at), zone);
  return {};
}

// That of a schedule that names none, here: from the file or the environment, as `carillon serve` would read them.
Result<std::optional<std::string>> zone_of_configuration() {
  TRY_ASSIGN(daemon::LoadedConfig loaded, daemon::load_config({}, daemon::environment_of_process()));
  return std::move(loaded.config.timezone);
}

Result<std::size_t> parse_count(std::string_view text) {
  TextCursor cursor("--count", text);
  TRY_ASSIGN(const std::int64_t count, cursor.number("a whole number"));
  if (!cursor.at_end()) return cursor.expected("the end after a whole number");
  if (count < 1 || count > static_cast<std::int64_t>(kPreviewMax)) {
    return cursor.fail_at(0, fmt::format("must be 1 to {}", kPreviewMax));
  }
  return static_cast<std::size_t>(count);
}

std::string explain(const PreviewItem& item) {
  const auto day = std::chrono::floor<std::chrono::days>(item.asked);
  const std::string asked = format_time_of_day(TimeOfDay{static_cast<int>((item.asked - day).count())});
  switch (item.note) {
    case DstNote::none: return "";
    case DstNote::gap_shifted:
    case DstNote::gap_next_valid: return fmt::format("moved: clocks skip {}", asked);
    case DstNote::gap_skipped: return fmt::format("skipped: clocks skip {}", asked);
    case DstNote::overlap_first: return fmt::format("first of two: clocks show {} twice", asked);
    case DstNote::overlap_second: return fmt::format("second of two: clocks show {} twice", asked);
  }
  UNREACHABLE();
}

std::string local_column(const PreviewItem& item, const Zone& zone) {
  std::string text =
      item.at ? format_with_offset(*item.at, zone.offset_at(*item.at)) : format_local_seconds(item.asked);
  const LocalSeconds shown = item.at ? zone.to_local(*item.at) : item.asked;
  text[text.find('T')] = ' ';
  return fmt::format("{} {}", short_name(weekday_of(std::chrono::floor<std::chrono::days>(shown))), text);
}

// What a delivery or a window spans.
std::string span_column(const PreviewItem& item) {
  if (!item.begin || !item.end) return "-";
  if (item.day) return fmt::format("{} by {}", format_date(*item.day), format_instant(*item.end));
  return fmt::format("{} to {}", format_instant(*item.begin), format_instant(*item.end));
}

std::string table(const std::vector<PreviewItem>& items, const Zone& zone) {
  const bool spans = std::ranges::any_of(items, [](const PreviewItem& item) { return item.begin.has_value(); });
  std::vector<std::string> head{"#", fmt::format("LOCAL ({})", zone.name()), "UTC"};
  if (spans) head.emplace_back("FOR");
  head.emplace_back("CLOCK CHANGE");
  std::vector<std::vector<std::string>> rows;
  for (const PreviewItem& item : items) {
    const std::string note = explain(item);
    std::vector<std::string>& row = rows.emplace_back();
    row = {std::to_string(rows.size()), local_column(item, zone), item.at ? format_instant(*item.at) : "-"};
    if (spans) row.push_back(span_column(item));
    row.push_back(note.empty() ? note : yellow(note));
  }
  return format_table(head, rows);
}

std::string json(const std::vector<PreviewItem>& items, const Zone& zone) {
  std::string out = "{\"items\": [";
  for (std::size_t i = 0; i < items.size(); ++i) {
    out += fmt::format("{}\n  {}", i == 0 ? "" : ",", to_json(items[i], zone));
  }
  return out + (items.empty() ? "]}\n" : "\n]}\n");
}

}  // namespace

Result<std::string> run_preview(const PreviewRequest& request, Instant now) {
  Plan plan;
  const bool from_file = request.trigger.starts_with('@');
  if (from_file) {
    TRY_ASSIGN(plan, read_plan_file(request.trigger.substr(1)));
  } else {
    TRY_ASSIGN(plan.trigger, parse_trigger_text(request.trigger));
  }
  TRY_ASSIGN(const std::size_t count, parse_count(request.count));
  if (request.timezone) plan.timezone = *request.timezone;
  if (request.dst_gap) {
    TRY_ASSIGN(plan.dst.gap, parse_dst_gap(*request.dst_gap));
  }
  if (request.dst_overlap) {
    TRY_ASSIGN(plan.dst.overlap, parse_dst_overlap(*request.dst_overlap));
  }
  const auto in_file = [&](Error error) {
    return from_file ? with_context(request.trigger.substr(1), std::move(error)) : std::move(error);
  };
  if (!plan.timezone) {
    TRY_ASSIGN(plan.timezone, zone_of_configuration());
  }
  const auto zone = Zone::load(plan.timezone.value_or("UTC"));
  if (!zone) return std::unexpected(request.timezone ? zone.error() : in_file(zone.error()));
  Instant from = now;
  if (request.from) {
    TRY_ASSIGN(from, parse_when(*request.from, *zone));
  }
  if (request.start) TRY(set_start(plan.trigger, *request.start, *zone));

  const auto in_zone = [&](const std::optional<GivenTime>& time) {
    return time ? std::optional(time->in(*zone)) : std::nullopt;
  };
  const auto items = preview(plan.trigger,
                             {.zone = *zone,
                              .dst = plan.dst,
                              .created_at = from,
                              .starts_at = in_zone(plan.starts),
                              .ends_at = in_zone(plan.ends),
                              .exclude_dates = plan.exclude_dates},
                             from, count);
  if (!items) return std::unexpected(in_file(items.error()));
  if (request.json || !stdout_is_terminal()) return json(*items, *zone);
  if (items->empty()) return fmt::format("no times from {} on\n", format_instant(from));
  return table(*items, *zone);
}

}  // namespace carillon
