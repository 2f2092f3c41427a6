// Jobs come in.
#pragma once

#include "store/cases/context.h"

namespace carillon {

// Refused ones change nothing; what the key or occurrence has made already is answered as deduplicated.
Result<Enqueued> enqueue_job(Context& context, const NewJob& job);

}  // namespace carillon
