#include "server/http/mail.h"

namespace carillon::server {

void let_go(Mail& mail) {
  if (const auto* const gone = std::get_if<GoneMail>(&mail.content)) gone->gone();
  if (const auto* const made = std::get_if<MakeMail>(&mail.content)) made->make();
}

std::vector<Mail> NetMailbox::close() {
  std::vector<Mail> left = mail_.close();
  net_thread_ = std::thread::id();  // the system may give its number to another
  return left;
}

}  // namespace carillon::server
