// Characters of a text, one by one, and which of them a terminal obeys instead of showing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace carillon {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  // else one byte that begins no character
};

// The first character of a text that is not empty.
Utf8Character first_character(std::string_view text);

// Whether all of it is characters.
bool is_utf8(std::string_view text);

// Adds the bytes of a character.
void append_utf8(std::string& out, char32_t code);

// Moves the cursor, turns the direction of writing, or ends the line.
bool acts_on_terminal(char32_t code);

}  // namespace carillon
