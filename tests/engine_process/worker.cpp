// A program on the public library alone, to be signalled and killed. All that it does it writes down, line by line,
// each on disk before it goes on:
//
//   up                   the program has started
//   acked NUMBER         the enqueue of this job has returned
//   start NUMBER, end NUMBER
//   settled NUMBER       the engine said that the job is done
//
//   engine_worker load STORE LEDGER FIRST_NUMBER     enqueues and runs jobs until it is killed
//   engine_worker load-liar ...                      the same, but says `acked` before it asks: a negative control
//   engine_worker drain STORE LEDGER                 runs what is there until nothing is left
//   engine_worker wait STORE LEDGER DRAIN_MS         runs jobs whose handlers wait for a byte on standard input
//   engine_worker enqueue STORE LEDGER COUNT         adds jobs, numbers 1 to COUNT, and runs none
//   engine_worker list STORE LEDGER                  prints `NUMBER STATE ATTEMPTS_USED` for every job
#include <carillon/carillon.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine_process/line_file.h"

namespace {

using namespace std::chrono_literals;
using carillon::test::LineFile;

constexpr carillon::Duration kLease = 5s;
constexpr int kClients = 3;
constexpr std::uint32_t kHandlers = 8;

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "engine_worker: " << why << '\n';
  std::_Exit(3);
}

template <typename T>
T must(carillon::Result<T> result) {
  if (!result) give_up(result.error().message);
  return *std::move(result);
}

carillon::JobRequest job_of(long number) {
  return {.type = "work",
          .payload = "{\"number\":" + std::to_string(number) + "}",
          .retry = carillon::RetryFixed{.delay = 10ms},
          .max_attempts = std::nullopt,
          .lease = kLease};
}

long number_of(const carillon::JsonValue& payload) { return payload.at("number").as_int(-1); }

// Everything but what a mode does.
class Worker {
 public:
  Worker(const std::string& path, const std::string& ledger, carillon::EngineOptions options = {})
      : ledger_(ledger), store_(open_store(path)), engine_(*store_, std::move(options)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() = default;

  carillon::Engine& engine() { return engine_; }
  LineFile& ledger() { return ledger_; }

  void handle_work() {
    engine_.handle("work", [this](carillon::JobContext& context) {
      const long number = number_of(context.payload());
      ledger_.write("start", number);
      ledger_.write("end", number);
      return carillon::done(std::to_string(number));
    });
    engine_.on_event([this](const carillon::Event& event) {
      const auto* const change = std::get_if<carillon::JobChanged>(&event.body);
      if (change == nullptr || change->state != carillon::JobState::done) return;
      ledger_.write("settled", change->job.value);
    });
  }

 private:
  carillon::StorePtr open_store(const std::string& path) const {
    ledger_.write("up", 0);
    return must(carillon::open_store("sqlite:" + path));
  }

  LineFile ledger_;
  carillon::StorePtr store_;
  carillon::Engine engine_;
};

int load(Worker& worker, long first, bool liar) {
  worker.handle_work();
  worker.engine().run_in_background();
  std::atomic<long> next = first;
  std::vector<std::jthread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      while (true) {
        const long number = next++;
        if (liar) worker.ledger().write("acked", number);
        const auto job = must(worker.engine().client().enqueue(job_of(number)));
        if (!liar) worker.ledger().write("acked", number);
        worker.ledger().write("named", number, job.id.value);
      }
    });
  }
  return 0;
}

bool has_live(carillon::Client& client) {
  const carillon::JobQuery live{.states = {carillon::JobState::queued, carillon::JobState::processing}};
  return !must(client.jobs(live, {}, 1)).jobs.empty();
}

int drain(Worker& worker) {
  worker.handle_work();
  worker.engine().run_in_background();
  while (has_live(worker.engine().client())) std::this_thread::sleep_for(20ms);
  worker.engine().stop();
  return 0;
}

// A handler cannot be interrupted here: it waits in read().
int wait_for_byte(Worker& worker) {
  worker.engine().handle("work", [&](carillon::JobContext& context) {
    const long number = number_of(context.payload());
    worker.ledger().write("start", number);
    char byte = 0;
    if (read(STDIN_FILENO, &byte, 1) != 1) return carillon::fail("standard input has ended");
    worker.ledger().write("end", number);
    return carillon::done();
  });
  worker.engine().run();
  worker.ledger().write("down", 0);
  return 0;
}

int enqueue(Worker& worker, long count) {
  for (long number = 1; number <= count; ++number) must(worker.engine().client().enqueue(job_of(number)));
  return 0;
}

int list(Worker& worker) {
  for (carillon::JobId before;;) {
    const carillon::JobList page = must(worker.engine().client().jobs({}, before, 500));
    for (const carillon::JobInfo& job : page.jobs) {
      const auto payload = must(carillon::JsonValue::parse(job.payload));
      std::cout << number_of(payload) << ' ' << to_string(job.state) << ' ' << job.attempt << ' ' << job.id.value
                << '\n';
    }
    before = page.next_before;
    if (!before) return 0;
  }
}

int run(const std::vector<std::string>& words) {
  const std::string& mode = words[0];
  const long number = words.size() > 3 ? std::stol(words[3]) : 0;
  carillon::EngineOptions options{.max_concurrency = kHandlers};
  if (mode == "wait") options = {.max_concurrency = 1, .drain = std::chrono::milliseconds(number)};
  Worker worker(words[1], words[2], options);
  if (mode == "load" || mode == "load-liar") return load(worker, number, mode == "load-liar");
  if (mode == "drain") return drain(worker);
  if (mode == "wait") return wait_for_byte(worker);
  if (mode == "enqueue") return enqueue(worker, number);
  if (mode == "list") return list(worker);
  give_up("there is no mode " + mode);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 3) give_up("engine_worker MODE STORE LEDGER [NUMBER]");
  return run(words);
}
