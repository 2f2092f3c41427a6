// The target of a request: its path and query, split and decoded.
//
//   parse_target("/v1/jobs/a%2Fb?tag=x+y")   // segments "v1", "jobs", "a/b"; query tag = "x y"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/http/message.h"

namespace carillon::server {

inline constexpr std::size_t kQueryItemsMax = 256;

struct Target {
  std::string path;  // as it was sent, without the query
  // None for "/"; a slash at the end makes an empty last one. "." and ".." stand as they are: nobody follows them.
  std::vector<std::string> segments;
  std::vector<QueryItem> query;
};

// Takes "/path?query", "http://host/path?query" and "*". What is decoded must be UTF-8 without control characters.
Result<Target> parse_target(std::string_view target);

Result<std::vector<QueryItem>> parse_query(std::string_view query);

// Undoes %XX, and in a query also "+" for a space. `what` names the text in an error.
enum class Plus : bool { is_itself, is_space };
Result<std::string> percent_decoded(std::string_view what, std::string_view text, Plus plus);

}  // namespace carillon::server
