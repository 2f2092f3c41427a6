#include "durability/writer_process.h"

#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "durability/common_commits.h"
#include "durability/load.h"
#include "store/sqlite/sqlite_store.h"

namespace carillon::test {

namespace {

constexpr std::string_view kFlag = "--write-until-killed";
constexpr unsigned long kThreads = 3;

}  // namespace

std::optional<WriterRequest> writer_request(int argc, char** argv) {
  if (argc != 5 || argv[1] != kFlag) return std::nullopt;
  return WriterRequest{.path = argv[2], .seed = std::stoul(argv[3]), .pipe = std::stoi(argv[4])};
}

int write_until_killed(const WriterRequest& request) {
  // Lines are shorter than what a pipe takes as a whole, so the last one is never cut.
  const auto say = [&](const std::string& line) {
    if (write(request.pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(3);
  };
  auto store = open_sqlite({.path = request.path});
  if (!store) {
    say("surprise " + store.error().message + "\n");
    return 2;
  }
  Ledger ledger;
  ledger.echo_to(say);
  CommonCommits commits(**store);
  std::vector<std::jthread> threads;
  for (unsigned long t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Load load((*store)->jobs(), through(commits), ledger,
                {.seed = request.seed * kThreads + t, .name = fmt::format("worker-{}", t), .payload_bytes_max = 3000});
      while (load.step()) {
      }
    });
  }
  return 0;
}

pid_t start_writer(const WriterRequest& request) {
  const std::string self = "/proc/self/exe";
  std::array<std::string, 5> arguments{"durability_test", std::string(kFlag), request.path,
                                       std::to_string(request.seed), std::to_string(request.pipe)};
  std::array<char*, 6> pointers{};
  for (std::size_t i = 0; i < arguments.size(); ++i) pointers[i] = arguments[i].data();
  pid_t process = 0;
  if (posix_spawn(&process, self.c_str(), nullptr, nullptr, pointers.data(), environ) != 0) {
    throw std::runtime_error("cannot start the writer");
  }
  return process;
}

}  // namespace carillon::test
