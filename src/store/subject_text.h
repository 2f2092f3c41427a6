// The JSON text of a subject's state: what happened to it so far.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/instant.h"

namespace carillon {

struct SubjectState {
  std::string status;                // the last outcome: success, cutoff_reached, …
  std::optional<Instant> last_slot;  // that it belongs to
  std::optional<Instant> last_run_at;
  std::string last_error;
  std::uint32_t error_count = 0;  // outcomes in a row that were no success
  std::optional<Instant> expected_at;
  std::string last_status;  // what the last check said
  std::optional<Instant> last_checked_at;
  std::optional<Instant> last_available_at;
  std::string cadence;  // the band in force
  friend bool operator==(const SubjectState&, const SubjectState&) = default;
};

// "" if there is nothing.
std::string write_subject_state(const SubjectState& state);
Result<SubjectState> read_subject_state(std::string_view text);

}  // namespace carillon
