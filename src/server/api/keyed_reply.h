// The reply of a call that may last: it ends with the key that made the call. One that is parked is taken back and
// answered 401, a stream ends.
#pragma once

#include <memory>
#include <string>

#include "server/auth/open_calls.h"
#include "server/http/reply.h"

namespace carillon::server {

// `key` is its id. A call is open from the moment it says what is to be done if its client goes (`on_gone`), which is
// what parked ones do, or begins a stream.
Reply ending_with_key(const std::shared_ptr<OpenCalls>& calls, std::string key, Reply reply);

}  // namespace carillon::server
