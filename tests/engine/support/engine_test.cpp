#include "engine/support/engine_test.h"

#include <fmt/format.h>
#include <unistd.h>

namespace carillon::test {

TestFolder::TestFolder() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = fmt::format("{}_{}_{}", info->test_suite_name(), info->name(), getpid());
  std::ranges::replace(name, '/', '_');
  path_ = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

EventListener Heard::listener() {
  return [this](const Event& event) {
    const std::scoped_lock lock(mutex_);
    events_.push_back(event);
  };
}

std::vector<Event> Heard::all() const {
  const std::scoped_lock lock(mutex_);
  return events_;
}

std::size_t Heard::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(all(), [&](const Event& event) { return name_of(event) == name; }));
}

testing::TestEngine& EngineTest::engine() {
  if (!engine_) {
    const bool stored = survives_restart();
    engine_.emplace(clock, testing::TestEngine::Options{
                               .store = stored ? "sqlite:" + (folder_.path() / "jobs.db").string() : "memory:",
                               .max_concurrency = max_concurrency,
                               .leave_unhandled = leave_unhandled});
    engine_->on_event(heard.listener());
    for (const auto& [type, handler] : handlers_) engine_->handle(type, handler);
  }
  return *engine_;
}

void EngineTest::restart() {
  ASSERT_TRUE(survives_restart());
  engine_.reset();
}

void EngineTest::handle(const std::string& type, Handler handler) {
  handlers_[type] = handler;
  if (engine_) engine_->handle(type, std::move(handler));
}

void EngineTest::handle_counted(const std::string& type) {
  handle(type, [this, type](JobContext&) {
    ++calls_[type];
    return done();
  });
}

std::vector<JobState> EngineTest::told_of(JobId id, std::string_view tenant) const {
  std::vector<JobState> states;
  for (const JobChanged& one : heard.of<JobChanged>()) {
    if (one.job == id && one.tenant == tenant) states.push_back(one.state);
  }
  return states;
}

int EngineTest::calls(const std::string& type) const {
  const auto found = calls_.find(type);
  return found == calls_.end() ? 0 : found->second;
}

}  // namespace carillon::test
