// `carillon serve` in its own process, on a free port of loopback, with its own folder and key. The program
// lies beside this one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "bench/loopback_http.h"

namespace carillon {

class ServerProcess {
 public:
  // Keeps its files in the folder, which must be there. Returns when it answers.
  explicit ServerProcess(const std::string& folder);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  // Ends it and waits for that.
  ~ServerProcess();

  const LoopbackTarget& target() const { return target_; }
  std::int64_t resident_bytes() const;

 private:
  void start(const std::string& folder);

  pid_t pid_ = -1;
  Descriptor output_;  // what it prints
  LoopbackTarget target_;
};

}  // namespace carillon
