// Why a job or schedule ran, did not run, or waits: the chain of decisions, from stored facts.
#pragma once

#include <carillon/time.h>

#include <optional>
#include <string>
#include <vector>

namespace carillon {

struct ExplainStep {
  Instant at;
  std::string what;    // created, deferred, held, claimed, failed, retry_planned, lease_lost, finished
  std::string why;     // maintenance, maintenance:all, quiet_hours, paused, disabled, limit:NAME, cap:node, cap:all,
                       // cap:tenant, cap:queue, dependency, no_worker, not_due, …
  std::string detail;  // a JSON object; of what holds it: until when, if that is known, and what is paused or disabled
};

// Every reason that holds a job is a step; the one that binds, which holds it longest, is the last one and in the
// summary, and `next_at` is its end.
struct Explanation {
  std::string summary;  // one line for a person
  std::optional<Instant> next_at;
  std::vector<ExplainStep> steps;
};

// {"summary": …, "next_at": …, "steps": [{"at": …, "what": …, "why": …, "detail": {}}]}
std::string to_json(const Explanation& explanation);

}  // namespace carillon
