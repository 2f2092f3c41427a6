// An edit of a schedule reaches its subjects in the background, a slice at a time. Where that stands is a document, so
// that it goes on after a restart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/planning/schedule_compiler.h"
#include "store/rows.h"

namespace carillon {

inline constexpr std::string_view kReplanKind = "replan";  // name: the schedule

struct Replan {
  ScheduleId schedule;
  std::string tenant;
  std::string name;
  Instant at;  // of the edit
  std::optional<Instant>
      ran_until;       // that, unless it was paused or disabled: then nothing was due, and this may be past
  std::string before;  // the definition until then: what was due while it ran belongs to it
  std::optional<Instant> paused_before;  // the end of the pause that was the last one then
  std::optional<std::string> after;      // the subject up to which it has come
  std::int64_t done = 0;
  CompiledPtr compiled_before;  // not stored; made when it is needed

  // Whether a subject's turn has not come yet.
  bool is_ahead(std::string_view subject) const { return !after || subject > *after; }
};

DocumentKey replan_key(std::string_view tenant, std::string_view schedule);
std::string write_replan(const Replan& replan);
Result<Replan> read_replan(const Document& document);

}  // namespace carillon
