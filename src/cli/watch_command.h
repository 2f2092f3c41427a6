// `carillon jobs watch`: what happens, as it happens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

struct WatchRequest {
  std::optional<std::string> id;     // one job, until it is final
  std::optional<int> count;          // end after so many lines
  std::string poll_interval = "1s";  // where the server has no stream of events
};

// Prints as it goes: a line for each change of a job of the tenant. A stream that breaks is taken up again.
CliResult<Printout> watch_jobs(Session& session, const WatchRequest& request);

// Puts a stream of server-sent events together from chunks.
class EventReader {
 public:
  struct Event {
    std::string name;
    std::string data;
  };
  // The next complete event of what was pushed, or nothing.
  void push(std::string_view chunk) { buffer_ += chunk; }
  std::optional<Event> next();

 private:
  std::string buffer_;
  Event event_;
};

}  // namespace carillon
