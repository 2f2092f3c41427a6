#include "server/http/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cctype>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "server/http/chunked_body.h"
#include "server/http/target.h"

namespace carillon::server {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t kHeadersMax = 100;
constexpr std::size_t kEmptyLinesMax = 2;                      // before a request
constexpr std::size_t kBodyBelieved = std::size_t{64} * 1024;  // of a body, so that its Content-Length is believed

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string_view to_view(beast::string_view text) { return {text.data(), text.size()}; }

std::optional<Method> to_method(http::verb verb) {
  switch (verb) {
    case http::verb::get: return Method::get;
    case http::verb::head: return Method::head;
    case http::verb::post: return Method::post;
    case http::verb::put: return Method::put;
    case http::verb::patch: return Method::patch;
    case http::verb::delete_: return Method::remove;
    case http::verb::options: return Method::options;
    default: return std::nullopt;
  }
}

bool is_host(std::string_view host) {
  return std::ranges::all_of(host, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-._~:[]%!$&'()*+;=").find(static_cast<char>(c)) != std::string::npos;
  });
}

// The head of one request. The library finds the parts; what they may be is decided here.
class Parser final : public http::basic_parser<true> {
 public:
  Parser() {
    header_limit(std::numeric_limits<std::uint32_t>::max());  // the head was measured before
    body_limit(boost::none);
  }

  HttpRequest& request() { return request_; }
  bool is_http_1_0() const { return http_1_0_; }
  bool expects_continue() const { return expects_continue_; }
  // Set whenever parsing ended with an error that was found here.
  std::optional<Refusal>& refusal() { return refusal_; }

 private:
  void on_request_impl(http::verb verb, beast::string_view name, beast::string_view target, int version,
                       beast::error_code& ec) override {
    http_1_0_ = version == 10;
    const std::optional<Method> method = to_method(verb);
    if (!method) {
      return refuse({.status = 501,
                     .code = "method_not_supported",
                     .message = fmt::format("method {}: expected GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS",
                                            quoted(to_view(name)))},
                    ec);
    }
    request_.method = *method;
    Result<Target> parsed = server::parse_target(to_view(target));
    if (!parsed) return refuse({.message = std::move(parsed).error().message}, ec);
    if (parsed->path == "*" && method != Method::options) {
      return refuse({.message = "target \"*\": allowed for OPTIONS only"}, ec);
    }
    request_.path = std::move(parsed->path);
    request_.segments = std::move(parsed->segments);
    request_.query = std::move(parsed->query);
  }

  void on_response_impl(int /*code*/, beast::string_view /*reason*/, int /*version*/,
                        beast::error_code& /*ec*/) override {
    UNREACHABLE();
  }

  void on_field_impl(http::field /*field*/, beast::string_view name, beast::string_view value,
                     beast::error_code& ec) override {
    if (request_.headers.size() == kHeadersMax) {
      return refuse(
          {.status = 431, .code = "head_too_large", .message = fmt::format("more than {} headers", kHeadersMax)}, ec);
    }
    request_.headers.push_back({.name = lower_case(to_view(name)), .value = std::string(to_view(value))});
  }

  void on_header_impl(beast::error_code& ec) override {
    std::size_t hosts = 0;
    std::size_t lengths = 0;
    std::size_t encodings = 0;
    for (const HttpHeader& header : request_.headers) {
      if (header.name == "host") {
        ++hosts;
        if (!is_host(header.value)) return refuse({.message = fmt::format("Host {}", quoted(header.value))}, ec);
      } else if (header.name == "content-length") {
        ++lengths;
        if (header.value.empty() || !std::ranges::all_of(header.value, [](char c) { return c >= '0' && c <= '9'; })) {
          return refuse({.message = fmt::format("Content-Length {}: expected digits", quoted(header.value))}, ec);
        }
      } else if (header.name == "transfer-encoding") {
        ++encodings;
        if (lower_case(header.value) != "chunked") {
          return refuse(
              {.status = 501,
               .code = "transfer_encoding_not_supported",
               .message = fmt::format("Transfer-Encoding {}: only chunked is understood", quoted(header.value))},
              ec);
        }
      } else if (header.name == "expect") {
        if (lower_case(header.value) != "100-continue") {
          return refuse({.status = 417,
                         .code = "expectation_failed",
                         .message = fmt::format("Expect {}: only 100-continue is understood", quoted(header.value))},
                        ec);
        }
        expects_continue_ = !http_1_0_;
      }
    }
    if (hosts > 1) return refuse({.message = "more than one Host header"}, ec);
    if (hosts == 0 && !http_1_0_) return refuse({.message = "no Host header, which HTTP/1.1 demands"}, ec);
    if (lengths > 1) return refuse({.message = "more than one Content-Length header"}, ec);
    if (encodings > 1) return refuse({.message = "more than one Transfer-Encoding header"}, ec);
    if (lengths + encodings > 1) return refuse({.message = "Content-Length together with Transfer-Encoding"}, ec);
    if (encodings > 0 && http_1_0_) return refuse({.message = "Transfer-Encoding in HTTP/1.0"}, ec);
  }

