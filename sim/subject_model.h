// The judge's own notes about one subject of a schedule with fan_out, and what a transaction wrote about it.
#pragma once

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "sim/model.h"
#include "sim/verdict.h"

namespace carillon::sim {

struct Owner {
  ScheduleRow row;
  const ScheduleSpec* spec = nullptr;
  const ScheduleSpec* previous = nullptr;  // until a round has brought its subjects up to date
};

struct SubjectModel {
  SubjectRow row;
  const SubjectSpec* spec = nullptr;
  bool lives = false;
  Instant calm_since;  // nothing about its planning was changed since
  // When a round must have planned something of it.
  std::optional<Instant> due;

  // Of deliveries: the newest day that was planned, and up to which day nothing is insisted on.
  std::optional<std::chrono::sys_days> covered;
  std::optional<std::chrono::sys_days> passed;
  // Of windows.
  std::optional<Instant> planned_end;
  std::optional<Instant> cursor;
  std::optional<Instant> intended_cursor;
  // Of checks.
  std::optional<Instant> expected_at;
  std::string last_status;
};

struct SubjectTouch {
  SubjectModel before;  // nothing in it: it was not known
  bool is_disturbed = false;
  std::vector<JobRow> jobs;        // of its occurrences, made in this transaction
  std::vector<OutcomeRow> opened;  // with them
  std::vector<OutcomeRow> closed;  // without ever having been a job
  std::vector<OutcomeRow> ended;   // with a job
  std::optional<OutcomeRow> last;  // of those that ended with a job or were parked
};

struct SubjectView {
  // NOLINTBEGIN(cppcoreguidelines-avoid-const-or-ref-data-members): lives as long as one call
  const Owner& owner;
  SubjectModel& subject;
  const SubjectTouch& touch;
  const Model& model;
  Findings& findings;
  // NOLINTEND(cppcoreguidelines-avoid-const-or-ref-data-members)
  Instant now;

  bool runs_now() const { return runs(owner.row, now) && subject.lives && subject.row.enabled; }
  // What may have been in force when this was planned: a change comes after what was due before it.
  struct Rule {
    const ScheduleSpec* schedule = nullptr;
    const SubjectSpec* subject = nullptr;
  };
  std::vector<Rule> rules() const {
    std::vector<Rule> all;
    for (const ScheduleSpec* const schedule : {owner.spec, owner.previous}) {
      for (const SubjectSpec* const own : {subject.spec, touch.before.spec}) {
        if (schedule && own) all.push_back({.schedule = schedule, .subject = own});
      }
    }
    return all;
  }
  Rule rule() const { return {.schedule = owner.spec, .subject = subject.spec}; }
};

// One judge per kind: holds what was written against the design, and says when the subject is due next.
void judge_delivery(const SubjectView& view);
void judge_windows(const SubjectView& view);
void judge_checks(const SubjectView& view);

}  // namespace carillon::sim
