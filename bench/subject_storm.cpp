#include "bench/subject_storm.h"

#include <carillon/engine.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "bench/delivery_users.h"
#include "bench/hand_engine.h"
#include "bench/measuring.h"
#include "bench/raw_subjects.h"

namespace carillon {

namespace {

using std::chrono::milliseconds;

constexpr std::chrono::hours kWindow{19};
constexpr auto kLook = milliseconds(20);

// The windows open at `start`, and stay open long enough for any run.
std::string storm_schedule(Instant start) {
  const std::string due = format_instant(start + kWindow).substr(11, 8);
  return fmt::format(R"({{"name":"digest","trigger":{{"kind":"delivery","due":"{}","window":"{}h"}},)"
                     R"("job":{{"type":"digest.send","payload":{{"template":"digest","top":10}}}}}})",
                     due, kWindow.count());
}

constexpr const char* kBeside =
    R"({"name":"beside","trigger":{"kind":"every","every":"1s"},"job":{"type":"beside","payload":{}}})";

}  // namespace

void prepare_storm(const std::string& path, std::int64_t users) {
  const Instant now = std::chrono::floor<std::chrono::seconds>(system_now());
  HandEngine engine(path, now);
  must(engine.client().put_schedule("default", storm_schedule(now + std::chrono::seconds(1))));
  for (std::int64_t first = 0; first < users; first += kImportLines) {
    std::string lines;
    for (std::int64_t i = first; i < std::min(users, first + kImportLines); ++i) {
      fmt::format_to(std::back_inserter(lines), "{{\"subject\":\"user-{:08}\"}}\n", i);
    }
    must(engine.client().import_subjects("default", "digest", lines));
  }
}

Storm run_storm(const std::string& path, std::int64_t users) {
  auto store = open_store("sqlite:" + path);
  must(store);
  Engine engine(**store, {.max_concurrency = 2, .leave_unhandled = true});
  std::mutex mutex;
  Storm storm;
  engine.handle("beside", [&](JobContext& context) {
    const std::chrono::duration<double> late = system_now() - context.job().run_at;
    const std::scoped_lock lock(mutex);
    storm.late_max = std::max(storm.late_max, late.count());
    ++storm.jobs_beside;
    return done();
  });
  engine.on_event([&](const Event& event) {
    const auto* const tick = std::get_if<TickStopped>(&event.body);
    if (tick == nullptr || tick->users_scanned == 0) return;
    const std::scoped_lock lock(mutex);
    storm.planning_ms.push_back(std::chrono::duration<double, std::milli>(tick->duration).count());
  });
  must(engine.client().put_schedule("default", kBeside));
  const auto begin = boot_now();
  engine.run_in_background();
  const std::string planned = "SELECT coalesce(sum(count), 0) FROM outcome_counts WHERE schedule = 1";
  while (number_in(path, planned) < users) std::this_thread::sleep_for(kLook);
  storm.seconds = std::chrono::duration<double>(boot_now() - begin).count();
  // The last of them may still wait; and one that never came would be late by all of the storm.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  engine.stop();
  const std::scoped_lock lock(mutex);
  const auto wanted = static_cast<std::uint64_t>(storm.seconds);
  if (storm.jobs_beside < wanted) {
    storm.late_max = std::max(storm.late_max, static_cast<double>(wanted - storm.jobs_beside));
  }
  return storm;
}

}  // namespace carillon
