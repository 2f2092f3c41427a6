// The reply of a call that may last: it ends with the key, or the session, that made the call. One that is parked is
// taken back and answered 401, a stream ends.
#pragma once

#include <functional>
#include <memory>

#include "server/auth/open_calls.h"
#include "server/http/reply.h"

namespace carillon::server {

// A call is open from the moment it says what is to be done if its client goes (`on_gone`), which is what parked ones
// do, or begins a stream. Whether its owner may still what it might when it was looked at is asked right after that:
// who has changed the owner before has not found the call.
Reply ending_with_key(const std::shared_ptr<OpenCalls>& calls, OpenCalls::Owner owner, std::function<bool()> stands,
                      Reply reply);

}  // namespace carillon::server
