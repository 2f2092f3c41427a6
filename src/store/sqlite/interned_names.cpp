#include "store/sqlite/interned_names.h"

#include "base/check.h"

namespace carillon {

std::string InternedNames::lane_key(std::string_view tenant, std::string_view queue) {
  std::string key;
  key.reserve(tenant.size() + queue.size() + 1);
  key += tenant;
  key += '/';  // in no name
  key += queue;
  return key;
}

bool InternedNames::expect_number(std::int64_t found, std::size_t lowest) {
  if (found >= static_cast<std::int64_t>(lowest) && found <= kNumberMax) return true;
  connection_.fail(
      {.code = ErrorCode::database_error, .message = "the file is damaged: a lane or type has an impossible number"});
  return false;
}

void InternedNames::prune() {
  std::int64_t names = 0;
  for (count_names_.with(); count_names_.next();) names = count_names_.integer(0);
  if (names <= kUnusedMax) return;
  prune_lanes_.run();
  prune_counts_.run();
  prune_types_.run();
}

void InternedNames::load() {
  CHECK(lanes_.empty() && types_.empty());
  prune();
  for (select_lanes_.with(); select_lanes_.next();) {
    if (!expect_number(select_lanes_.integer(0), lanes_.size() + 1)) return select_lanes_.reset();
    lanes_.resize(static_cast<std::size_t>(select_lanes_.integer(0)) - 1);
    lanes_.push_back({.tenant = select_lanes_.string(1), .queue = select_lanes_.string(2)});
    lane_ids_.emplace(lane_key(lanes_.back().tenant, lanes_.back().queue),
                      LaneId{static_cast<std::int64_t>(lanes_.size())});
  }
  for (select_types_.with(); select_types_.next();) {
    if (!expect_number(select_types_.integer(0), types_.size() + 1)) return select_types_.reset();
    types_.resize(static_cast<std::size_t>(select_types_.integer(0)) - 1);
    types_.push_back(select_types_.string(1));
    type_ids_.emplace(types_.back(), TypeId{static_cast<std::int64_t>(types_.size())});
  }
  written_ = {.lanes = lanes_.size(), .types = types_.size()};
}

void InternedNames::unwrite_since(Mark mark) {
  last_lane_ = {};
  last_type_ = {};
  written_ = mark;
}

void InternedNames::write_lanes(LaneId up_to) {
  while (written_.lanes < static_cast<std::size_t>(up_to.value)) {
    const Lane& lane = lanes_[written_.lanes];
    ++written_.lanes;
    insert_lane_.run(written_.lanes, lane.tenant, lane.queue);
  }
}

void InternedNames::write_types(TypeId up_to) {
  while (written_.types < static_cast<std::size_t>(up_to.value)) {
    const std::string& name = types_[written_.types];
    ++written_.types;
    insert_type_.run(written_.types, name);
  }
}

LaneId InternedNames::lane(std::string_view tenant, std::string_view queue) {
  const Lane& last = lane_names(last_lane_);
  if (last_lane_.value != 0 && last.tenant == tenant && last.queue == queue) return last_lane_;
  const std::string key = lane_key(tenant, queue);
  const auto [found, is_new] = lane_ids_.try_emplace(key, LaneId{static_cast<std::int64_t>(lanes_.size()) + 1});
  if (is_new) lanes_.push_back({.tenant = std::string(tenant), .queue = std::string(queue)});
  write_lanes(found->second);
  last_lane_ = found->second;
  return found->second;
}

const Lane& InternedNames::lane_names(LaneId lane) const {
  static const Lane none;
  const auto index = static_cast<std::size_t>(lane.value) - 1;
  return index < lanes_.size() ? lanes_[index] : none;
}

TypeId InternedNames::type(std::string_view name) {
  if (last_type_.value != 0 && type_name(last_type_) == name) return last_type_;
  const auto [found, is_new] =
      type_ids_.try_emplace(std::string(name), TypeId{static_cast<std::int64_t>(types_.size()) + 1});
  if (is_new) types_.emplace_back(name);
  write_types(found->second);
  last_type_ = found->second;
  return found->second;
}

const std::string& InternedNames::type_name(TypeId type) const {
  static const std::string none;
  const auto index = static_cast<std::size_t>(type.value) - 1;
  return index < types_.size() ? types_[index] : none;
}

}  // namespace carillon
