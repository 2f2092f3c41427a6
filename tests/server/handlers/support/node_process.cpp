#include "server/handlers/support/node_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace carillon::test {

NodeProcess::NodeProcess(const std::string& script, const std::string& argument) {
  const std::string path = std::string(CARILLON_NODE_FOLDER) + "/" + script;
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  if (pipe2(to.data(), O_CLOEXEC) != 0 || pipe2(from.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  pid_ = fork();
  if (pid_ == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    execl(CARILLON_NODE, CARILLON_NODE, path.c_str(), argument.c_str(), nullptr);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  in_ = fdopen(to[1], "w");
  out_ = fdopen(from[0], "r");
}

NodeProcess::~NodeProcess() {
  std::fclose(in_);
  std::fclose(out_);
  waitpid(pid_, nullptr, 0);
}

void NodeProcess::write_line(const std::string& line) {
  std::fputs((line + "\n").c_str(), in_);
  std::fflush(in_);
}

std::string NodeProcess::read_line() {
  char* line = nullptr;
  std::size_t size = 0;
  const ssize_t got = getline(&line, &size, out_);
  std::string text = got > 0 ? std::string(line, static_cast<std::size_t>(got)) : std::string();
  std::free(line);  // NOLINT(*-no-malloc): getline's
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace carillon::test
