// A script of tests/server/node that is spoken to in lines. It ends with its input.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace carillon::test {

class NodeProcess {
 public:
  explicit NodeProcess(const std::string& script, const std::string& argument = "{}");
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;
  ~NodeProcess();

  void write_line(const std::string& line);
  // Waits for it. "": it has ended.
  std::string read_line();

 private:
  pid_t pid_ = -1;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
};

}  // namespace carillon::test
