#include "server/api/page.h"

#include <algorithm>

#include "base/check.h"
#include "embedded/page_files.h"

namespace carillon::server {

namespace {

std::string_view file(std::string_view name) {
  const auto* const found = std::ranges::find(kPageFiles, name, &EmbeddedText::name);
  CHECK(found != kPageFiles.end());
  return found->text;
}

}  // namespace

std::string_view page_html() { return file("page.html"); }
std::string_view page_css() { return file("page.css"); }
std::string_view page_js() { return file("page.js"); }

}  // namespace carillon::server
