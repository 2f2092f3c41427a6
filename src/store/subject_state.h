// A subject's state: what happened to it so far. What every subject has stands in columns of its row, the rest in a
// JSON text, which is read here for whoever asks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/time/instant.h"
#include "store/rows.h"

namespace carillon {

struct SubjectState {
  std::optional<JobState> status;      // the last outcome, or dlq: an occurrence was parked since
  std::optional<Instant> last_slot;    // that it belongs to; of a delivery: the last one that is over
  std::optional<Instant> last_run_at;  // of the last success
  std::string last_error;
  std::uint32_t error_count = 0;  // in a row: outcomes that were no success, and occurrences that were parked
  std::optional<Instant> expected_at;
  std::string last_status;  // what the last check said
  std::optional<Instant> last_checked_at;
  std::optional<Instant> last_available_at;
  std::string cadence;  // the band in force
  friend bool operator==(const SubjectState&, const SubjectState&) = default;
};

// How a status reads: done is success.
std::string_view subject_status_text(std::optional<JobState> status);

// Errors: database_error.
Result<SubjectState> read_subject_state(const SubjectRow& row);

}  // namespace carillon
