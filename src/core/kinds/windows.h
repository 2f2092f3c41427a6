// Windows: spans of time, each beginning where the one before ends, one job each, made once the span and its lag are
// over (invariants 20, 21).
//
// Planning has reached `planned_end`; a window's identity is its start, so that an edit of interval or mode never
// runs one again. The cursor follows, over what is closed; the store moves it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/schedules/plan.h"

namespace carillon {

struct Window {
  Instant start;
  Instant end;
  friend bool operator==(const Window&, const Window&) = default;
};

// The position that means this time, and back.
Instant position_of_planned_end(Instant planned_end);
std::optional<Instant> planned_end_of(std::optional<Instant> position);

// Of a schedule that has windows: how many of a subject may be open at once.
std::size_t most_open_windows(const Schedule& schedule);

// Whether the cursor may be set there: anywhere at first; later only further on, and not into windows that are planned
// and not closed. Else `conflict`. (invariant 20)
Result<void> check_cursor(const PlanFacts& facts, Instant cursor_end);

// `run_window_acme_digest_news_20260101T000000Z_20260101T010000Z_full`; without a mode its part is left out.
struct WindowName {
  std::string_view tenant;
  std::string_view schedule;
  std::string_view subject;
  Window window;
  std::string_view mode;
};
std::string window_key(const WindowName& name);

// One window by hand; never moves the cursor. `id` is the job's.
Result<NewJob> manual_window(const PlanFacts& facts, const Window& window, JobId id,
                             const std::optional<std::string>& payload, std::optional<int> priority);

// The windows of [from, to) for `manual_window`, of the interval in force: a whole number of them, that are over.
inline constexpr std::size_t kBackfillMax = 10'000;
Result<std::vector<Window>> backfill_windows(const PlanFacts& facts, const Window& range);

}  // namespace carillon
