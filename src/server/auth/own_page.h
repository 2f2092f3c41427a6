// What a browser says of itself, by which a call of our own page is told from one that another site's page has made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace carillon::server {

// The name of the session's cookie. Browsers keep cookies by host and not by port: two servers of one machine would
// sign each other's people out.
std::string session_cookie(std::uint16_t port);

std::optional<std::string_view> cookie_of(const std::vector<HttpHeader>& headers, std::string_view name);

// Whether the page that makes the call came from here. Without Origin: no.
bool is_from_own_page(const std::vector<HttpHeader>& headers);

// Pages of other sites cannot send this type unless they are asked whether they may.
bool is_json(const std::vector<HttpHeader>& headers);

}  // namespace carillon::server
