// One mail to one server, and what its answer means for the attempt.
#pragma once

#include <carillon/mail.h>
#include <carillon/outcome.h>

#include <functional>

#include "base/error.h"
#include "mail/message.h"

namespace carillon::mail {

// Whether it can be reached as it is configured: its URL, its login. Errors: invalid_configuration.
Result<void> check_server(const MailServer& server);

// Waits for the answer, unless `cancelled` says to stop. `server` was checked, `message` has what a mail may have.
Outcome send_mail(const MailServer& server, const EmailMessage& message, const std::function<bool()>& cancelled);

}  // namespace carillon::mail
