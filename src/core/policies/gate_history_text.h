// How the history of gates is kept, in a document.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/policies/gate_history.h"

namespace carillon {

inline constexpr std::string_view kGateHistoryKind = "gate_history";

std::string write_gate_history(std::span<const PastClosing> closings);
// Closings of gates that this version does not know are left out.
Result<std::vector<PastClosing>> read_gate_history(std::string_view text);

}  // namespace carillon
