// Handlers that send a mail over SMTP.
//
// A job sends its mail once: an attempt after one that was recorded sends nothing, and after a crash in between the
// job's `on_ambiguous` decides. The Message-ID is the same each time, so that a receiver can tell.
//
// How it ends: a reply 4xx, no connection, no TLS, or a login that is refused is a failed attempt (class smtp_4xx,
// unreachable, tls, login); another reply 5xx is permanent (class smtp_5xx). A value with a line end or a control
// character where a header would be is permanent (class header_injection), and so is what is no address (class address)
// or is missing in the payload (class template).
#pragma once

#include <carillon/job_context.h>

#include <functional>
#include <string>

#include "base/error.h"
#include "server/handlers/webhook_config.h"

namespace carillon::server {

// The idempotency key of a job, "" if it has none. Without this function the Message-ID is made of the job's id.
using KeyOf = std::function<std::string(const RunningJob&)>;

// Errors: invalid_configuration.
Result<Handler> make_email_handler(const EmailConfig& config, KeyOf key_of = {});

}  // namespace carillon::server
