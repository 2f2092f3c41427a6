#include "server/http/mail.h"

namespace carillon::server {

std::vector<Mail> NetMailbox::close() {
  std::vector<Mail> left = mail_.close();
  net_thread_ = std::thread::id();  // the system may give its number to another
  return left;
}

}  // namespace carillon::server
