// Lanes and types by number, all in memory: there are few of them, and every job names one of each.
//
// A number that was given out keeps its name for as long as the process lives, because callers hold it; though the
// transaction that wrote it may be undone. Then it is written again when it, or one above it, is next used: numbers
// that are written have no gaps. Only when the file is opened, and nobody holds a number yet, names that nothing uses
// any more go, and leave gaps.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/rows.h"
#include "store/sqlite/connection.h"

namespace carillon {

class InternedNames {
 public:
  explicit InternedNames(Connection& connection) : connection_(connection) {}

  // So many stay, used or not: they cost next to nothing, and looking for those that are not reads every job.
  static constexpr std::int64_t kUnusedMax = 20'000;
  // Above any that was ever given out; a file that has it is damaged.
  static constexpr std::int64_t kNumberMax = 100'000'000;

  // Reads all of them, when the file is opened.
  void load();
  // How many of each the file holds.
  struct Mark {
    std::size_t lanes = 0;
    std::size_t types = 0;
  };
  Mark mark() const { return written_; }
  // What was written since `mark` was undone.
  void unwrite_since(Mark mark);

  LaneId lane(std::string_view tenant, std::string_view queue);
  const Lane& lane_names(LaneId lane) const;
  TypeId type(std::string_view name);
  const std::string& type_name(TypeId type) const;

 private:
  void prune();
  bool expect_number(std::int64_t found, std::size_t lowest);
  void write_lanes(LaneId up_to);
  void write_types(TypeId up_to);
  static std::string lane_key(std::string_view tenant, std::string_view queue);

  Connection& connection_;
  Query count_names_{connection_, "count_names"};
  Query prune_lanes_{connection_, "prune_lanes"};
  Query prune_counts_{connection_, "prune_counts"};
  Query prune_types_{connection_, "prune_types"};
  Query select_lanes_{connection_, "lanes"};
  Query insert_lane_{connection_, "insert_lane"};
  Query select_types_{connection_, "types"};
  Query insert_type_{connection_, "insert_type"};

  // Number n stands at n - 1; where the file has a gap stands a name that is none. Deques, so that what was handed out
  // stays where it is.
  std::deque<Lane> lanes_;
  std::deque<std::string> types_;
  Mark written_;
  LaneId last_lane_;  // that was asked for, and is written: jobs come in runs
  TypeId last_type_;
  std::unordered_map<std::string, LaneId> lane_ids_;
  std::unordered_map<std::string, TypeId> type_ids_;
};

}  // namespace carillon
