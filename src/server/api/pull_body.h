// What workers outside send: how they ask for jobs, keep them, and say how they ended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/jobs/job_id.h"
#include "core/settings/job_defaults.h"
#include "engine/calls/job_json.h"
#include "engine/pulls/pull.h"
#include "server/auth/tenant_set.h"

namespace carillon::server {

// Who sends it.
struct PullSender {
  TenantSet tenants;               // whose jobs it may touch
  bool is_of_all_tenants = false;  // its key, whatever the call may touch
  std::string actor;               // as the jobs that it makes name it
  JobDefaults defaults;            // of the jobs that it makes
};

// As the engine says it, where an empty list is anybody. Nobody cannot be said there: who has no tenant does not come
// so far.
std::vector<std::string> engine_list(const TenantSet& tenants);

struct LeaseBody {
  PullRequest request;
  ItemFields fields = ItemFields::all();  // of the jobs that it gets
};
Result<LeaseBody> read_lease_request(std::string_view text, const PullSender& sender);

// The end of an attempt, by the name of the call: complete, fail, defer, release. Without its job.
Result<PullWord> read_word(std::string_view kind, std::string_view text, const PullSender& sender);

// Of many; the ids as they were written.
struct PullWords {
  std::vector<std::string> ids;
  std::vector<PullWord> words;
};
Result<PullWords> read_words(std::string_view text, const PullSender& sender);

// Without its job.
Result<PullBeat> read_beat(std::string_view text, const PullSender& sender);

struct PullBeats {
  std::vector<std::string> ids;
  std::vector<PullBeat> beats;
};
Result<PullBeats> read_beats(std::string_view text, const PullSender& sender);

// What is said of an effect; only one that is done may have a result.
enum class EffectCall : std::uint8_t { claim, done, undo };
struct EffectBody {
  JobId job;
  std::int64_t token = 0;
  std::string result = "null";
};
Result<EffectBody> read_effect(std::string_view text, EffectCall what);

}  // namespace carillon::server
