#include "bench/idle_handlers.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "bench/measuring.h"

namespace carillon {

namespace {

constexpr std::uint32_t kHandlersAtOnce = 8;
constexpr int kAhead = 4;  // batches that wait while others run
constexpr auto kLook = std::chrono::microseconds(200);

StorePtr open_or_give_up(const std::string& path) {
  auto store = open_store("sqlite:" + path);
  must(store);
  return *std::move(store);
}

}  // namespace

IdleHandlers::IdleHandlers(const std::string& path)
    : store_(open_or_give_up(path)),
      payload_(bench_payload()),
      batch_(kBatch, JobRequest{.type = "bench", .payload = payload_}),
      engine_(*store_, {.max_concurrency = kHandlersAtOnce}) {
  engine_.handle("bench", [](JobContext&) { return done(); });
  engine_.handle("pick_up", [this](JobContext&) {
    entered_us_ = boot_now().count();
    entered_us_.notify_one();
    return done();
  });
  engine_.handle("herd", [this](JobContext& context) {
    const std::chrono::duration<double> late = system_now() - context.job().run_at;
    const std::scoped_lock lock(mutex_);
    lateness_.push_back(late.count());
    return done();
  });
  engine_.on_event([this](const Event& event) {
    const auto* const depth = std::get_if<QueueDepth>(&event.body);
    if (depth == nullptr) return;
    {
      const std::scoped_lock lock(mutex_);
      depth_ = depth->depth;
    }
    changed_.notify_all();
  });
  engine_.run_in_background();
}

void IdleHandlers::fill(const std::string& tenant, std::int64_t count, RunAt run_at) {
  constexpr std::int64_t kFill = 10L * kBatch;
  const JobRequest job{.type = "bench", .tenant = tenant, .payload = payload_, .run_at = run_at};
  const std::vector<JobRequest> jobs(static_cast<std::size_t>(std::min(kFill, count)), job);
  for (std::int64_t left = count; left > 0; left -= kFill) {
    const auto now = static_cast<std::size_t>(std::min(kFill, left));
    must(client().enqueue_all(std::span(jobs).first(now)));
  }
}

void IdleHandlers::wait_until_succeeded(std::uint64_t total) const {
  while (succeeded() < total) std::this_thread::sleep_for(kLook);
}

double IdleHandlers::life_cycles(int count) {
  const std::uint64_t before = succeeded();
  std::uint64_t given = before;
  const auto feed_until = [&](std::uint64_t total) {
    while (succeeded() < total) {
      if (given - succeeded() < static_cast<std::uint64_t>(kAhead) * kBatch) {
        must(client().enqueue_all(batch_));
        given += kBatch;
      } else {
        std::this_thread::sleep_for(kLook);
      }
    }
  };
  // Until it runs evenly.
  feed_until(before + static_cast<std::uint64_t>(kAhead) * kBatch);
  const std::uint64_t first = succeeded();
  const auto begin = boot_now();
  feed_until(first + static_cast<std::uint64_t>(count));
  const double done_count = static_cast<double>(succeeded() - first);
  const double seconds = std::chrono::duration<double>(boot_now() - begin).count();
  wait_until_succeeded(given);
  return done_count / seconds;
}

double IdleHandlers::pick_up() {
  const JobRequest job{.type = "pick_up", .payload = payload_};
  entered_us_ = 0;
  const std::int64_t begin = boot_now().count();
  must(client().enqueue(job));
  entered_us_.wait(0);
  return static_cast<double>(entered_us_ - begin);
}

std::vector<double> IdleHandlers::herd(int count, Duration lead) {
  const std::uint64_t before = succeeded();
  const std::vector<JobRequest> jobs(static_cast<std::size_t>(count),
                                     JobRequest{.type = "herd", .payload = payload_, .run_at = system_now() + lead});
  must(client().enqueue_all(jobs));
  wait_until_succeeded(before + static_cast<std::uint64_t>(count));
  const std::scoped_lock lock(mutex_);
  return std::exchange(lateness_, {});
}

void IdleHandlers::wait_for_depth(std::uint64_t depth) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return depth_ >= depth; });
}

}  // namespace carillon
