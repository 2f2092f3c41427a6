#include "server/api/work_pool.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace carillon::server {

namespace {

// A third of the weight that a thread has otherwise.
constexpr int kNice = 5;

// Of this thread alone. Where it is not allowed, all are equal as before.
void give_way() { setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), getpriority(PRIO_PROCESS, 0) + kNice); }

}  // namespace

WorkPool::WorkPool(const Options& options) : options_(options) {
  for (std::size_t i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this] { work(); });
    pthread_setname_np(threads_.back().native_handle(), options_.name);
  }
}

WorkPool::~WorkPool() { stop(); }

bool WorkPool::run(std::string_view whose, std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    if (ending_ || waiting_ >= options_.waiting_max) return false;
    auto line = lines_.find(whose);
    if (line == lines_.end()) line = lines_.emplace(whose, Line{}).first;
    if (line->second.waiting.size() >= options_.waiting_each) return false;
    line->second.waiting.push_back(std::move(work));
    ++waiting_;
    line_up(line);
  }
  changed_.notify_one();
  return true;
}

void WorkPool::stop() {
  Lines dropped;
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    turns_.clear();
    for (auto& [whose, line] : lines_) dropped[whose].waiting.swap(line.waiting);
    waiting_ = 0;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void WorkPool::line_up(Lines::iterator line) {
  Line& one = line->second;
  if (one.has_turn || one.waiting.empty() || one.running >= options_.running_each) return;
  one.has_turn = true;
  turns_.push_back(line);
}

void WorkPool::work() {
  give_way();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !turns_.empty(); });
    if (turns_.empty()) return;
    const Lines::iterator line = turns_.front();
    turns_.pop_front();
    line->second.has_turn = false;
    std::function<void()> next = std::move(line->second.waiting.front());
    line->second.waiting.pop_front();
    --waiting_;
    ++line->second.running;
    line_up(line);
    lock.unlock();
    next();
    next = nullptr;  // what it holds goes before others are let in
    lock.lock();
    --line->second.running;
    line_up(line);
    if (line->second.running == 0 && line->second.waiting.empty()) lines_.erase(line);
  }
}

}  // namespace carillon::server
