// Whether a text is JSON, without reading it into values.
#pragma once

#include <string_view>

#include "base/error.h"

namespace carillon {

// The same judgement as parse_json, with the same error; quicker for what is simple, which most payloads are.
Result<void> check_json(std::string_view text);

// The same for any text, at the parser's pace. Takes little memory, whatever the text.
Result<void> judge_json(std::string_view text);

}  // namespace carillon
