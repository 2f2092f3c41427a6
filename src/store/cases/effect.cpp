#include "store/cases/effect.h"

#include <fmt/format.h>

#include "store/cases/lease.h"

namespace carillon {

namespace {

Result<void> check_call(Context& context, const EffectCall& call) {
  if (call.key.empty() || call.key.size() > kKeyBytesMax) {
    return invalid_request(
        fmt::format("the key of an effect has {} bytes; 1 to {} are allowed", call.key.size(), kKeyBytesMax));
  }
  TRY(current_lease(context, call.job, call.token));
  // The lease of a foreign job is like that of an absent one (invariant 28).
  if (!job_of_tenant(context, call.tenant, call.job)) return stale(call.job, call.token);
  return {};
}

// The claim of the key, by whomever: an attempt that found it unknown may find out what became of it.
Result<EffectRow> claimed_effect(Context& context, const EffectCall& call) {
  TRY(check_call(context, call));
  auto row = context.tx.effect(call.tenant, call.key);
  if (!row) return failed(ErrorCode::conflict, fmt::format("effect {} was not claimed", quoted(call.key)));
  return *std::move(row);
}

}  // namespace

Result<EffectClaim> claim_effect_key(Context& context, const EffectCall& call) {
  TRY(check_call(context, call));
  const auto known = context.tx.effect(call.tenant, call.key);
  if (known && known->state == EffectState::done) {
    return EffectClaim{.kind = EffectClaim::Kind::done, .result = known->result};
  }
  const bool own = known && known->job == call.job && known->token == call.token;
  if (known && !own) {
    // Another attempt began it and said nothing since. Who has looked what became of it says `done` or `undone`.
    const auto holder = context.tx.lease(known->job);
    return EffectClaim{.kind = EffectClaim::Kind::unknown, .is_under_way = holder && holder->token == known->token};
  }
  if (!known) {
    context.tx.put_effect({.tenant = std::string(call.tenant),
                           .key = std::string(call.key),
                           .job = call.job,
                           .token = call.token,
                           .at = context.now});
  }
  return EffectClaim{.kind = EffectClaim::Kind::first};
}

Result<void> record_effect(Context& context, const EffectCall& call, std::string_view result) {
  TRY_ASSIGN(EffectRow row, claimed_effect(context, call));
  row.job = call.job;
  row.token = call.token;
  row.state = EffectState::done;
  row.result = result;
  row.at = context.now;
  context.tx.put_effect(row);
  return {};
}

Result<void> undo_effect(Context& context, const EffectCall& call) {
  TRY_ASSIGN(const EffectRow row, claimed_effect(context, call));
  if (row.state == EffectState::done) {
    return failed(ErrorCode::conflict, fmt::format("effect {} is done and cannot be undone", quoted(call.key)));
  }
  context.tx.erase_effect(call.tenant, call.key);
  return {};
}

}  // namespace carillon
