#include "store/job_text.h"

#include "core/jobs/stored_json.h"
#include "core/policies/retry_json.h"
#include "store/stored_value.h"

namespace carillon {

namespace {

constexpr std::string_view kUntilDone = "done";
constexpr std::string_view kBeside = "beside";
constexpr std::string_view kLabel = "label";

void put_integer(JsonObject& object, std::string_view name, std::int64_t number) {
  if (number != 0) object.integer(name, number);
}

// A flat list: of each its job, then its kind.
std::vector<KeptFollowUp> read_follow_ups(std::string_view text, const Json& list) {
  std::vector<KeptFollowUp> kept;
  for (std::size_t i = 0; i + 1 < list.items.size(); i += 2) {
    const auto job = JsonFields::integer_of(text, list.items[i], "then", {.min = 0, .max = INT64_MAX});
    const auto kind = JsonFields::integer_of(text, list.items[i + 1], "then", {.min = 0, .max = 2});
    kept.push_back({.job = {job.value_or(0)}, .kind = static_cast<KeptFollowUp::Kind>(kind.value_or(0))});
  }
  return kept;
}

}  // namespace

std::string write_options(const JobOptions& options) {
  JsonObject object;
  if (options.retry && *options.retry != RetryPolicy(RetryTable{})) {
    object.raw("retry", format_retry_json(*options.retry));
  }
  if (!options.max_attempts) {
    object.raw("max_attempts", "null");
  } else if (*options.max_attempts != kMaxAttemptsDefault) {
    object.integer("max_attempts", *options.max_attempts);
  }
  if (options.timeout != kTimeoutDefault) object.integer("timeout", options.timeout.count());
  if (options.lease != kLeaseDefault) object.integer("lease", options.lease.count());
  put_texts(object, "limits", options.limits);
  put_flag(object, "notifies", options.notifies);
  put_flag(object, "run_anyway", options.run_anyway);
  put_flag(object, "yields", options.yields);
  if (options.on_ambiguous == OnAmbiguous::hold) object.text("on_ambiguous", "hold");
  put_texts(object, "tags", options.tags);
  // As text: what was given comes back byte for byte.
  put_text(object, "meta", options.meta);
  put_text(object, "created_by", options.created_by);
  if (options.origin != Origin::api) object.text("origin", to_string(options.origin));
  if (options.parent) object.integer("parent", options.parent.value);
  if (options.idempotency_key) object.text("idempotency_key", *options.idempotency_key);
  if (options.unique_until.until == KeyHold::Until::done) object.text("unique_until", kUntilDone);
  if (options.unique_until.until == KeyHold::Until::elapsed) {
    object.integer("unique_until", options.unique_until.duration.count());
  }
  put_text(object, "key", options.key);
  if (options.beside) {
    JsonObject beside;
    beside.text("schedule", options.beside->schedule);
    put_instant(beside, "slot", options.beside->slot);
    put_flag(beside, "is_day", options.beside->slot_kind == SlotKind::day);
    object.raw(kBeside, beside.str());
  }
  put_text(object, kLabel, options.label);
  return object.empty() ? std::string() : object.str();
}

Result<JobOptions> read_options(std::string_view text) {
  JobOptions options;
  if (text.empty()) return options;
  TRY_ASSIGN(const Json json, parse_stored("options of a job", text));
  const StoredObject stored(text, json);
  if (const Json* const retry = json.find("retry")) {
    TRY_ASSIGN(options.retry, parse_retry_json(text, *retry, "retry"));
  }
  if (const Json* const max = json.find("max_attempts")) {
    options.max_attempts = max->type == JsonType::null ? std::nullopt : std::optional(stored.count("max_attempts"));
  }
  if (const auto timeout = stored.integer("timeout")) options.timeout = Duration(*timeout);
  if (const auto lease = stored.integer("lease")) options.lease = Duration(*lease);
  options.limits = stored.texts("limits");
  options.notifies = stored.flag("notifies");
  options.run_anyway = stored.flag("run_anyway");
  options.yields = stored.flag("yields");
  if (stored.text("on_ambiguous") == "hold") options.on_ambiguous = OnAmbiguous::hold;
  options.tags = stored.texts("tags");
  options.meta = stored.text("meta");
  options.created_by = stored.text("created_by");
  options.origin = origin_from(stored.text("origin")).value_or(Origin::api);
  options.parent = JobId{stored.integer("parent").value_or(0)};
  if (json.find("idempotency_key") != nullptr) options.idempotency_key = stored.text("idempotency_key");
  if (stored.text("unique_until") == kUntilDone) options.unique_until.until = KeyHold::Until::done;
  if (const auto elapsed = stored.integer("unique_until")) {
    options.unique_until = {.until = KeyHold::Until::elapsed, .duration = Duration(*elapsed)};
  }
  options.key = stored.text("key");
  if (const Json* const beside = json.find(kBeside)) {
    const StoredObject told(text, *beside);
    options.beside = BesideOccurrence{.schedule = told.text("schedule"),
                                      .slot = told.instant("slot"),
                                      .slot_kind = told.flag("is_day") ? SlotKind::day : SlotKind::instant};
  }
  options.label = stored.text(kLabel);
  return options;
}

std::string write_detail(const JobDetail& detail) {
  JsonObject object;
  put_count(object, "losses", detail.losses);
  put_flag(object, "lost_ahead", detail.lost_ahead);
  put_count(object, "releases", detail.releases);
  put_count(object, "rate_limits", detail.rate_limits);
  put_text(object, "reason", detail.reason);
  if (detail.last_error) {
    JsonObject error;
    put_text(error, "code", detail.last_error->code);
    put_text(error, "message", detail.last_error->message);
    put_text(error, "class", detail.last_error->error_class);
    object.raw("last_error", error.str());
  }
  put_count(object, "deferrals", detail.deferrals);
  put_instant(object, "deferred_until", detail.deferred_until);
  put_text(object, "defer_reason", detail.defer_reason);
  if (!detail.recent_deferrals.empty()) {
    JsonArray recent;
    for (const DeferralRecord& record : detail.recent_deferrals) {
      JsonObject item;
      put_instant(item, "at", record.at);
      put_instant(item, "until", record.until);
      put_text(item, "reason", record.reason);
      recent.raw(item.str());
    }
    object.raw("recent_deferrals", recent.str());
  }
  put_flag(object, "cancel_requested", detail.cancel_requested);
  put_text(object, "progress", detail.progress);
  put_text(object, "output", detail.output);
  put_text(object, "stderr", detail.stderr_text);
  put_instant(object, "last_seen_at", detail.last_seen_at);
  put_text(object, "last_end", detail.last_end);
  put_texts(object, "added_keys", detail.added_keys);
  std::vector<std::int64_t> parents;
  for (const JobId id : detail.depends_on) parents.push_back(id.value);
  put_integers(object, "depends_on", parents);
  put_integer(object, "said", detail.said);
  if (!detail.then.empty()) {
    JsonArray then;
    for (const KeptFollowUp& one : detail.then) {
      then.raw(std::to_string(one.job.value)).raw(std::to_string(static_cast<int>(one.kind)));
    }
    object.raw("then", then.str());
  }
  put_integer(object, "lifted_token", detail.lifted_token);
  put_instant(object, "lifted_at", detail.lifted_at);
  put_flag(object, "retried", detail.retried);
  return object.empty() ? std::string() : object.str();
}

Result<JobDetail> read_detail(std::string_view text) {
  JobDetail detail;
  if (text.empty()) return detail;
  TRY_ASSIGN(const Json json, parse_stored("detail of a job", text));
  const StoredObject stored(text, json);
  detail.losses = stored.count("losses");
  detail.lost_ahead = stored.flag("lost_ahead");
  detail.releases = stored.count("releases");
  detail.rate_limits = stored.count("rate_limits");
  detail.reason = stored.text("reason");
  if (const Json* const error = json.find("last_error")) {
    const StoredObject read(text, *error);
    detail.last_error =
        LastError{.code = read.text("code"), .message = read.text("message"), .error_class = read.text("class")};
  }
  detail.deferrals = stored.count("deferrals");
  detail.deferred_until = stored.instant("deferred_until");
  detail.defer_reason = stored.text("defer_reason");
  if (const Json* const recent = json.find("recent_deferrals")) {
    for (const Json& item : recent->items) {
      const StoredObject read(text, item);
      detail.recent_deferrals.push_back({.at = read.instant("at").value_or(Instant()),
                                         .until = read.instant("until"),
                                         .reason = read.text("reason")});
    }
  }
  detail.cancel_requested = stored.flag("cancel_requested");
  detail.progress = stored.text("progress");
  detail.output = stored.text("output");
  detail.stderr_text = stored.text("stderr");
  detail.last_seen_at = stored.instant("last_seen_at");
  detail.last_end = stored.text("last_end");
  detail.added_keys = stored.texts("added_keys");
  for (const std::int64_t id : stored.integers("depends_on")) detail.depends_on.push_back(JobId{id});
  detail.said = stored.integer("said").value_or(0);
  if (const Json* const then = json.find("then")) detail.then = read_follow_ups(text, *then);
  detail.lifted_token = stored.integer("lifted_token").value_or(0);
  detail.lifted_at = stored.instant("lifted_at");
  detail.retried = stored.flag("retried");
  return detail;
}

template <>
StoredOptions StoredOptions::of(const JobOptions& options) {
  return StoredOptions(write_options(options));
}
template <>
Result<JobOptions> StoredOptions::read() const {
  return read_options(text_);
}
template <>
StoredDetail StoredDetail::of(const JobDetail& detail) {
  return StoredDetail(write_detail(detail));
}
template <>
Result<JobDetail> StoredDetail::read() const {
  return read_detail(text_);
}

}  // namespace carillon