  // Bodies are read by others.
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/, beast::error_code& /*ec*/) override {
    UNREACHABLE();
  }
  std::size_t on_body_impl(beast::string_view /*text*/, beast::error_code& /*ec*/) override { UNREACHABLE(); }
  void on_chunk_header_impl(std::uint64_t /*size*/, beast::string_view /*extensions*/,
                            beast::error_code& /*ec*/) override {
    UNREACHABLE();
  }
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, beast::string_view /*text*/,
                                 beast::error_code& /*ec*/) override {
    UNREACHABLE();
  }
  void on_finish_impl(beast::error_code& /*ec*/) override {}

  void refuse(Refusal refusal, beast::error_code& ec) {
    refusal_ = std::move(refusal);
    ec = http::error::bad_value;
  }
  HttpRequest request_;
  std::optional<Refusal> refusal_;
  bool http_1_0_ = false;
  bool expects_continue_ = false;
};

// Whether the request line ends like one of another version.
bool names_a_version(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\r'));
  if (line.size() < 9 || std::ranges::count(line, ' ') != 2) return false;
  const std::string_view version = line.substr(line.size() - 9);
  return version.starts_with(" HTTP/") && std::isdigit(static_cast<unsigned char>(version[6])) != 0 &&
         version[7] == '.' && std::isdigit(static_cast<unsigned char>(version[8])) != 0;
}

Refusal refusal_of(const beast::error_code& ec, std::string_view head) {
  if (ec == http::error::bad_version && names_a_version(head)) {
    return {.status = 505, .code = "version_not_supported", .message = "HTTP/1.1 and HTTP/1.0 are understood"};
  }
  if (ec == http::error::bad_version) return {.message = "request line: expected HTTP/1.1 or HTTP/1.0 at its end"};
  if (ec == http::error::bad_method) return {.message = "request line: expected a method at its start"};
  if (ec == http::error::bad_target) return {.message = "request line: expected a path behind the method"};
  if (ec == http::error::bad_field) return {.message = "header: expected a name, a colon and a value"};
  if (ec == http::error::bad_content_length || ec == http::error::multiple_content_length ||
      ec == http::error::bad_transfer_encoding) {
    return {.message = "Content-Length and Transfer-Encoding: expected at most one of them, once"};
  }
  return {.message = fmt::format("not a valid HTTP request: {}", ec.message())};
}

}  // namespace

class RequestReader::Impl {
 public:
  explicit Impl(std::size_t head_max) : head_max_(head_max) {}

  void append(std::string_view bytes) {
    input_.erase(0, at_);
    at_ = 0;
    input_.append(bytes);
  }

  Step next() {
    const Step step = advance();
    if (at_ == input_.size()) {
      std::string().swap(input_);
      at_ = 0;
    }
    return step;
  }

  void drop() {
    std::string().swap(input_);
    at_ = 0;
    parser_.reset();
    chunks_.reset();
  }

  HttpRequest take() {
    CHECK(parser_ && phase_ == Phase::between);
    HttpRequest request = std::move(parser_->request());
    parser_.reset();
    return request;
  }

  std::optional<Parser>& parser() { return parser_; }
  void allow_body(std::size_t body_max) { body_max_ = body_max; }
  const Refusal& refusal() const {
    CHECK(refusal_);
    return *refusal_;
  }
  Phase phase() const { return phase_; }
  std::size_t unread() const { return input_.size() - at_; }

 private:
  Step advance() {
    if (refusal_) return Step::refused;
    if (phase_ == Phase::body) return read_body();
    if (phase_ == Phase::between && !begin_head()) return Step::need_more;
    return read_head();
  }

  // Skips empty lines before a request; false if nothing else is there.
  bool begin_head() {
    std::string_view rest = std::string_view(input_).substr(at_);
    while (empty_lines_ < kEmptyLinesMax && rest.starts_with("\r\n")) {
      rest.remove_prefix(2);
      at_ += 2;
      ++empty_lines_;
    }
    if (rest.empty() || (rest == "\r" && empty_lines_ < kEmptyLinesMax)) return false;
    empty_lines_ = 0;
    phase_ = Phase::head;
    scanned_ = 0;
    line_start_ = 0;
    return true;
  }

  Step read_head() {
    while (true) {
      if (at_ + scanned_ == input_.size()) return need_more_head();
      if (scanned_ >= head_max_) return refuse_head();
      if (scan_character()) break;
      if (refusal_) return Step::refused;
    }
    const std::string_view head = std::string_view(input_).substr(at_, scanned_);
    parser_.emplace();
    beast::error_code ec;
    const std::size_t used = parser_->put(boost::asio::const_buffer(head.data(), head.size()), ec);
    if (ec) return refuse(parser_->refusal() ? *std::move(parser_->refusal()) : refusal_of(ec, head));
    CHECK(used == head.size() && parser_->is_header_done());
    at_ += used;
    phase_ = Phase::body;
    body_max_ = 0;
    return Step::head;
  }

