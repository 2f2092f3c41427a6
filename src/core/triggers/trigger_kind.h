// What a kind of trigger is: its name and its texts, how it is read, planned, previewed and explained, and what else is
// asked about it. Each kind has one file, kinds/<name>.cpp, and in it `<Name>Trigger::kind()`.
//
// Nobody asks which kind a trigger is. Who wants to know something asks the kind for it, by the name of a trait:
//
//   if (traits_of(schedule).has_cutoff) …
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "core/triggers/timetable.h"
#include "core/triggers/trigger.h"

namespace carillon {

struct JobTemplate;
struct PlanFacts;
struct PreviewItem;
struct SubjectChange;
struct SubjectPlan;

struct TriggerTraits {
  bool plans_by_subject = false;  // each subject on its own terms: there is no timetable
  bool has_subjects = false;      // unless the schedule says otherwise
  bool has_cutoff = false;    // a slot is a local day, which ends with an outcome of its own; then comes `on_cutoff`
  bool has_windows = false;   // a slot is a span of time, which a run by hand has to name
  bool keeps_cursor = false;  // all before it is closed; how many windows are open bounds what is planned
  bool has_expected_time = false;  // of each subject; what a check finds out moves the next one
  bool looks_at_open_jobs = true;  // a plan depends on what is still open
  bool runs_open_job_now = false;  // by hand: the one that is there, before it makes another
};

// Which fields of a schedule do not go with the kind, each with the reason; "": it does.
struct RefusedFields {
  std::string_view misfire;
  std::string_view misfire_but_grace;  // all of `misfire` but its grace
  std::string_view overlap;
  std::string_view jitter;
  std::string_view dst_overlap_both;
  std::string_view exclude_dates;
  std::string_view retry;  // of the job: also max_attempts
};

// A sentence of `explain`, and what goes with it.
struct KindWord {
  std::string summary;
  std::string_view why{};
  JsonObject detail{};
};

// A subject as `explain` finds it.
struct SubjectNow {
  Instant next_at;
  std::string_view cadence;
  std::optional<Instant> expected_at;
  const PreviewItem* next = nullptr;  // what comes at next_at, if that is known
};
struct OpenSlot {
  Instant slot;
  std::optional<Instant> until;
};

// A function that is not there means: as most kinds have it.
struct TriggerKind {
  std::string_view name;  // as in JSON
  TriggerTraits traits{};

  // ---- As JSON
  JsonFields::Names fields;
  Result<Trigger> (*read)(std::string_view text, const JsonFields& fields);
  std::string_view shown_field{};  // what a list shows of it

  // ---- As S1 writes it, if S1 knows it: {"type": "daily", "hour": 8, "minute": 0}
  std::string_view s1_type{};
  JsonFields::Names s1_fields{};
  Result<Trigger> (*read_s1)(std::string_view text, const JsonFields& fields) = nullptr;

  // ---- On the command line: daily:08:00
  std::string_view example{};
  std::string_view means{};
  Result<Trigger> (*read_text)(std::string_view text) = nullptr;

  // ---- What a schedule and its subjects may say
  RefusedFields refused{};
  JsonFields::Names subject_fields{};  // that only subjects of such kinds have
  Result<void> (*check_job)(const JsonFields& fields, const Json& job, const JobTemplate& read) = nullptr;
  Result<void> (*check_defaults)(const Trigger& trigger, const WindowDefaults& defaults) = nullptr;
  void (*fill)(Trigger& trigger, const WindowDefaults& defaults) = nullptr;
  void (*set_start)(Trigger& trigger, const GivenTime& start, const Zone& zone) = nullptr;

  // ---- When
  Result<Timetable::Source> (*times)(const Trigger& trigger, const Timetable::Options& options) = nullptr;
  const std::string* (*follows)(const Trigger& trigger) = nullptr;  // the schedule whose times are its own
  std::optional<Duration> (*shortest_period)(const Trigger& trigger) = nullptr;
  SubjectPlan (*plan)(const PlanFacts& facts) = nullptr;
  SubjectPlan (*anchor)(const PlanFacts& facts, const SubjectChange& change) = nullptr;
  std::vector<PreviewItem> (*preview)(const PlanFacts& facts, Instant behind, std::size_t count) = nullptr;

  // ---- Why
  std::optional<std::string> (*explain_open)(const OpenSlot& slot) = nullptr;  // "day 2026-03-29"
  std::optional<KindWord> (*explain_next)(const SubjectNow& now) = nullptr;
  std::optional<KindWord> (*explain_no_time)(const Trigger& trigger, std::size_t open_windows) = nullptr;
};

const TriggerKind& kind_of(const Trigger& trigger);
// In the order of Trigger.
std::span<const TriggerKind* const> trigger_kinds();
// By its name in JSON.
const TriggerKind* find_kind(std::string_view name);

// "every or rrule": the kinds for which `is_meant` holds.
std::string kinds_where(bool (*is_meant)(const TriggerKind& kind));
// Whether a stored schedule may be of such a kind: seen from its text, without reading it. Where few are, most of the
// others can be excluded so.
bool may_be_of_kind(std::string_view definition, bool (*is_meant)(const TriggerKind& kind));

}  // namespace carillon
