// Whether a job is one that a query means, asked of row after row by whoever walks over them.
#pragma once

#include <carillon/job_query.h>

#include <string>
#include <string_view>

#include "core/jobs/job.h"
#include "store/rows.h"

namespace carillon {

class JobMatcher {
 public:
  explicit JobMatcher(const JobQuery& query) : query_(query) {}
  JobMatcher(const JobMatcher&) = delete;
  JobMatcher& operator=(const JobMatcher&) = delete;
  ~JobMatcher() = default;

  // By what stands in columns of its row, and since when it is there.
  bool names(const Lane& lane, std::string_view type, JobId id) const;
  bool state(JobState state) const;
  bool payload(std::string_view payload) const;
  // By schedule, subject and tag: a job may tell of others than it has in its columns. One whose options cannot be
  // read is not meant.
  struct Told {
    bool is_of_schedule = false;  // the row's own is the query's
    std::string_view subject;
    std::string_view options;  // as the row has them
  };
  bool told(const Told& row);

 private:
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-const-or-ref-data-members): lives as long as one walk
  const JobQuery& query_;
  // Jobs that stand together mostly have the same, which are then read once.
  std::string text_;
  JobOptions options_;
};

}  // namespace carillon
