// Lists and objects of the API in both forms: a table for a terminal, JSON for a pipe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/outcome.h"
#include "cli/session.h"
#include "cli/table.h"

namespace carillon {

// `nothing` is what a person reads when there are no items.
Printout print_list(const Session& session, const Session::Page& page, const std::vector<FieldColumn>& columns,
                    std::string_view nothing);

Printout print_object(const Session& session, const JsonValue& object, const std::vector<std::string>& leave_out = {});

// The answer as JSON, or a sentence for a person.
Printout print_done(const Session& session, const JsonValue& answer, std::string_view sentence);

// A cell with the member `field` of the item.
template <std::size_t kSize>
struct FieldName {
  // NOLINTNEXTLINE(google-explicit-constructor,modernize-avoid-c-arrays): a literal as a template argument.
  constexpr FieldName(const char (&text)[kSize]) { std::copy_n(text, kSize, value); }
  char value[kSize]{};  // NOLINT(modernize-avoid-c-arrays)
};
template <FieldName kField>
Cell field(const JsonValue& item) {
  return {.text = shown_value(item.at(std::string_view(kField.value))), .colour = Colour::none};
}

}  // namespace carillon
