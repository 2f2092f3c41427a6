#include "server/handlers/email_handler.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/check.h"
#include "base/clock.h"
#include "server/handlers/curl_ready.h"
#include "server/handlers/email_address.h"
#include "server/handlers/email_message.h"
#include "server/handlers/plain_text.h"
#include "server/handlers/template_text.h"

namespace carillon::server {

namespace {

constexpr std::size_t kSubjectBytesMax = 1000;
constexpr std::size_t kReplyBytesMax = 500;
constexpr std::size_t kPasswordBytesMax = 4096;

struct EmailPlan {
  EmailConfig config;
  EmailAddress from;
  AddressTemplate to;
  AddressTemplate cc;
  TemplateText subject;
  TemplateText text;
  TemplateText html;
  KeyOf key_of;
};

std::unexpected<Error> refuse(std::string_view why) {
  return invalid_configuration(fmt::format("cannot make an email handler: {}", why));
}

template <typename T>
Result<T> named(std::string_view field, Result<T> result) {
  if (!result) return std::unexpected(with_context(field, std::move(result).error()));
  return result;
}

Result<void> check_server(const EmailConfig& config) {
  const bool implicit_tls = config.smtp.starts_with("smtps://");
  if (!implicit_tls && !config.smtp.starts_with("smtp://")) {
    return refuse(fmt::format("smtp must be smtp://HOST:PORT or smtps://HOST:PORT, not {}", quoted(config.smtp)));
  }
  const std::string rest = config.smtp.substr(config.smtp.find("://"));
  const auto server = parse_http_url("http" + rest);
  if (!server) {
    return refuse(
        fmt::format("smtp must be smtp://HOST:PORT or smtps://HOST:PORT, without a user, not {}", quoted(config.smtp)));
  }
  const bool is_loopback = server->literal && reserved_for(*server->literal) == "loopback";
  const bool surely_tls = implicit_tls || config.starttls == EmailConfig::StartTls::require;
  if (!config.user.empty() && !surely_tls && !is_loopback) {
    return refuse("a login needs smtps:// or starttls = \"require\": the password could be read on the way");
  }
  if (config.user.empty() != config.password_file.empty()) return refuse("user and password_file belong together");
  if (config.timeout <= Duration::zero()) return refuse("timeout must be longer than nothing");
  return {};
}

Result<EmailPlan> plan_of(const EmailConfig& config, KeyOf key_of) {
  TRY(check_server(config));
  EmailPlan plan{.config = config, .from = {}, .to = {}, .cc = {}, .subject = {}, .text = {}, .html = {}, .key_of = {}};
  plan.key_of = std::move(key_of);
  auto from = parse_email_address(config.from);
  if (!from) return refuse(fmt::format("from: {}", from.error().message));
  plan.from = *std::move(from);
  if (config.to.empty()) return refuse("to must be given");
  if (config.text.empty() && config.html.empty()) return refuse("text or html must be given");
  const auto gives = [](bool list) { return list ? AddressTemplate::Gives::several : AddressTemplate::Gives::one; };
  TRY_ASSIGN(plan.to, named("to", AddressTemplate::parse(config.to, gives(config.to_list))));
  TRY_ASSIGN(plan.cc, named("cc", AddressTemplate::parse(config.cc, gives(config.cc_list))));
  TRY_ASSIGN(plan.subject, named("subject", TemplateText::parse(config.subject)));
  TRY_ASSIGN(plan.text, named("text", TemplateText::parse(config.text)));
  TRY_ASSIGN(plan.html, named("html", TemplateText::parse(config.html)));
  return plan;
}

// ---- What to send ---------------------------------------------------------------------------------------------------

Outcome unusable(std::string_view field, const Error& error) {
  // Templates say invalid_configuration: a value that is not there.
  const bool missing = error.code == ErrorCode::invalid_configuration;
  return permanent(fmt::format("cannot write the mail's {}: {}", field, error.message),
                   missing ? "template" : "address");
}

Outcome injected(std::string_view field) {
  return permanent(fmt::format("the mail's {} has a line end or a control character: it is not sent", field),
                   "header_injection");
}

std::optional<Outcome> render_addresses(const AddressTemplate& from, const TemplateScope& scope, std::string_view field,
                                        std::vector<EmailAddress>& into) {
  if (from.breaks_headers(scope)) return injected(field);
  auto addresses = from.render(scope);
  if (!addresses) return unusable(field, addresses.error());
  into = *std::move(addresses);
  return std::nullopt;
}

std::optional<Outcome> render_body(const TemplateText& from, const TemplateScope& scope, TemplateText::Escape escape,
                                   std::string& into) {
  auto body = from.render(scope, escape);
  if (!body) return unusable("body", body.error());
  into = *std::move(body);
  return std::nullopt;
}

// Fills it in; what is returned is why that cannot be.
std::optional<Outcome> fill_in(const EmailPlan& plan, const TemplateScope& scope, EmailMessage& message) {
  message.from = plan.from;
  if (auto bad = render_addresses(plan.to, scope, "to", message.to)) return bad;
  if (auto bad = render_addresses(plan.cc, scope, "cc", message.cc)) return bad;
  if (message.to.empty()) return permanent("the mail has nobody to go to", "address");
  auto subject = plan.subject.render(scope);
  if (!subject) return unusable("subject", subject.error());
  if (breaks_headers(*subject)) return injected("subject");
  if (subject->size() > kSubjectBytesMax) {
    return permanent(fmt::format("the mail's subject may have {} bytes", kSubjectBytesMax), "template");
  }
  message.subject = *std::move(subject);
  if (auto bad = render_body(plan.text, scope, TemplateText::Escape::none, message.text)) return bad;
  if (auto bad = render_body(plan.html, scope, TemplateText::Escape::html, message.html)) return bad;
  std::string key = plan.key_of ? plan.key_of(scope.job()) : std::string();
  // A key and an id never look the same.
  key = key.empty() ? "id:" + format_job_id(scope.job().id) : "key:" + key;
  message.message_id =
      message_id_of({.tenant = scope.job().tenant, .type = scope.job().type, .key = key}, message.from);
  message.date = system_now();
  return std::nullopt;
}

// ---- Sending it -----------------------------------------------------------------------------------------------------

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
  const JobContext* context = nullptr;
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
  return static_cast<Sending*>(user)->context->cancelled() ? 1 : 0;
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

Outcome send(const EmailPlan& plan, const EmailMessage& message, const JobContext& context) {
  const EmailConfig& config = plan.config;
  const std::unique_ptr<CURL, FreeEasy> easy(curl_easy_init());
  CHECK(easy != nullptr);
  const auto set = [&](CURLoption option, auto value) {
    CHECK(curl_easy_setopt(easy.get(), option, value) == CURLE_OK);
  };
  const std::string text = write_email(message);
  Sending sending{.left = text, .reply = {}, .context = &context};

  set(CURLOPT_URL, config.smtp.c_str());
  set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(config.timeout).count()));
  long tls = CURLUSESSL_NONE;
  if (config.starttls == EmailConfig::StartTls::attempt) tls = CURLUSESSL_TRY;
  if (config.starttls == EmailConfig::StartTls::require) tls = CURLUSESSL_ALL;
  set(CURLOPT_USE_SSL, tls);
  if (!config.ca_file.empty()) set(CURLOPT_CAINFO, config.ca_file.c_str());
  if (!config.user.empty()) {
    const auto password = read_password(config.password_file);
    if (!password) return fail(password.error().message, "login");
    set(CURLOPT_USERNAME, config.user.c_str());
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

// Says to JobContext::once that the mail was not sent.
class NotSent : public std::runtime_error {
 public:
  NotSent() : std::runtime_error("the mail was not sent") {}
};

Outcome handle(const EmailPlan& plan, JobContext& context) {
  EmailMessage message;
  if (auto bad = fill_in(plan, {context.job(), context.payload()}, message)) return *std::move(bad);
  Outcome outcome = done();
  try {
    context.once("email:" + format_job_id(context.job().id), [&] {
      outcome = send(plan, message, context);
      if (outcome.kind != Outcome::Kind::done) throw NotSent();
    });
  } catch (const NotSent&) {
    return outcome;
  }
  return done(fmt::format(R"({{"message_id":"{}"}})", message.message_id));
}

}  // namespace

Result<Handler> make_email_handler(const EmailConfig& config, KeyOf key_of) {
  prepare_curl();
  TRY_ASSIGN(EmailPlan plan, plan_of(config, std::move(key_of)));
  return [shared = std::make_shared<const EmailPlan>(std::move(plan))](JobContext& context) -> Outcome {
    return handle(*shared, context);
  };
}

}  // namespace carillon::server
