// A process that writes to a store until it is killed, and says through a pipe what it asked and what it was told.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace carillon::test {

struct WriterRequest {
  std::string path;
  unsigned long seed = 1;
  int pipe = -1;  // where the lines of its ledger go
};

// Whether this program was started as such a process.
std::optional<WriterRequest> writer_request(int argc, char** argv);
int write_until_killed(const WriterRequest& request);

// Starts this program again with the request.
pid_t start_writer(const WriterRequest& request);

}  // namespace carillon::test