  Step need_more_head() { return scanned_ >= head_max_ ? refuse_head() : Step::need_more; }
  Step refuse_head() {
    return refuse({.status = 431,
                   .code = "head_too_large",
                   .message = fmt::format("request line and headers: more than {} bytes", head_max_)});
  }

  // Looks at one more character of the head; true if it is the last one.
  bool scan_character() {
    const std::string_view head = std::string_view(input_).substr(at_);
    const char c = head[scanned_];
    const bool after_return = scanned_ > line_start_ && head[scanned_ - 1] == '\r';
    if (after_return != (c == '\n')) {
      refuse({.message = "head: a line must end with CR and LF, which stand nowhere else"});
      return false;
    }
    if (c == '\n') {
      const bool empty = scanned_ == line_start_ + 1;
      ++scanned_;
      if (empty && line_start_ == 0) refuse({.message = "request line: it is empty"});
      line_start_ = scanned_;
      return empty && !refusal_;
    }
    if (c != '\r' && c != '\t' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) {
      refuse({.message = "head: control characters are not allowed"});
    } else if ((c == ' ' || c == '\t') && scanned_ == line_start_) {
      refuse({.message = "head: a line must not begin with a space; headers cannot be folded"});
    }
    ++scanned_;
    return false;
  }

  Step read_body() {
    std::string_view rest = std::string_view(input_).substr(at_);
    const std::size_t before = rest.size();
    const Step step = parser_->chunked() ? read_chunks(rest) : read_length(rest);
    at_ += before - rest.size();
    if (step == Step::request) {
      phase_ = Phase::between;
      chunks_.reset();
    }
    return step;
  }

  Step read_length(std::string_view& rest) {
    const std::uint64_t length = parser_->content_length().value_or(0);
    if (length > body_max_) return refuse_body();
    std::string& body = parser_->request().body;
    const std::size_t part = std::min<std::uint64_t>(length - body.size(), rest.size());
    const std::size_t needed = body.size() + part;
    if (needed > body.capacity()) {
      // Once so much has come the rest is believed: growing step by step would take twice the room.
      body.reserve(body.size() >= kBodyBelieved ? length : std::min<std::uint64_t>(length, 2 * needed));
    }
    body.append(rest.substr(0, part));
    rest.remove_prefix(part);
    return body.size() == length ? Step::request : Step::need_more;
  }

  Step read_chunks(std::string_view& rest) {
    if (!chunks_) chunks_.emplace(body_max_);
    switch (chunks_->read(rest, parser_->request().body)) {
      case ChunkedBody::Step::need_more: return Step::need_more;
      case ChunkedBody::Step::done: return Step::request;
      case ChunkedBody::Step::malformed: return refuse({.message = fmt::format("chunked body: {}", chunks_->reason())});
      case ChunkedBody::Step::too_large: return refuse_body();
    }
    UNREACHABLE();
  }

  Step refuse_body() {
    return refuse({.status = 413,
                   .code = "body_too_large",
                   .message = fmt::format("body: at most {} bytes are allowed here", body_max_)});
  }

  Step refuse(Refusal refusal) {
    refusal_ = std::move(refusal);
    return Step::refused;
  }

  std::size_t head_max_;
  std::string input_;
  std::size_t at_ = 0;          // what stands before it was used
  std::size_t scanned_ = 0;     // of the head, from `at_`
  std::size_t line_start_ = 0;  // of the line that is being scanned, from `at_`
  std::size_t empty_lines_ = 0;
  Phase phase_ = Phase::between;
  std::optional<Parser> parser_;
  std::size_t body_max_ = 0;
  std::optional<ChunkedBody> chunks_;
  std::optional<Refusal> refusal_;
};

RequestReader::RequestReader(std::size_t head_max) : impl_(std::make_unique<Impl>(head_max)) {}
RequestReader::~RequestReader() = default;

void RequestReader::append(std::string_view bytes) { impl_->append(bytes); }
RequestReader::Step RequestReader::next() { return impl_->next(); }
HttpRequest& RequestReader::head() { return impl_->parser()->request(); }
void RequestReader::allow_body(std::size_t body_max) { impl_->allow_body(body_max); }
bool RequestReader::has_body() const { return !impl_->parser()->is_done(); }
std::optional<std::uint64_t> RequestReader::body_length() const {
  if (impl_->parser()->chunked()) return std::nullopt;
  return impl_->parser()->content_length().value_or(0);
}
bool RequestReader::expects_continue() const { return impl_->parser()->expects_continue(); }
bool RequestReader::keep_alive() const { return impl_->parser()->keep_alive(); }
bool RequestReader::is_http_1_0() const { return impl_->parser()->is_http_1_0(); }
HttpRequest RequestReader::take() { return impl_->take(); }
void RequestReader::drop() { impl_->drop(); }
const Refusal& RequestReader::refusal() const { return impl_->refusal(); }
RequestReader::Phase RequestReader::phase() const { return impl_->phase(); }
std::size_t RequestReader::unread() const { return impl_->unread(); }

}  // namespace carillon::server
