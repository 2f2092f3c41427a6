// The version of the library that is linked in.
#pragma once

#include <string_view>

namespace carillon {

// As semantic versioning writes it: "0.1.0".
std::string_view version();

}  // namespace carillon
