// A mail server on loopback that keeps nothing, the npm package smtp-server: what arrives can be read.
#pragma once

#include <carillon/json.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "server/handlers/support/node_process.h"

namespace carillon::test {

class Sink {
 public:
  explicit Sink(const std::string& options = "{}") : node_("smtp_sink.mjs", options) {
    port_ = JsonValue::parse(node_.read_line()).value().at("port").as_int();
  }
  std::string url(std::string_view scheme = "smtp") const {
    return std::string(scheme) + "://127.0.0.1:" + std::to_string(port_);
  }
  // Waits for the next one.
  JsonValue mail() { return JsonValue::parse(node_.read_line()).value(); }

 private:
  NodeProcess node_;
  std::int64_t port_ = 0;
};

}  // namespace carillon::test
