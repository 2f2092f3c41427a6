#include "core/policies/limit_share.h"

#include <algorithm>

namespace carillon {

namespace {

std::uint64_t divided_up(std::uint64_t whole, std::uint64_t parts) { return (whole + parts - 1) / parts; }

}  // namespace

bool may_take_one(const SharedLimit& limit) {
  if (limit.running >= limit.concurrency) return false;
  if (limit.held == 0) return true;
  const std::uint64_t left = limit.concurrency - limit.running - 1;  // free once it has started
  const std::uint64_t kept = limit.has_newcomers ? divided_up(limit.concurrency, kNewcomersPart) : 0;
  const std::uint64_t wanted = std::uint64_t{limit.held} + 1;
  if (left < kept) return false;
  if (wanted <= kHeldPerFree * left) return true;
  const std::uint64_t weight = std::max<std::uint64_t>(limit.weight, 1);
  const std::uint64_t weights = std::max(limit.weights, weight) + (limit.has_newcomers ? 1 : 0);
  return wanted <= divided_up(limit.concurrency * weight, weights);
}

}  // namespace carillon
