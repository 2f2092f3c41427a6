#include "engine/planning/sweeper.h"

namespace carillon {

namespace {

constexpr Duration kEvery = std::chrono::minutes(5);
constexpr std::size_t kSlice = 500;
// Between two slices: at ten million subjects a pass takes half an hour and a hundredth of a core.
constexpr Duration kBetweenSlices = std::chrono::milliseconds(100);
// A subject that is due waits no longer than this, however much is due with it, unless something is wrong.
constexpr Duration kLate = std::chrono::minutes(5);

}  // namespace

void Sweeper::begin(BootTime now) {
  if (!next_at_) next_at_ = now + kEvery;
}

Result<void> Sweeper::end_pass(Round& round, const Place& place) {
  if (place.counted.looked_at > 0) round.tell(place.counted);
  round.on_commit.emplace_back([this, boot = round.boot] {
    place_ = {};
    next_at_ = boot + kEvery;
  });
  return {};
}

Result<void> Sweeper::step(Round& round) {
  Place place = place_;
  if (!place.after) {
    const auto next = planner_.next_by_subject(place.schedule);
    if (next.end) return end_pass(round, place);
    place.schedule = next.looked_to;
    if (!next.found) return go_on(round, place);
  }
  TRY_ASSIGN(const SweepStep slice, store_.plans().sweep({.schedule = place.schedule,
                                                          .after = place.after,
                                                          .limit = kSlice,
                                                          .late_before = add_clamped(round.now, -kLate)}));
  place.counted.looked_at += slice.looked_at;
  for (const SweptSubject& swept : slice.found) {
    TRY_ASSIGN(const bool moved, planner_.put_right(round, swept));
    if (moved || swept.lost_open_job || swept.moved_cursor) ++place.counted.repaired;
  }
  place.after = slice.end ? std::nullopt : slice.next_after;
  return go_on(round, place);
}

Result<void> Sweeper::go_on(Round& round, const Place& place) {
  round.on_commit.emplace_back([this, place, boot = round.boot] {
    place_ = place;
    next_at_ = boot + kBetweenSlices;
  });
  return {};
}

}  // namespace carillon
