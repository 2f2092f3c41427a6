// Guards of effects that must happen once. (invariant 18)
#pragma once

#include "store/cases/context.h"

namespace carillon {

struct EffectCall {
  std::string_view tenant;
  std::string_view key;
  JobId job;
  std::int64_t token = 0;
};

Result<EffectClaim> claim_effect_key(Context& context, const EffectCall& call);
Result<void> record_effect(Context& context, const EffectCall& call, std::string_view result);
Result<void> undo_effect(Context& context, const EffectCall& call);

}  // namespace carillon
