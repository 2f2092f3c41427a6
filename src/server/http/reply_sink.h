// Replies that any thread may hold, even when connection and server are gone.
#pragma once

#include <cstdint>
#include <memory>

#include "server/http/budget.h"
#include "server/http/mail.h"
#include "server/http/reply.h"

namespace carillon::server {

struct ReplyAddress {
  std::shared_ptr<NetMailbox> mailbox;
  std::weak_ptr<Connection> connection;
  std::shared_ptr<ClientLink> link;
  std::size_t unsent_max = 0;
  std::shared_ptr<Budget> budget;
  std::shared_ptr<Account> account;  // on which the answer is
  std::uint64_t number = 0;
};

Reply make_reply(ReplyAddress address);

}  // namespace carillon::server
