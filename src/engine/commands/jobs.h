// Commands about jobs: make, act upon, change, and many of them in bulk.
#pragma once

#include <carillon/client.h>
#include <carillon/job_request.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/jobs/job.h"
#include "engine/commands/actor.h"
#include "store/job_store.h"

namespace carillon {

class Node;
struct Round;

namespace command {

// A job that somebody has sent. One that could never start, its deadline past, is refused.
struct EnqueueJob {
  struct Answer {
    Enqueued made;
    Instant now;
    bool over_quota = false;  // then nothing was made
  };
  NewJob job;
  std::optional<Duration> delay;  // instead of the job's run_at; counted from when it is stored
  // So many of them may be new, the others must be there already under their keys. Nothing: all may.
  std::optional<std::size_t> new_max;
  Actor by_hand;  // jobs that programs make carry who made them, and that is enough
};

// Many of them, all or none. An error names in its field which one it is about.
struct EnqueueBatch {
  struct Answer {
    std::vector<Enqueued> made;
    bool over_quota = false;
  };
  std::string tenant;
  std::vector<NewJob> jobs;
  std::vector<std::optional<Duration>> delays;  // of each; empty: none has one
  std::optional<std::size_t> new_max;
  Actor by_hand;
};

// Jobs of the library: what they do not say is filled in by the rules that hold when they are stored.
struct EnqueueRequests {
  using Answer = std::vector<EnqueuedJob>;
  std::vector<JobRequest> requests;
  bool all_or_none = true;  // else there is one
};

struct ActOnJob {
  using Answer = JobState;
  std::string tenant;
  JobId id;
  JobAction action = JobAction::cancel;
  Actor by;
};

struct ChangeJob {
  using Answer = JobState;
  std::string tenant;
  JobId id;
  JobPatch patch;
  Actor by;
};

// A job like another that has been there.
struct RerunJob {
  using Answer = EnqueuedJob;
  JobId like;
  NewJob job;
  Actor by;
};

struct BeginBulk {
  using Answer = BulkInfo;
  BulkRequest request;
  std::optional<std::uint64_t> total;  // for the bar that shows how far the work is; nothing rests on it
  Actor by;
};

struct StopBulk {
  using Answer = BulkInfo;
  std::string tenant;
  std::string id;
  Actor by;
};

Result<EnqueueJob::Answer> carry_out(EnqueueJob& command, Node& node, Round& round);
Result<EnqueueBatch::Answer> carry_out(EnqueueBatch& command, Node& node, Round& round);
Result<std::vector<EnqueuedJob>> carry_out(EnqueueRequests& command, Node& node, Round& round);
Result<JobState> carry_out(const ActOnJob& command, Node& node, Round& round);
Result<JobState> carry_out(const ChangeJob& command, Node& node, Round& round);
Result<EnqueuedJob> carry_out(const RerunJob& command, Node& node, Round& round);
Result<BulkInfo> carry_out(const BeginBulk& command, Node& node, Round& round);
Result<BulkInfo> carry_out(const StopBulk& command, Node& node, Round& round);

}  // namespace command

}  // namespace carillon
