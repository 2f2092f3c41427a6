#include "server/auth/failed_sign_ins.h"

#include <chrono>

namespace carillon::server {

std::vector<FailedSignIns::Row> FailedSignIns::end_of_minute(Instant now) {
  std::vector<Row> over;
  const std::int64_t minute = std::chrono::floor<std::chrono::minutes>(now.time_since_epoch()).count();
  if (minute == minute_) return over;
  minute_ = minute;
  for (auto& [who, row] : rows_) {
    if (row.count > 0) over.push_back(std::move(row));
  }
  rows_.clear();
  return over;
}

std::vector<FailedSignIns::Row> FailedSignIns::note(const std::string& way, const std::string& peer, Instant now) {
  const std::scoped_lock lock(mutex_);
  std::vector<Row> written = end_of_minute(now);
  std::pair who(way, peer);
  if (!rows_.contains(who) && rows_.size() + 1 >= kToldApartMax) who = {"any", "others"};
  const auto [found, is_new] = rows_.try_emplace(who);
  Row& row = found->second;
  if (is_new) {
    row = {.way = who.first, .peer = who.second, .count = 1, .first = now, .last = now};
    written.push_back(row);
    row.count = 0;
    return written;
  }
  if (row.count == 0) row.first = now;
  row.last = now;
  ++row.count;
  return written;
}

std::vector<FailedSignIns::Row> FailedSignIns::take_over(Instant now) {
  const std::scoped_lock lock(mutex_);
  return end_of_minute(now);
}

}  // namespace carillon::server
