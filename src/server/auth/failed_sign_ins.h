// Failed sign-ins on their way into the audit trail. Anybody can fail, as often as he likes: what is written of it is
// bounded, and how often it was is counted.
//
// In a minute at most one row for each way and peer when it first fails, and one with the number of the further ones
// when the minute is over; of all peers beyond the first few together.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/time/instant.h"

namespace carillon::server {

class FailedSignIns {
 public:
  // Ways and peers that are told apart in a minute; the last is all others.
  static constexpr std::size_t kToldApartMax = 5;

  struct Row {
    std::string way;   // key, link
    std::string peer;  // an address; "others"
    std::uint64_t count = 1;
    Instant first;
    Instant last;
    friend bool operator==(const Row&, const Row&) = default;
  };

  // One more, and what is to be written now. `now` may go back.
  std::vector<Row> note(const std::string& way, const std::string& peer, Instant now);
  // What is to be written because its minute is over.
  std::vector<Row> take_over(Instant now);

 private:
  std::vector<Row> end_of_minute(Instant now);

  std::mutex mutex_;
  std::int64_t minute_ = 0;
  std::map<std::pair<std::string, std::string>, Row> rows_;  // with a count of those that were not written yet
};

}  // namespace carillon::server
