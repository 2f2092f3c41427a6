// carillon-bench: what Carillon does per second, beside the raw limits of the same machine.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

#include "bench/benchmarks.h"

namespace carillon {

namespace {

struct Benchmark {
  const char* name;
  const char* description;
  Result<std::string> (*run)(const BenchRequest& request);
};

constexpr std::array kBenchmarks{
    Benchmark{.name = "store", .description = "Life cycles per second on SQLite, opening", .run = run_bench_store},
    Benchmark{.name = "engine",
              .description = "Jobs per second, pick-up, lateness, idle cost of the library",
              .run = run_bench_engine},
    Benchmark{.name = "schedules",
              .description = "Ticks, import and memory with subjects by the million; all due at once",
              .run = run_bench_schedules},
    Benchmark{.name = "server",
              .description = "Calls per second over HTTP on loopback, parked polls, slow clients",
              .run = run_bench_server},
    Benchmark{.name = "triggers",
              .description = "The next time of common rules, and the answer to hostile ones",
              .run = run_bench_triggers},
};

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

int complain(std::string_view message, int code) {
  fmt::print(stderr, "carillon-bench: {}\n", message);
  return code;
}

int print_or_complain(const Result<std::string>& result) {
  if (!result) {
    const bool is_usage = result.error().code == ErrorCode::invalid_request;
    return complain(result.error().message, is_usage ? kWrongUsage : kFailed);
  }
  const bool is_written =
      std::fwrite(result->data(), 1, result->size(), stdout) == result->size() && std::fflush(stdout) == 0;
  return is_written ? kDone : complain("cannot write to standard output", kFailed);
}

void add_folder(CLI::App& command, std::string& folder) {
  command.add_option("--folder", folder, "Where the files are made and removed (default .)")->type_name("FOLDER");
}

int run(int argc, char** argv) {
  CLI::App app("Measures Carillon, beside the raw limit in the same run", "carillon-bench");
  app.require_subcommand(1);
  int code = kDone;
  BenchRequest request;
  for (const Benchmark& one : kBenchmarks) {
    CLI::App* command = app.add_subcommand(one.name, one.description);
    add_folder(*command, request.folder);
    command->add_flag("--quick", request.quick, "Small counts, to see that it runs");
    command->add_flag("--json", request.json, "JSON, also on a terminal");
    command->callback([&] {
      request.json = request.json || isatty(STDOUT_FILENO) == 0;
      code = print_or_complain(one.run(request));
    });
  }
  BenchOnceRequest once_request;
  CLI::App* once = app.add_subcommand("once", "Each rate once and shortly, as JSON, for two builds in turns");
  once->add_option("names", once_request.names, "What to measure (default all)")->type_name("NAME");
  add_folder(*once, once_request.folder);
  once->callback([&] { code = print_or_complain(run_bench_once(once_request)); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
  } catch (const CLI::ParseError& error) {
    code = complain(fmt::format("{} (see carillon-bench --help)", error.what()), kWrongUsage);
  }
  return code;
}

}  // namespace

}  // namespace carillon

int main(int argc, char** argv) {
  try {
    return carillon::run(argc, argv);
  } catch (const std::exception& error) {
    // From a library, or out of memory: our own code returns its errors.
    return carillon::complain(fmt::format("unexpected failure: {}", error.what()), carillon::kFailed);
  }
}
