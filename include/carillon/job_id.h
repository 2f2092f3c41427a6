// The identity of a job: a 63-bit number that sorts by time, and the UUID that it is outside.
//
//   63 bits   42: milliseconds since 2020 | 8: node | 13: counter
//   UUID v7   48: Unix milliseconds | version | 8: node, 13: counter | 53: check
//
// Each is a pure function of the other, so that the store needs no second index. The check bits are a hash of the
// number: a UUID from elsewhere is not the id of any job.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "carillon/time.h"

namespace carillon {

struct JobId {
  std::int64_t value = 0;  // 0: none
  explicit operator bool() const { return value != 0; }
  friend auto operator<=>(const JobId&, const JobId&) = default;
};

// `0197…-7…`, 36 characters; two ids compare as their texts do.
std::string format_job_id(JobId id);
// Nothing if it is not the id of a job: wrong shape, or the check fails. Letters may be of either case.
std::optional<JobId> parse_job_id(std::string_view text);

// When it was chosen, to the millisecond.
Instant made_at(JobId id);

}  // namespace carillon

template <>
struct std::hash<carillon::JobId> {
  std::size_t operator()(carillon::JobId id) const noexcept { return std::hash<std::int64_t>()(id.value); }
};
