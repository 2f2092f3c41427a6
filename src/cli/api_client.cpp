#include "cli/api_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "carillon/version.h"

namespace carillon {

namespace {

constexpr std::size_t kBodyBytesMax = std::size_t{256} << 20;
constexpr long kConnectMs = 10'000;
constexpr long kSilenceSeconds = 60;

struct FreeHeaders {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Headers = std::unique_ptr<curl_slist, FreeHeaders>;

void append(Headers& headers, const std::string& line) {
  curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
  CHECK(longer != nullptr);
  [[maybe_unused]] curl_slist* const same_list = headers.release();
  headers.reset(longer);
}

// A proxy of the environment must not see what is meant for this machine.
bool is_on_this_machine(std::string_view server) {
  const std::string_view host = server.substr(server.find("://") + 3);
  return host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
}

}  // namespace

// One handle, which keeps its connection from request to request.
class ApiClient::Transfer {
 public:
  Transfer() : handle_(make_handle()) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() { curl_easy_cleanup(handle_); }

  CliResult<ApiResponse> run(const Options& options, const ApiRequest& request, const Take* take) {
    response_ = {};
    take_ = take;
    taker_is_done_ = false;
    is_too_long_ = false;
    curl_easy_reset(handle_);
    const Headers headers = make_headers(options, request);
    prepare(options, request);
    set(CURLOPT_HTTPHEADER, headers.get());

    const CURLcode code = curl_easy_perform(handle_);
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &response_.status);
    if (taker_is_done_) return std::move(response_);
    if (is_too_long_) {
      return cli_error(ExitCode::failed, fmt::format("{} {}: the answer is longer than {} MiB", request.method,
                                                     options.server + request.path, kBodyBytesMax >> 20));
    }
    if (code == CURLE_OK) return std::move(response_);
    const std::string why = error_.front() == '\0' ? curl_easy_strerror(code) : error_.data();
    return cli_error(ExitCode::unreachable, fmt::format("cannot reach {}: {}", options.server, why));
  }

 private:
  static CURL* make_handle() {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    CHECK(started == CURLE_OK);
    CURL* const handle = curl_easy_init();
    CHECK(handle != nullptr);
    return handle;
  }

  template <typename Value>
  void set(CURLoption option, Value value) {
    CHECK(curl_easy_setopt(handle_, option, value) == CURLE_OK);
  }

  static Headers make_headers(const Options& options, const ApiRequest& request) {
    Headers headers;
    append(headers, "Accept: application/json, text/event-stream");
    append(headers, "Expect:");
    if (!request.body.empty()) append(headers, "Content-Type: " + request.type);
    if (!options.key.empty()) append(headers, "Authorization: Bearer " + options.key);
    for (const std::string& header : request.headers) append(headers, header);
    return headers;
  }

  void prepare(const Options& options, const ApiRequest& request) {
    error_.front() = '\0';
    set(CURLOPT_URL, (options.server + request.path).c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_ERRORBUFFER, error_.data());
    set(CURLOPT_USERAGENT, fmt::format("carillon/{}", version()).c_str());
    set(CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
    if (is_on_this_machine(options.server)) set(CURLOPT_PROXY, "");
    if (take_ == nullptr) {
      set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    } else {
      set(CURLOPT_LOW_SPEED_LIMIT, 1L);
      set(CURLOPT_LOW_SPEED_TIME, kSilenceSeconds);
    }
    if (request.method != "GET") {
      set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
      const bool has_body = !request.body.empty() || request.method != "DELETE";
      if (has_body) {
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        set(CURLOPT_POSTFIELDS, request.body.c_str());
      }
    }
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, this);
  }

  static std::size_t on_body(const char* data, std::size_t /*one*/, std::size_t size, void* self_pointer) {
    auto& self = *static_cast<Transfer*>(self_pointer);
    const std::string_view chunk(data, size);
    long status = 0;
    curl_easy_getinfo(self.handle_, CURLINFO_RESPONSE_CODE, &status);
    if (self.take_ != nullptr && status == 200) {
      if ((*self.take_)(chunk)) return size;
      self.taker_is_done_ = true;
      return 0;
    }
    if (self.response_.body.size() + size > kBodyBytesMax) {
      self.is_too_long_ = true;
      return 0;
    }
    self.response_.body += chunk;
    return size;
  }

  static std::size_t on_header(const char* data, std::size_t /*one*/, std::size_t size, void* self_pointer) {
    ApiResponse& response = static_cast<Transfer*>(self_pointer)->response_;
    const std::string_view line(data, size);
    const auto read = [line](std::string_view name, std::string& into) {
      if (line.size() <= name.size()) return;
      // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): both are compared as far as the name goes
      if (curl_strnequal(line.data(), name.data(), name.size()) == 0) return;
      std::string_view value = line.substr(name.size());
      value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
      into = value.substr(0, value.find_first_of("\r\n"));
    };
    read("retry-after:", response.retry_after);
    read("next-cursor:", response.next_cursor);
    return size;
  }

  CURL* handle_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  ApiResponse response_;
  const Take* take_ = nullptr;
  bool taker_is_done_ = false;
  bool is_too_long_ = false;
};

ApiClient::ApiClient(Options options) : options_(std::move(options)), transfer_(std::make_unique<Transfer>()) {}

ApiClient::~ApiClient() = default;

CliResult<ApiResponse> ApiClient::send(const ApiRequest& request) { return transfer_->run(options_, request, nullptr); }

CliResult<ApiResponse> ApiClient::stream(const std::string& path, const Take& take) {
  ApiRequest request;
  request.path = path;
  return transfer_->run(options_, request, &take);
}

}  // namespace carillon
