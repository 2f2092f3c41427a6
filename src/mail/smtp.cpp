#include "mail/smtp.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "base/plain_text.h"
#include "net/address_guard.h"
#include "net/curl_ready.h"

namespace carillon::mail {

namespace {

constexpr std::size_t kReplyBytesMax = 500;
constexpr std::size_t kPasswordBytesMax = 4096;

std::unexpected<Error> refuse(std::string_view why) {
  return invalid_configuration(fmt::format("cannot use a mail server: {}", why));
}

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

struct Sending {
  std::string_view left;
  std::string reply;  // the server's last refusal, else its last line
  const std::function<bool()>* cancelled = nullptr;
};

extern "C" {

static std::size_t give(char* into, std::size_t size, std::size_t count, void* user) {
  auto& sending = *static_cast<Sending*>(user);
  const std::size_t most = std::min(size * count, sending.left.size());
  std::memcpy(into, sending.left.data(), most);
  sending.left.remove_prefix(most);
  return most;
}

static std::size_t hear(char* data, std::size_t size, std::size_t count, void* user) {
  std::string_view line(data, size * count);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  std::string& reply = static_cast<Sending*>(user)->reply;
  const auto is_refusal = [](std::string_view text) { return text.starts_with('4') || text.starts_with('5'); };
  if (is_refusal(line) || !is_refusal(reply)) reply = line.substr(0, kReplyBytesMax);
  return size * count;
}

static int look(void* user, curl_off_t /*to_get*/, curl_off_t /*got*/, curl_off_t /*to_send*/, curl_off_t /*sent*/) {
  return (*static_cast<Sending*>(user)->cancelled)() ? 1 : 0;
}

}  // extern "C"

Result<std::string> read_password(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string password(kPasswordBytesMax, '\0');
  in.read(password.data(), static_cast<std::streamsize>(password.size()));
  password.resize(static_cast<std::size_t>(in.gcount()));
  if (!in.eof() || password.empty()) {
    return failed(ErrorCode::unavailable,
                  fmt::format("cannot read the password of the mail server in {}", quoted(file)));
  }
  while (!password.empty() && (password.back() == '\n' || password.back() == '\r')) password.pop_back();
  return password;
}

Outcome outcome_of(CURLcode code, long reply_code, const Sending& sending) {
  if (code == CURLE_OK) return done();
  std::string why = fmt::format("cannot send the mail: {}", curl_easy_strerror(code));
  if (!sending.reply.empty()) why += fmt::format("; the server said: {}", plain_text(sending.reply));
  switch (code) {
    case CURLE_ABORTED_BY_CALLBACK: return fail("sending the mail was cut off", "cancelled");
    case CURLE_OPERATION_TIMEDOUT: return timed_out(std::move(why));
    case CURLE_LOGIN_DENIED: return fail(std::move(why), "login");
    case CURLE_USE_SSL_FAILED:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE: return fail(std::move(why), "tls");
    default: break;
  }
  if (reply_code >= 500 && reply_code < 600) return permanent(std::move(why), "smtp_5xx");
  if (reply_code >= 400 && reply_code < 500) return fail(std::move(why), "smtp_4xx");
  return fail(std::move(why), "unreachable");
}

}  // namespace

Result<void> check_server(const MailServer& server) {
  const bool implicit_tls = server.smtp.starts_with("smtps://");
  if (!implicit_tls && !server.smtp.starts_with("smtp://")) {
    return refuse(fmt::format("smtp must be smtp://HOST:PORT or smtps://HOST:PORT, not {}", quoted(server.smtp)));
  }
  const std::string rest = server.smtp.substr(server.smtp.find("://"));
  const auto parsed = parse_http_url("http" + rest);
  if (!parsed) {
    return refuse(
        fmt::format("smtp must be smtp://HOST:PORT or smtps://HOST:PORT, without a user, not {}", quoted(server.smtp)));
  }
  const bool is_loopback = parsed->literal && reserved_for(*parsed->literal) == "loopback";
  const bool surely_tls = implicit_tls || server.starttls == StartTls::require;
  if (!server.user.empty() && !surely_tls && !is_loopback) {
    return refuse("a login needs smtps:// or starttls = \"require\": the password could be read on the way");
  }
  if (server.user.empty() != server.password_file.empty()) return refuse("user and password_file belong together");
  if (server.timeout <= Duration::zero()) return refuse("timeout must be longer than nothing");
  return {};
}

Outcome send_mail(const MailServer& server, const EmailMessage& message, const std::function<bool()>& cancelled) {
  prepare_curl();
  const std::unique_ptr<CURL, FreeEasy> easy(curl_easy_init());
  CHECK(easy != nullptr);
  const auto set = [&](CURLoption option, auto value) {
    CHECK(curl_easy_setopt(easy.get(), option, value) == CURLE_OK);
  };
  const std::string text = write_email(message);
  Sending sending{.left = text, .reply = {}, .cancelled = &cancelled};

  set(CURLOPT_URL, server.smtp.c_str());
  set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(server.timeout).count()));
  long tls = CURLUSESSL_NONE;
  if (server.starttls == StartTls::attempt) tls = CURLUSESSL_TRY;
  if (server.starttls == StartTls::require) tls = CURLUSESSL_ALL;
  set(CURLOPT_USE_SSL, tls);
  if (!server.ca_file.empty()) set(CURLOPT_CAINFO, server.ca_file.c_str());
  if (!server.user.empty()) {
    const auto password = read_password(server.password_file);
    if (!password) return fail(password.error().message, "login");
    set(CURLOPT_USERNAME, server.user.c_str());
    set(CURLOPT_PASSWORD, password->c_str());
  }
  set(CURLOPT_MAIL_FROM, fmt::format("<{}>", message.from.address).c_str());
  List recipients;
  for (const auto* const list : {&message.to, &message.cc}) {
    for (const EmailAddress& address : *list) {
      curl_slist* const longer = curl_slist_append(recipients.get(), fmt::format("<{}>", address.address).c_str());
      CHECK(longer != nullptr);
      [[maybe_unused]] const curl_slist* const same = recipients.release();
      recipients.reset(longer);
    }
  }
  set(CURLOPT_MAIL_RCPT, recipients.get());
  set(CURLOPT_UPLOAD, 1L);
  set(CURLOPT_READFUNCTION, &give);
  set(CURLOPT_READDATA, &sending);
  set(CURLOPT_HEADERFUNCTION, &hear);
  set(CURLOPT_HEADERDATA, &sending);
  set(CURLOPT_XFERINFOFUNCTION, &look);
  set(CURLOPT_XFERINFODATA, &sending);
  set(CURLOPT_NOPROGRESS, 0L);

  const CURLcode code = curl_easy_perform(easy.get());
  long reply_code = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &reply_code);
  return outcome_of(code, reply_code, sending);
}

}  // namespace carillon::mail
