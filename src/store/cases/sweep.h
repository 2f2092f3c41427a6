// What cannot be, and is put right should it be: the reconciliation of subjects.
#pragma once

#include "store/cases/context.h"
#include "store/plan_store.h"

namespace carillon {

SweepStep sweep_subjects(Context& context, const SweepRequest& request);

}  // namespace carillon
