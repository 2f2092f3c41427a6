// The plain page: how things stand, what is due next, where to read on.
#pragma once

#include <string_view>

namespace carillon::server {

std::string_view page_html();
std::string_view page_css();
std::string_view page_js();

}  // namespace carillon::server
