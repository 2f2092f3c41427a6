#include "store/schedule_results.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace carillon {
namespace {

EndedOccurrence any_end() {
  constexpr std::array kEnds{JobState::done, JobState::skipped, JobState::cancelled, JobState::cutoff_reached};
  return {.outcome = *rc::gen::elementOf(kEnds),
          .failed = *rc::gen::arbitrary<bool>(),
          .error = *rc::gen::element<std::string>("", "it broke", "deadline")};
}

RC_GTEST_PROP(ScheduleResults, OneChangeDoesWhatItsOutcomesDoOneByOne, ()) {
  ScheduleResults one_by_one{.last_outcome = JobState::skipped, .error_count = 3, .last_error = "before"};
  ScheduleResults at_once = one_by_one;
  ResultsChange all;
  const int count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i) {
    const EndedOccurrence ended = any_end();
    ResultsChange alone;
    alone.add(ended);
    alone.apply_to(one_by_one);
    all.add(ended);
  }
  all.apply_to(at_once);
  RC_ASSERT(at_once == one_by_one);
}

}  // namespace
}  // namespace carillon
