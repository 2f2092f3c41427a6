#include "store/cases/effect.h"

#include <fmt/format.h>

#include "base/json_hash.h"
#include "store/cases/lease.h"

namespace carillon {

namespace {

bool is_of_tenant(Context& context, std::string_view tenant, JobId job) {
  if (job_of_tenant(context, tenant, job)) return true;
  const auto archived = context.tx.archived(job);
  return archived && context.tx.lane_names(archived->job.lane).tenant == tenant;
}

Result<void> check_call(Context& context, const EffectCall& call) {
  if (call.key.empty() || call.key.size() > kKeyBytesMax) {
    return invalid_request(
        fmt::format("the key of an effect has {} bytes; 1 to {} are allowed", call.key.size(), kKeyBytesMax));
  }
  // The lease of a foreign job is like that of an absent one (invariant 28).
  if (!is_of_tenant(context, call.tenant, call.job)) return stale_word(call.job, call.token);
  TRY(current_lease(context, call.job, call.token));
  return {};
}

bool is_holder(const EffectRow& row, const EffectCall& call) { return row.job == call.job && row.token == call.token; }

// The claim of the key, which must be the caller's: another may be at it this very moment.
Result<EffectRow> claim_of(Context& context, const EffectCall& call) {
  TRY(check_call(context, call));
  auto row = context.tx.effect(call.tenant, call.key);
  if (!row) return failed(ErrorCode::not_found, fmt::format("effect {} is not claimed", quoted(call.key)));
  if (!is_holder(*row, call)) {
    return failed(ErrorCode::conflict,
                  fmt::format("effect {} is claimed by job {} with token {}, and only that attempt can say what became "
                              "of it",
                              quoted(call.key), format_job_id(row->job), row->token));
  }
  return *std::move(row);
}

// Whether an operator has said, since it came to be in doubt, that this job is to run it.
bool is_lifted(Context& context, const EffectRow& known, const EffectCall& call) {
  const auto row = known.in_doubt ? context.tx.job(call.job) : std::nullopt;
  if (!row) return false;
  const JobDetail detail = detail_of(context, *row);
  if (known.job == call.job) return known.token <= detail.lifted_token;
  return detail.lifted_at && known.at <= *detail.lifted_at;
}

}  // namespace

Result<EffectClaim> claim_effect_key(Context& context, const EffectCall& call) {
  TRY(check_call(context, call));
  const auto known = context.tx.effect(call.tenant, call.key);
  if (known && known->state == EffectState::done) {
    return EffectClaim{.kind = EffectClaim::Kind::done, .result = known->result};
  }
  EffectClaim answer{.kind = EffectClaim::Kind::first};
  if (known && is_holder(*known, call)) {
    // Asked again: the answer was lost, and is the same.
    if (known->in_doubt) answer.kind = EffectClaim::Kind::unknown;
    return answer;
  }
  if (known) {
    // Another attempt began it and said nothing since.
    const auto holder = context.tx.lease(known->job);
    const bool is_under_way = holder && holder->token == known->token;
    answer.is_lifted = !is_under_way && is_lifted(context, *known, call);
    if (!answer.is_lifted) answer = {.kind = EffectClaim::Kind::unknown, .is_under_way = is_under_way};
    if (is_under_way) return answer;
  }
  context.tx.put_effect({.tenant = std::string(call.tenant),
                         .key = std::string(call.key),
                         .job = call.job,
                         .token = call.token,
                         .in_doubt = answer.kind == EffectClaim::Kind::unknown,
                         .result = {},
                         .at = context.now});
  return answer;
}

Result<void> record_effect(Context& context, const EffectCall& call, std::string_view result) {
  TRY_ASSIGN(EffectRow row, claim_of(context, call));
  if (row.state == EffectState::done) {
    if (row.result == result || json_hash(row.result) == json_hash(result)) return {};
    return failed(ErrorCode::conflict, fmt::format("effect {} is done, with another result", quoted(call.key)));
  }
  row.state = EffectState::done;
  row.in_doubt = false;
  row.result = result;
  row.at = context.now;
  context.tx.put_effect(row);
  return {};
}

Result<void> undo_effect(Context& context, const EffectCall& call) {
  TRY_ASSIGN(const EffectRow row, claim_of(context, call));
  if (row.state == EffectState::done) {
    return failed(ErrorCode::conflict, fmt::format("effect {} is done and cannot be undone", quoted(call.key)));
  }
  context.tx.erase_effect(call.tenant, call.key);
  return {};
}

}  // namespace carillon
