// A program on the public library that delivers to many users on a virtual clock, to be killed:
//
//   day_worker import STORE USERS       users user-0 to user-(USERS - 1), due in every minute of the day
//   day_worker run STORE CLOCK          goes on from the time in the file CLOCK (none: the beginning) to the day's end
//
// CLOCK holds the latest time that the program may have seen, so that a clock never goes back over a kill.
#include <carillon/carillon.h>
#include <carillon/testing.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "delivery_day/day.h"

namespace {

using namespace std::chrono_literals;
using namespace carillon::test;

constexpr long kChunkLines = 5000;
constexpr std::uint32_t kAtOnce = 1000;
constexpr carillon::Duration kStep = 1min;

constexpr const char* kSchedule =
    R"({"name":"digest","trigger":{"kind":"delivery","due":"12:00","window":"60m","retry_delay":"10m"},)"
    R"("job":{"type":"digest.send","payload":{"top":10}}})";

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "day_worker: " << why << '\n';
  std::_Exit(3);
}

template <typename T>
T must(carillon::Result<T> result) {
  if (!result) give_up(result.error().message);
  return *std::move(result);
}

std::string two_digits(long number) { return (number < 10 ? "0" : "") + std::to_string(number); }

std::string line_of(long user) {
  const long minute = user % kMinutesOfDay;
  return R"({"subject":"user-)" + std::to_string(user) + R"(","due":")" + two_digits(minute / 60) + ":" +
         two_digits(minute % 60) + "\"}\n";
}

int import_users(const std::string& store, long users) {
  carillon::testing::ManualClock clock(made_at());
  carillon::testing::TestEngine engine(clock, {.store = "sqlite:" + store});
  must(engine.client().put_schedule("default", kSchedule));
  for (long first = 0; first < users; first += kChunkLines) {
    std::string lines;
    for (long user = first; user < std::min(users, first + kChunkLines); ++user) lines += line_of(user);
    must(engine.client().import_subjects("default", "digest", lines));
  }
  return 0;
}

carillon::Instant read_clock(const std::string& path) {
  std::int64_t microseconds = 0;
  std::ifstream file(path);
  return file >> microseconds ? carillon::Instant(carillon::Duration(microseconds)) : made_at();
}

// As a whole or not at all, whenever the process ends.
void write_clock(const std::string& path, carillon::Instant at) {
  const std::string draft = path + ".draft";
  std::ofstream(draft) << at.time_since_epoch().count() << '\n';
  std::filesystem::rename(draft, path);
}

carillon::Outcome deliver(const carillon::JobContext& context) {
  const long user = std::stol(context.job().subject.substr(5));
  if (never_succeeds(user)) return carillon::fail("the mailbox is full");
  if (succeeds_late(user) && context.attempt() < 3) return carillon::fail("not now");
  return carillon::done();
}

int run_day(const std::string& store, const std::string& clock_path) {
  carillon::testing::ManualClock clock(read_clock(clock_path));
  carillon::testing::TestEngine engine(clock, {.store = "sqlite:" + store, .max_concurrency = kAtOnce});
  engine.handle("digest.send", [](carillon::JobContext& context) { return deliver(context); });
  while (clock.now() < over_at()) {
    const carillon::Duration step = std::min(kStep, over_at() - clock.now());
    write_clock(clock_path, clock.now() + step);
    engine.advance(step);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "import") return import_users(words[1], std::stol(words[2]));
  if (words.size() == 3 && words[0] == "run") return run_day(words[1], words[2]);
  give_up("day_worker import STORE USERS | run STORE CLOCK");
}
