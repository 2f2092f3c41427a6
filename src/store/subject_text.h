// How a subject's state is kept. Only use cases write it.
#pragma once

#include "store/subject_state.h"

namespace carillon {

void write_subject_state(const SubjectState& state, SubjectRow& row);

}  // namespace carillon
