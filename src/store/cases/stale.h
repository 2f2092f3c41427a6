// Why a word comes too late: how the job stands, and what ended the attempt that the word is about.
#pragma once

#include "store/cases/context.h"

namespace carillon {

// Only of a job that its caller may know of.
std::unexpected<Error> stale(Context& context, JobId job, std::int64_t token);

}  // namespace carillon
