#include "engine_process/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>

namespace carillon::test {

namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {.read_end = ends[0], .write_end = ends[1]};
}

}  // namespace

WorkerProcess::WorkerProcess(const std::vector<std::string>& words) {
  const Pipe in = make_pipe();
  const Pipe out = make_pipe();
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read_end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, STDOUT_FILENO);

  std::vector<std::string> arguments{"engine_worker"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const int failed = posix_spawn(&process_, CARILLON_ENGINE_WORKER, &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in.read_end);
  close(out.write_end);
  if (failed != 0) throw std::runtime_error("cannot start engine_worker");
  input_ = in.write_end;
  output_ = out.read_end;
}

WorkerProcess::~WorkerProcess() {
  kill_now();
  close(input_);
  close(output_);
}

void WorkerProcess::signal(int number) const { kill(process_, number); }

void WorkerProcess::send_byte() const {
  if (write(input_, "x", 1) != 1) throw std::runtime_error("engine_worker does not read");
}

std::optional<int> WorkerProcess::wait_for_end(std::chrono::milliseconds at_most) {
  wait_until(
      [&] {
        if (ended_) return true;
        int status = 0;
        if (waitpid(process_, &status, WNOHANG) != process_) return false;
        ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        return true;
      },
      at_most);
  return ended_;
}

void WorkerProcess::kill_now() {
  if (ended_) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  ended_ = -1;
}

std::string WorkerProcess::read_all() const {
  std::string text;
  std::array<char, 65536> bytes{};
  while (true) {
    const auto count = read(output_, bytes.data(), bytes.size());
    if (count <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

void pass(std::chrono::milliseconds time) { poll(nullptr, 0, static_cast<int>(time.count())); }

}  // namespace carillon::test
