// The jobs of one place, in order: five heaps, one a priority, each by (run_at, id).
//
// Sixteen bytes an entry. A line stands in at most one set of lines at a time: among the open lines of its lane, or
// among those that wait for a limit, or in none.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/jobs/job.h"
#include "engine/ready/ready_entry.h"

namespace carillon {

inline constexpr std::size_t kPriorities = kPriorityMax - kPriorityMin + 1;

// Which of a line's jobs is meant.
enum class ReadyChoice : std::uint8_t {
  first,   // by priority, run_at, id
  oldest,  // by run_at, id
};

class ReadyLine {
 public:
  struct Age {
    Instant run_at;
    JobId id;
    friend auto operator<=>(const Age&, const Age&) = default;
  };
  struct Rank {
    std::size_t priority = 0;
    Age age;
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // A priority outside of 1 to 5 counts as the nearest one.
  void add(const ReadyEntry& entry);
  // There is one.
  ReadyEntry pop(ReadyChoice choice);

  using Which = std::function<bool(const ReadyEntry&)>;
  std::size_t count_if(const Which& is_meant) const;
  // Takes out those for which it is true; asked once of each.
  std::vector<ReadyEntry> take_if(const Which& goes);
  // All of them, in no order.
  std::vector<ReadyEntry> entries() const;

  // Of the job that `first` and `oldest` mean. There is one.
  const Rank& first() const { return first_; }
  const Age& oldest() const { return oldest_.age; }

  // Where it stands; kept by the ready set.
  PlaceId place;
  std::uint32_t tenant = 0;
  std::uint32_t lane = 0;
  std::vector<std::uint32_t> limits;       // the tenant's: those that the place names, then those of its type
  std::uint32_t running = 0;               // its attempts under way
  std::optional<std::uint32_t> waits_for;  // the limit that holds it
  bool standing = false;                   // among the open lines of its lane
  bool unserved = false;                   // nobody here serves its type for its tenant
  bool outside = false;                    // its attempts wait for somebody outside
  bool touched = false;                    // told as one to which something came

  // Where it is in the two heaps of the set that it is in; kept by that set.
  std::array<std::uint32_t, 2> positions{};

 private:
  void look();

  std::array<std::vector<Age>, kPriorities> heaps_;
  std::size_t size_ = 0;
  Rank first_;
  Rank oldest_;
};

}  // namespace carillon
