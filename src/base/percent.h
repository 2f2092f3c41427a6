// Text as it goes into one segment of a path, or one value of a query.
#pragma once

#include <string>
#include <string_view>

namespace carillon {

std::string percent_encoded(std::string_view text);

}  // namespace carillon
