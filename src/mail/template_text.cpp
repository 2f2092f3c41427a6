#include "mail/template_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/time/slot_text.h"

namespace carillon::mail {

namespace {

constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";
constexpr std::string_view kOpenRaw = "{{{";
constexpr std::string_view kCloseRaw = "}}}";
constexpr std::size_t kStepsMax = 64;

constexpr std::array<std::string_view, 9> kJobFields = {"id",     "tenant",   "queue",   "type", "attempt",
                                                        "run_at", "schedule", "subject", "slot"};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string job_field(std::string_view name, const RunningJob& job) {
  if (name == "id") return format_job_id(job.id);
  if (name == "tenant") return job.tenant;
  if (name == "queue") return job.queue;
  if (name == "type") return job.type;
  if (name == "attempt") return fmt::format("{}", job.attempt);
  if (name == "run_at") return format_instant(job.run_at);
  if (name == "schedule") return job.schedule;
  if (name == "subject") return job.subject;
  return slot_text(job.slot, job.slot_kind);
}

JsonValue step_into(const JsonValue& value, std::string_view step) {
  if (!value.is_array()) return value.at(step);
  std::size_t index = 0;
  const char* const end = step.end();
  const auto [stopped, error] = std::from_chars(step.begin(), end, index);
  return error == std::errc{} && stopped == end ? value.at(index) : JsonValue();
}

JsonValue payload_at(const std::vector<std::string>& path, const JsonValue& payload) {
  JsonValue value = payload;
  for (std::size_t i = 1; i < path.size(); ++i) value = step_into(value, path[i]);
  return value;
}

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

Result<TemplateText::Piece> TemplateText::parse_field(std::string_view name) {
  Piece piece;
  std::string_view rest = trimmed(name);
  while (true) {
    const std::size_t dot = rest.find('.');
    piece.path.emplace_back(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  const bool has_gap = std::ranges::any_of(piece.path, [](const std::string& step) { return step.empty(); });
  const bool of_payload = piece.path.front() == "payload" && piece.path.size() <= kStepsMax;
  const bool of_job = piece.path.front() == "job" && piece.path.size() == 2 &&
                      std::ranges::find(kJobFields, piece.path[1]) != kJobFields.end();
  if (has_gap || (!of_payload && !of_job)) {
    return invalid_configuration(
        fmt::format("a template cannot use {}: it must be payload, payload.NAME or one of job.{}", quoted(name),
                    fmt::join(kJobFields, ", job.")));
  }
  return piece;
}

Result<TemplateText> TemplateText::parse(std::string_view text, Raw raw) {
  TemplateText parsed;
  while (!text.empty()) {
    const std::size_t open = text.find(kOpen);
    const std::string_view plain = text.substr(0, open);
    if (!plain.empty()) parsed.pieces_.push_back({.text = std::string(plain), .path = {}});
    if (open == std::string_view::npos) break;
    text.remove_prefix(open);
    const bool is_raw = text.starts_with(kOpenRaw);
    if (is_raw && raw == Raw::refused) {
      return invalid_configuration("{{{…}}} may stand only in the HTML of a mail: nothing else is escaped");
    }
    text.remove_prefix(is_raw ? kOpenRaw.size() : kOpen.size());
    const std::string_view end = is_raw ? kCloseRaw : kClose;
    const std::size_t close = text.find(end);
    if (close == std::string_view::npos) {
      return invalid_configuration(
          fmt::format("a template has {} without {} before {}", is_raw ? kOpenRaw : kOpen, end, quoted(text)));
    }
    TRY_ASSIGN(Piece piece, parse_field(text.substr(0, close)));
    piece.raw = is_raw;
    parsed.pieces_.push_back(std::move(piece));
    text.remove_prefix(close + end.size());
  }
  return parsed;
}

Result<std::string> TemplateText::value(const Piece& piece, const TemplateScope& scope) {
  if (piece.path.front() == "job") return job_field(piece.path[1], scope.job());
  const JsonValue found = payload_at(piece.path, scope.payload());
  if (found.is_null()) {
    return invalid_configuration(
        fmt::format("the template needs {}, which the job does not have", fmt::join(piece.path, ".")));
  }
  return found.is_string() ? found.as_string() : std::string(found.raw());
}

Result<std::string> TemplateText::render(const TemplateScope& scope, Escape escape) const {
  std::string out;
  for (const Piece& piece : pieces_) {
    if (piece.path.empty()) {
      out += piece.text;
      continue;
    }
    TRY_ASSIGN(const std::string text, value(piece, scope));
    out += escape == Escape::html && !piece.raw ? escaped_html(text) : text;
  }
  return out;
}

JsonValue TemplateText::field(const TemplateScope& scope) const {
  if (!is_one_field() || pieces_.front().path.front() != "payload") return {};
  return payload_at(pieces_.front().path, scope.payload());
}

}  // namespace carillon::mail
