// Where one subject of a schedule differs from the schedule: its overrides, and how they are written.
//
//   {"due": "07:30", "timezone": "Europe/Paris", "payload": {"name": "Ada"}}
//
// `expected_at` and `cursor_end` are given in the same place, but are no overrides: they are where the subject is,
// and checks and windows move them on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/jobs/job.h"
#include "core/schedules/schedule.h"
#include "core/time/instant.h"
#include "core/time/local_time.h"
#include "core/time/zone.h"

namespace carillon {

struct SubjectOverrides {
  bool enabled = true;
  std::optional<TimeOfDay> due;         // of deliveries
  std::optional<std::string> timezone;  // nothing: the schedule's
  std::optional<GivenTime> start;       // of rrule and every: from when on its own times are counted
  std::optional<Duration> interval;     // of windows
  std::optional<std::string> mode;      // of windows
  std::optional<int> priority;
  std::optional<std::vector<std::string>> limits;  // instead of the template's
  std::optional<std::string> payload;              // a JSON object, byte for byte; merged over the template's
  friend bool operator==(const SubjectOverrides&, const SubjectOverrides&) = default;
};

// What a call says about a subject.
struct SubjectText {
  std::string subject;                                // of a line of an import
  SubjectOverrides overrides;                         // the whole of them, as they are to be
  std::optional<std::optional<Instant>> expected_at;  // of adaptive: given as known, or as unknown; else it stays
  std::optional<Instant> cursor_end;                  // of windows; else it stays
  bool trigger = false;                               // of a PUT: runs it at once
  friend bool operator==(const SubjectText&, const SubjectText&) = default;
};

// A PUT body: what it leaves out is as the schedule has it.
Result<SubjectText> parse_subject(std::string_view json);
// A PATCH body over what is there: what it leaves out stays, null takes away.
Result<SubjectText> patch_subject(const SubjectOverrides& before, std::string_view json);
// A line of an import: a PUT body plus `subject`.
Result<SubjectText> parse_subject_line(std::string_view json);

// 1 to 512 bytes: the name of a subject of a schedule with fan-out.
Result<void> check_subject_name(std::string_view subject);
// A field that does not belong to the schedule's kind, or cannot work with it, is refused by name.
Result<void> check_subject(const SubjectText& text, const Schedule& schedule, const WindowDefaults& defaults);

// As it is stored, and as PUT takes it: only what is said; "" if nothing is.
std::string write_overrides(const SubjectOverrides& overrides);
Result<SubjectOverrides> read_overrides(std::string_view stored);
// A line that parse_subject_line reads as the same.
std::string write_subject_line(const SubjectText& text);

// The subject's, else the schedule's, else `default_zone`.
Result<Zone> zone_of(const Schedule& schedule, const SubjectOverrides& overrides, const Zone& default_zone);

// Its times, by its own start in that very zone.
Result<Timetable> timetable_for(const Schedule& schedule, const SubjectOverrides& overrides, const Zone& zone,
                                Instant created_at);

// The members of two JSON objects, those of `over` winning, each value byte for byte. If one of them is no object,
// `over` is all.
std::string merge_payload(std::string_view under, std::string_view over);

// A job of the schedule's template as this subject has it: no time, no occurrence.
NewJob job_of_subject(const JobTemplate& job, std::string_view tenant, const SubjectOverrides& overrides);

}  // namespace carillon
