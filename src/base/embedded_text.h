// A text file that was built into the program: see cmake/EmbedText.cmake.
#pragma once

#include <string_view>

namespace carillon {

struct EmbeddedText {
  std::string_view name;  // of the file, without its folder
  std::string_view text;
};

}  // namespace carillon
