// The object `job` of the documentation, for whoever is shown one: people who ask, workers, webhooks. One table has its
// members, in their order.
#pragma once

#include <carillon/job_context.h>
#include <carillon/job_info.h>

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace carillon {

// Which members of its job a worker wants to get.
class ItemFields {
 public:
  static ItemFields all();
  // Those that there are: the job's but for its attempts, and `trigger`.
  static std::vector<std::string_view> names();

  // False: there is no such one.
  bool add(std::string_view name);
  bool has(std::size_t place) const { return chosen_.test(place); }
  // Whether any of them stands in the texts of the row.
  bool need_options() const;
  bool need_detail() const;

 private:
  static constexpr std::size_t kMost = 64;
  std::bitset<kMost> chosen_;  // by its place in the table
};

std::string to_json(const RunningJob& job, const ItemFields& fields);

}  // namespace carillon
