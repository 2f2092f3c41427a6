// Content in gzip, for what is sent often and compressed once.
#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace carillon::server {

// Whether Accept-Encoding names gzip, or everything, and not with a weight of 0.
bool accepts_gzip(const HttpRequest& request);

std::string gzip(std::string_view content);

}  // namespace carillon::server
