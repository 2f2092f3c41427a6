// `carillon schedules`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

struct SchedulePutRequest {
  std::string file;                     // or - for standard input
  std::optional<std::string> name;      // default: the one in the file
  std::optional<std::string> if_match;  // the revision that is replaced
};

struct TriggerRequest {
  std::string schedule;
  std::optional<std::string> subject;
  std::optional<std::string> payload;
  std::optional<int> priority;
  std::optional<std::string> window_start;  // of windows, with window_end
  std::optional<std::string> window_end;
};

struct BackfillCommand {
  std::string schedule;
  std::optional<std::string> subject;  // nothing: all
  std::string from;
  std::string to;
  bool detach = false;
};

struct OutcomesRequest {
  std::string schedule;
  std::optional<std::string> date;
  // Each of them instead of a day at a glance: if one of these is given.
  bool items = false;
  std::optional<std::string> subject;
  std::optional<std::string> from;
  std::optional<std::string> to;
  Paging paging;
};

CliResult<Printout> list_schedules(Session& session, const Paging& paging);
CliResult<Printout> put_schedule(Session& session, const SchedulePutRequest& request);
CliResult<Printout> show_schedule(Session& session, const std::string& name);
CliResult<Printout> pause_schedule(Session& session, const std::string& name, const std::optional<std::string>& until);
CliResult<Printout> resume_schedule(Session& session, const std::string& name);
CliResult<Printout> trigger_schedule(Session& session, const TriggerRequest& request);
CliResult<Printout> backfill_schedule(Session& session, const BackfillCommand& request);
CliResult<Printout> show_outcomes(Session& session, const OutcomesRequest& request);
CliResult<Printout> delete_schedule(Session& session, const std::string& name);
CliResult<Printout> preview_schedule(Session& session, const std::string& name, const std::string& count);
// The times that a path with its query answers with.
CliResult<Printout> print_preview(Session& session, const std::string& path);

}  // namespace carillon
