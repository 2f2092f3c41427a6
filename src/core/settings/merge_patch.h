// Changes to a JSON object, written as an object of what is to be different (RFC 7396): members replace, objects are
// merged, null takes away.
//
//   merge_patch(R"({"job":{"type":"a","priority":3}})", R"({"job":{"priority":1}})", {}) ==
//       R"({"job":{"type":"a","priority":1}})"
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace carillon {

struct MergeRules {
  // Members that are replaced whole, wherever they are: their insides belong to somebody else.
  std::span<const std::string_view> whole;
  // A member that says which shape the object of that name has: if the patch names another, the object is replaced, not
  // merged. With `alone` its being there says it, whatever its value.
  struct Shape {
    std::string_view object;
    std::string_view member;
    bool alone = false;
  };
  std::span<const Shape> shapes;
};

// Both are objects. Values that are not merged stay byte for byte.
Result<std::string> merge_patch(std::string_view target, std::string_view patch, const MergeRules& rules);

// An error about the merged object, said of the patch: where the field is there, or nowhere.
Error about_patch(Error error, std::string_view patch);

}  // namespace carillon
