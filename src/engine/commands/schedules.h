// Commands about schedules: put, paused, deleted, run by hand or by a push from outside.
#pragma once

#include <carillon/client.h>

#include <cstdint>
#include <optional>
#include <string>

#include "engine/commands/actor.h"
#include "store/rows.h"

namespace carillon {

class Node;
struct Round;

namespace command {

struct PutSchedule {
  using Answer = ScheduleRow;
  std::string tenant;
  std::string definition;
  std::optional<std::int64_t> if_revision;
  Actor by;
};

struct PauseSchedule {
  using Answer = ScheduleRow;
  std::string tenant;
  std::string name;
  std::optional<Instant> until;
  Actor by;
};

struct ResumeSchedule {
  using Answer = ScheduleRow;
  std::string tenant;
  std::string name;
  Actor by;
};

struct DeleteSchedule {
  using Answer = void;
  std::string tenant;
  std::string name;
  Actor by;
};

struct TriggerSchedule {
  using Answer = EnqueuedJob;
  std::string tenant;
  std::string name;
  Client::TriggerOptions options;
  Actor by;
};

// A signed call from outside. With fan_out it is about one subject, whose job has a payload of its own, to which the
// body is added; a schedule alone gets the body as its payload.
struct PushToSchedule {
  using Answer = EnqueuedJob;
  std::string tenant;
  std::string schedule;
  std::string body;
  std::string subject;
  std::optional<int> priority;
  std::string key;  // the same again is the same push
  std::string created_by;
  std::string about;                   // JSON, for the job's meta.hook
  std::optional<Instant> expected_at;  // of adaptive: learnt by the way
};

struct Backfill {
  using Answer = BulkInfo;
  std::string tenant;
  std::string name;
  Client::BackfillRequest request;
  Actor by;
};

Result<ScheduleRow> carry_out(const PutSchedule& command, Node& node, Round& round);
Result<ScheduleRow> carry_out(const PauseSchedule& command, Node& node, Round& round);
Result<ScheduleRow> carry_out(const ResumeSchedule& command, Node& node, Round& round);
Result<void> carry_out(const DeleteSchedule& command, Node& node, Round& round);
Result<EnqueuedJob> carry_out(const TriggerSchedule& command, Node& node, Round& round);
Result<EnqueuedJob> carry_out(const PushToSchedule& command, Node& node, Round& round);
Result<BulkInfo> carry_out(const Backfill& command, Node& node, Round& round);

}  // namespace command

}  // namespace carillon
