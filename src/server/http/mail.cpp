#include "server/http/mail.h"

#include <utility>

namespace carillon::server {

void let_go(Mail& mail) {
  if (const auto* const gone = std::get_if<GoneMail>(&mail.content)) gone->gone();
  if (const auto* const made = std::get_if<MakeMail>(&mail.content)) made->make();
}

bool Mailbox::post(Mail mail) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return false;
  mail_.push_back(std::move(mail));
  if (mail_.size() == 1) wake_();
  return true;
}

std::vector<Mail> Mailbox::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(mail_, {});
}

std::vector<Mail> Mailbox::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  net_thread_ = std::thread::id();  // the system may give its number to another
  return std::exchange(mail_, {});
}

}  // namespace carillon::server
