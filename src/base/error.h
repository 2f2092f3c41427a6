// Passing errors on. The types themselves are public: carillon/error.h.
//
//   Result<Zone> load_zone(std::string_view name);
//
//   Result<Plan> plan(std::string_view zone_name) {
//     TRY_ASSIGN(const Zone zone, load_zone(zone_name));   // returns the error to our own caller
//     ...
//   }
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "carillon/error.h"

namespace carillon {

// The text in quotes, shortened and with control characters escaped, for use in a message.
std::string quoted(std::string_view text);

std::unexpected<Error> invalid_request(std::string message);
std::unexpected<Error> invalid_configuration(std::string message);
std::unexpected<Error> invalid_field(std::string_view field, std::string message);  // an invalid_request
std::unexpected<Error> failed(ErrorCode code, std::string message);

// The same error, its message preceded by `context` and ": ".
Error with_context(std::string_view context, Error error);

// The same error, said to be about `field`, unless it names one already.
Error about_field(std::string_view field, Error error);

}  // namespace carillon

#define CARILLON_CONCAT_INNER(a, b) a##b
#define CARILLON_CONCAT(a, b) CARILLON_CONCAT_INNER(a, b)

#define TRY(expression)                                      \
  do {                                                       \
    if (auto try_result = (expression); !try_result) {       \
      return std::unexpected(std::move(try_result).error()); \
    }                                                        \
  } while (false)

#define TRY_ASSIGN(declaration, expression) \
  TRY_ASSIGN_INNER(CARILLON_CONCAT(try_result_, __LINE__), declaration, expression)

#define TRY_ASSIGN_INNER(result, declaration, expression)         \
  auto result = (expression);                                     \
  if (!result) return std::unexpected(std::move(result).error()); \
  declaration = *std::move(result)
