#include "engine/calls/job_json.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/json_members.h"
#include "core/time/slot_text.h"

namespace carillon {

namespace {

// ---- Values -------------------------------------------------------------------------------------------------------

struct Shown {
  const JobInfo* job;
  std::string_view trigger;  // of an item
};

using Write = void (*)(JsonObject&, std::string_view name, const Shown&);

template <auto kMember>
void text(JsonObject& object, std::string_view name, const Shown& shown) {
  object.text(name, shown.job->*kMember);
}
template <auto kMember>
void text_or_null(JsonObject& object, std::string_view name, const Shown& shown) {
  put(object, name, std::string_view(shown.job->*kMember));
}
template <auto kMember>
void instant(JsonObject& object, std::string_view name, const Shown& shown) {
  put(object, name, std::optional<Instant>(shown.job->*kMember));
}
template <auto kMember>
void integer(JsonObject& object, std::string_view name, const Shown& shown) {
  object.integer(name, shown.job->*kMember);
}
template <auto kMember>
void flag(JsonObject& object, std::string_view name, const Shown& shown) {
  object.boolean(name, shown.job->*kMember);
}
template <auto kMember>
void word(JsonObject& object, std::string_view name, const Shown& shown) {
  object.text(name, to_string(shown.job->*kMember));
}
template <auto kMember>
void json_or_null(JsonObject& object, std::string_view name, const Shown& shown) {
  const std::string& json = shown.job->*kMember;
  object.raw(name, json.empty() ? "null" : std::string_view(json));
}

template <auto kMember>
void texts(JsonObject& object, std::string_view name, const Shown& shown) {
  JsonArray array;
  for (const std::string& one : shown.job->*kMember) array.raw(json_string(one));
  object.raw(name, array.str());
}

void id(JsonObject& object, std::string_view name, const Shown& shown) {
  object.text(name, format_job_id(shown.job->id));
}
void parent_id(JsonObject& object, std::string_view name, const Shown& shown) {
  put(object, name, shown.job->parent ? format_job_id(shown.job->parent) : std::string());
}
void slot(JsonObject& object, std::string_view name, const Shown& shown) {
  put(object, name, slot_text(shown.job->slot, shown.job->slot_kind));
}
void max_attempts(JsonObject& object, std::string_view name, const Shown& shown) {
  if (shown.job->max_attempts) {
    object.integer(name, *shown.job->max_attempts);
  } else {
    object.raw(name, "null");
  }
}
void timeout(JsonObject& object, std::string_view name, const Shown& shown) {
  object.text(name, format_duration(shown.job->timeout));
}
void depends_on(JsonObject& object, std::string_view name, const Shown& shown) {
  JsonArray array;
  for (const JobId one : shown.job->depends_on) array.raw(json_string(format_job_id(one)));
  object.raw(name, array.str());
}
void meta(JsonObject& object, std::string_view name, const Shown& shown) {
  object.raw(name, shown.job->meta.empty() ? "{}" : std::string_view(shown.job->meta));
}
// Only of a program that said something.
void stderr_text(JsonObject& object, std::string_view name, const Shown& shown) {
  if (!shown.job->stderr_text.empty()) object.text(name, shown.job->stderr_text);
}
void last_error(JsonObject& object, std::string_view name, const Shown& shown) {
  if (shown.job->last_error_code.empty()) {
    object.raw(name, "null");
    return;
  }
  JsonObject error;
  error.text("code", shown.job->last_error_code).text("message", shown.job->last_error);
  object.raw(name, error.str());
}

std::string to_json(const AttemptInfo& attempt) {
  JsonObject object;
  object.integer("number", attempt.number).text("trigger", attempt.trigger).text("worker", attempt.worker);
  put(object, "started_at", attempt.started_at);
  put(object, "finished_at", attempt.finished_at);
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(attempt.finished_at - attempt.started_at).count();
  object.integer("duration_ms", took).text("result", to_string(attempt.result));
  put(object, "error_class", attempt.error_class);
  put(object, "error", attempt.error);
  return object.str();
}
void attempts(JsonObject& object, std::string_view name, const Shown& shown) {
  JsonArray array;
  for (const AttemptInfo& attempt : shown.job->attempts) array.raw(to_json(attempt));
  object.raw(name, array.str());
}
void trigger(JsonObject& object, std::string_view name, const Shown& shown) { object.text(name, shown.trigger); }

// ---- The table ----------------------------------------------------------------------------------------------------

// Where it stands in the row: what a worker does not ask for is not read.
enum class From : std::uint8_t { columns, options, detail, both };
enum class Of : std::uint8_t { every_job, asked_for, item };

struct Member {
  std::string_view name;
  Write write = nullptr;
  From from = From::columns;
  Of of = Of::every_job;
};

constexpr std::array kMembers{
    Member{"id", id},
    Member{"tenant", text<&JobInfo::tenant>},
    Member{"queue", text<&JobInfo::queue>},
    Member{"type", text<&JobInfo::type>},
    Member{"payload", json_or_null<&JobInfo::payload>},
    Member{"priority", integer<&JobInfo::priority>},
    Member{"state", word<&JobInfo::state>},
    Member{"reason", text_or_null<&JobInfo::reason>, From::detail},
    Member{"origin", word<&JobInfo::origin>, From::options},
    Member{"parent_id", parent_id, From::options},
    Member{"schedule", text_or_null<&JobInfo::schedule>},
    Member{"subject", text<&JobInfo::subject>},
    Member{"slot", slot},
    Member{"key", text_or_null<&JobInfo::key>, From::options},
    Member{"idempotency_key", text_or_null<&JobInfo::idempotency_key>, From::options},
    Member{"run_at", instant<&JobInfo::run_at>},
    Member{"deadline", instant<&JobInfo::deadline>},
    Member{"attempt", integer<&JobInfo::attempt>},
    Member{"max_attempts", max_attempts, From::options},
    Member{"token", integer<&JobInfo::token>},
    Member{"worker", text_or_null<&JobInfo::worker>},
    Member{"lease_until", instant<&JobInfo::lease_until>},
    Member{"timeout", timeout},
    Member{"limits", texts<&JobInfo::limits>, From::options},
    Member{"notifies", flag<&JobInfo::notifies>, From::options},
    Member{"deferrals", integer<&JobInfo::deferrals>, From::detail},
    Member{"deferred_until", instant<&JobInfo::deferred_until>, From::detail},
    Member{"defer_reason", text_or_null<&JobInfo::defer_reason>, From::detail},
    Member{"cancel_requested", flag<&JobInfo::cancel_requested>, From::detail},
    Member{"depends_on", depends_on, From::detail},
    Member{"tags", texts<&JobInfo::tags>, From::options},
    Member{"meta", meta, From::options},
    Member{"created_by", text_or_null<&JobInfo::created_by>, From::options},
    Member{"progress", json_or_null<&JobInfo::progress>, From::detail},
    Member{"output", json_or_null<&JobInfo::output>, From::detail},
    Member{"stderr", stderr_text, From::detail, Of::asked_for},
    Member{"last_error", last_error, From::detail},
    Member{"created_at", instant<&JobInfo::created_at>},
    Member{"started_at", instant<&JobInfo::started_at>},
    Member{"finished_at", instant<&JobInfo::finished_at>},
    Member{"last_seen_at", instant<&JobInfo::last_seen_at>, From::detail},
    Member{"attempts", attempts, From::detail, Of::asked_for},
    Member{"trigger", trigger, From::both, Of::item},
};

}  // namespace

ItemFields ItemFields::all() {
  static_assert(kMembers.size() <= kMost);
  ItemFields fields;
  for (std::size_t i = 0; i < kMembers.size(); ++i) fields.chosen_.set(i, kMembers[i].of != Of::asked_for);
  return fields;
}

std::vector<std::string_view> ItemFields::names() {
  std::vector<std::string_view> names;
  for (const Member& member : kMembers) {
    if (member.of != Of::asked_for) names.push_back(member.name);
  }
  return names;
}

bool ItemFields::add(std::string_view name) {
  const auto found = std::ranges::find(kMembers, name, &Member::name);
  if (found == kMembers.end() || found->of == Of::asked_for) return false;
  chosen_.set(static_cast<std::size_t>(found - kMembers.begin()));
  return true;
}

bool ItemFields::need_options() const {
  for (std::size_t i = 0; i < kMembers.size(); ++i) {
    if (chosen_.test(i) && (kMembers[i].from == From::options || kMembers[i].from == From::both)) return true;
  }
  return false;
}

bool ItemFields::need_detail() const {
  for (std::size_t i = 0; i < kMembers.size(); ++i) {
    if (chosen_.test(i) && (kMembers[i].from == From::detail || kMembers[i].from == From::both)) return true;
  }
  return false;
}

std::string to_json(const RunningJob& job, const ItemFields& fields) {
  constexpr std::size_t kBytesBesidePayload = 1200;
  JsonObject object;
  object.reserve(job.payload.size() + kBytesBesidePayload);
  for (std::size_t i = 0; i < kMembers.size(); ++i) {
    if (fields.has(i)) kMembers[i].write(object, kMembers[i].name, {.job = &job, .trigger = job.trigger});
  }
  return object.str();
}

std::string to_json(const RunningJob& job) {
  static const ItemFields kAll = ItemFields::all();
  return to_json(job, kAll);
}

std::string to_json(const JobInfo& job) {
  JsonObject object;
  for (const Member& member : kMembers) {
    if (member.of != Of::item) member.write(object, member.name, {.job = &job, .trigger = {}});
  }
  return object.str();
}

}  // namespace carillon
