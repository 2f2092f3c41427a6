// Replies that any thread may hold, even when connection and server are gone.
#pragma once

#include <cstdint>
#include <memory>

#include "server/http/mail.h"
#include "server/http/reply.h"

namespace carillon::server {

struct ReplyAddress {
  std::shared_ptr<Mailbox> mailbox;
  std::weak_ptr<Connection> connection;
  std::shared_ptr<Unsent> unsent;
  std::size_t unsent_max = 0;
  std::uint64_t number = 0;
};

Reply make_reply(ReplyAddress address);

}  // namespace carillon::server
