#include "core/jobs/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/json.h"
#include "base/json_check.h"
#include "base/utf8.h"

namespace carillon {

namespace {

constexpr std::string_view kForbidden = "/?#\"\\";
// By character: every job has a few names, and each is checked.
constexpr std::array<bool, 256> kInNames = [] {
  std::array<bool, 256> allowed{};
  for (char c = '!'; c <= '~'; ++c) {
    allowed[static_cast<unsigned char>(c)] = kForbidden.find(c) == std::string_view::npos;
  }
  return allowed;
}();

constexpr std::array kOrigins{Origin::api, Origin::scheduled, Origin::manual, Origin::dependent};

Result<void> check_size(std::string_view what, std::size_t size, std::size_t max) {
  if (size <= max) return {};
  return invalid_field(what, fmt::format("{} has {} bytes; at most {} are allowed", what, size, max));
}

Result<void> check_count(std::string_view what, std::size_t count, std::size_t max) {
  if (count <= max) return {};
  return invalid_field(what, fmt::format("{} names {}; at most {} are allowed", what, count, max));
}

Result<void> check_range(std::string_view what, Duration given, Duration min, Duration max) {
  if (given >= min && given <= max) return {};
  return invalid_field(what, fmt::format("{} is {}; it must lie between {} and {}", what, format_duration(given),
                                         format_duration(min), format_duration(max)));
}

Result<void> check_instant(std::string_view what, std::optional<Instant> at) {
  if (!at || (*at >= kInstantMin && *at <= kInstantMax)) return {};
  return invalid_field(what, fmt::format("{} lies outside of the years 0001 to 9999", what));
}

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

Result<void> check_text(std::string_view what, std::string_view text, std::size_t max) {
  TRY(check_size(what, text.size(), max));
  // What is not cannot be written down as JSON and come back as it was.
  if (!is_utf8(text)) return invalid_field(what, fmt::format("{} {} is not valid UTF-8", what, quoted(text)));
  if (!has_control_character(text)) return {};
  return invalid_field(what, fmt::format("{} {} contains a control character", what, quoted(text)));
}

// Each of the names that `field` lists; `what` is one of them.
Result<void> check_names(std::string_view field, std::string_view what, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto checked = check_name(what, name);
    if (!checked) return invalid_field(field, checked.error().message);
  }
  return {};
}

Result<void> check_options(const JobOptions& options) {
  if (options.max_attempts && (*options.max_attempts < 1 || *options.max_attempts > kMaxAttemptsMax)) {
    return invalid_field("max_attempts", fmt::format("max_attempts is {}; it must lie between 1 and {}",
                                                     *options.max_attempts, kMaxAttemptsMax));
  }
  TRY(check_range("timeout", options.timeout, std::chrono::milliseconds(1), std::chrono::days(30)));
  TRY(check_range("lease", options.lease, kLeaseMin, kLeaseMax));
  TRY(check_count("limits", options.limits.size(), kLimitsMax));
  TRY(check_names("limits", "limit", options.limits));
  TRY(check_count("tags", options.tags.size(), kTagsMax));
  TRY(check_names("tags", "tag", options.tags));
  if (options.idempotency_key) {
    // It would be one key for all who forgot theirs.
    if (options.idempotency_key->empty()) {
      return invalid_field("idempotency_key", fmt::format("idempotency_key is empty; it must have 1 to {} bytes, or be "
                                                          "left out",
                                                          kKeyBytesMax));
    }
    TRY(check_text("idempotency_key", *options.idempotency_key, kKeyBytesMax));
  }
  TRY(check_text("created_by", options.created_by, kNameBytesMax));
  if (options.unique_until.until == KeyHold::Until::elapsed) {
    TRY(check_range("unique_until", options.unique_until.duration, std::chrono::seconds(1), kDurationMax));
  }
  if (!options.meta.empty()) {
    TRY(check_size("meta", options.meta.size(), kMetaBytesMax));
    auto meta = parse_json(options.meta);
    if (!meta) return std::unexpected(about_field("meta", with_context("meta", std::move(meta).error())));
    if (meta->type != JsonType::object) return invalid_field("meta", "meta must be an object");
  }
  return {};
}

}  // namespace

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::api: return "api";
    case Origin::scheduled: return "scheduled";
    case Origin::manual: return "manual";
    case Origin::dependent: return "dependent";
  }
  UNREACHABLE();
}

std::optional<Origin> origin_from(std::string_view name) {
  const auto* const found = std::ranges::find(kOrigins, name, [](Origin o) { return to_string(o); });
  return found == kOrigins.end() ? std::nullopt : std::optional(*found);
}

Cause cause_of(const NewJob& job) {
  const bool by_parents = job.options.origin == Origin::api && !job.depends_on.empty();
  if (by_parents) return {.origin = Origin::dependent, .parent = job.depends_on.front()};
  return {.origin = job.options.origin, .parent = job.options.parent};
}

Result<void> check_name(std::string_view what, std::string_view name) {
  if (name.empty()) return invalid_field(what, fmt::format("{} is empty", what));
  TRY(check_size(what, name.size(), kNameBytesMax));
  if (std::ranges::all_of(name, [](char c) { return kInNames[static_cast<unsigned char>(c)]; })) return {};
  return invalid_field(
      what, fmt::format("{} {}: only printable ASCII without space and {} is allowed", what, quoted(name), kForbidden));
}

std::optional<std::uint32_t> attempts_allowed(const JobOptions& options) {
  return options.retry && std::holds_alternative<RetryNone>(*options.retry) ? 1U : options.max_attempts;
}

Result<void> check_new_job(const NewJob& job) {
  if (job.id.value < 0) return invalid_request(fmt::format("id {} is not that of a job", job.id.value));
  TRY(check_name("tenant", job.tenant));
  TRY(check_name("queue", job.queue));
  TRY(check_name("type", job.type));
  if (job.priority < kPriorityMin || job.priority > kPriorityMax) {
    return invalid_field("priority", fmt::format("priority is {}; it must lie between {} and {}", job.priority,
                                                 kPriorityMin, kPriorityMax));
  }
  TRY(check_instant("run_at", job.run_at));
  TRY(check_instant("deadline", job.deadline));
  TRY(check_size("payload", job.payload.size(), kPayloadBytesMax));
  if (auto payload = check_json(job.payload); !payload) {
    return std::unexpected(about_field("payload", with_context("payload", std::move(payload).error())));
  }
  TRY(check_options(job.options));
  TRY(check_count("depends_on", job.depends_on.size(), kDependenciesMax));
  TRY(check_text("subject", job.subject, kKeyBytesMax));
  if (job.occurrence) {
    TRY(check_name("schedule", job.occurrence->schedule));
    TRY(check_text("subject", job.occurrence->subject, kKeyBytesMax));
  }
  return {};
}

}  // namespace carillon
