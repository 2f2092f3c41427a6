// Addresses in the configuration.
#pragma once

#include <string_view>

#include "base/error.h"
#include "daemon/config.h"

namespace carillon::daemon {

// 127.0.0.1:7440, [::1]:7440 or localhost:7440. The error says only what is allowed.
Result<ListenAddress> parse_listen(std::string_view text);
std::string format_listen(const ListenAddress& listen);

// An entry of webhooks.allow: an address, a network 10.1.0.0/16 or a host name, the first and last with or without a
// port. The error says only what is allowed.
Result<void> check_allow_entry(std::string_view entry);

}  // namespace carillon::daemon
