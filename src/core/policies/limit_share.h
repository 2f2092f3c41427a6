// How much of a limit that all tenants share one of them may hold at once.
//
// What runs cannot be taken back, and a lease may last for a day. So whoever comes first must leave something for those
// who come later, and those who are there share by weight:
//
// - A tenant that holds nothing gets the next free slot, always.
// - For such newcomers a sixteenth of the limit, at least one slot, stays free. Where every known tenant holds some
//   there are none to keep anything for.
// - Who holds some may have its share by weight, among those who hold some and one newcomer.
// - Beyond its share it may hold three times what stays free: alone it gets three quarters, and when others come it
//   starts nothing more until they have theirs.
//
// A tenant that is the only one has the whole limit. A limit of 1 cannot be shared.
#pragma once

#include <cstdint>

namespace carillon {

inline constexpr std::uint32_t kHeldPerFree = 3;     // slots beyond a share, for each that stays free
inline constexpr std::uint32_t kNewcomersPart = 16;  // of the limit, rounded up, is kept for newcomers

struct SharedLimit {
  std::uint32_t concurrency = 1;
  std::uint32_t running = 0;   // of all tenants
  std::uint32_t held = 0;      // of these, by the tenant that wants one more
  std::uint32_t weight = 1;    // its own; 0 counts as 1
  std::uint64_t weights = 1;   // of all tenants that hold some, its own included
  bool has_newcomers = false;  // tenants are known that hold nothing, besides the one that asks
};

// Whether the tenant may start one more under it.
bool may_take_one(const SharedLimit& limit);

}  // namespace carillon
