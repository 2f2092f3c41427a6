// What the audit trail says of people who sign in, sign out, or fail to. A store that does not answer keeps nobody out:
// who looks after it must be able to come in.
#pragma once

#include <string>

#include "server/api/services.h"

namespace carillon::server {

// How somebody tried to: by a one-time link, or by a key.
enum class SignInBy : std::uint8_t { link, key };

void note_sign_in(Services& services, const Caller& caller, SignInBy by, const std::string& peer);
void note_sign_out(Services& services, const Caller& caller);
void note_failed_sign_in(Services& services, SignInBy by, const std::string& peer);
// Those that were counted and not written yet. To be called every few seconds.
void write_failed_sign_ins(Services& services);

}  // namespace carillon::server
