// A hand-driven engine over every store that it can have, with what it told.
//
// Handlers are kept here, so that a restart gives them to the next engine. Nothing happens between two calls: time
// moves only by `advance` (stopping wherever something is due) or by the clock (as if the engine had been busy or
// down).
#pragma once

#include <carillon/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/results.h"

namespace carillon::test {

using namespace std::chrono_literals;

inline Instant at(std::string_view text) { return value_of(parse_instant(text)); }

// A folder of this test alone, empty, and gone with it.
class TestFolder {
 public:
  TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Collects what an engine tells, also from its own thread.
class Heard {
 public:
  EventListener listener();
  std::vector<Event> all() const;
  template <typename T>
  std::vector<T> of() const {
    std::vector<T> found;
    for (const Event& event : all()) {
      if (const T* body = std::get_if<T>(&event.body)) found.push_back(*body);
    }
    return found;
  }
  std::size_t count(std::string_view name) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

class EngineTest : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr std::string_view kTenant = "default";

  testing::TestEngine& engine();
  Client& client() { return engine().client(); }
  // As after the end of the process; only what is stored is left.
  void restart();
  bool survives_restart() const { return GetParam() != "memory"; }

  void handle(const std::string& type, Handler handler);
  // One that counts its calls, and is done.
  void handle_counted(const std::string& type);
  int calls(const std::string& type) const;

  JobId enqueue(const JobRequest& request) { return value_of(client().enqueue(request)).id; }
  JobInfo job(JobId id, std::string_view tenant = kTenant) { return value_of(client().job(tenant, id)); }
  JobState state(JobId id, std::string_view tenant = kTenant) { return job(id, tenant).state; }
  std::vector<JobInfo> jobs(const JobQuery& query = {}, std::size_t limit = 1000) {
    return value_of(client().jobs(query, {}, limit)).jobs;
  }
  // What was told to have become of it, in order.
  std::vector<JobState> told_of(JobId id, std::string_view tenant = kTenant) const;
  std::size_t run_due() { return engine().run_due(); }
  std::size_t advance(Duration by) { return engine().advance(by); }

 public:
  testing::ManualClock clock{at("2026-03-02T12:00:00Z")};
  std::uint32_t max_concurrency = 8;
  bool leave_unhandled = false;
  Heard heard;

 private:
  TestFolder folder_;
  std::map<std::string, Handler> handlers_;
  std::map<std::string, int> calls_;
  std::optional<testing::TestEngine> engine_;
};

#define OVER_EVERY_STORE(suite)                                                  \
  INSTANTIATE_TEST_SUITE_P(Stores, suite, ::testing::Values("memory", "sqlite"), \
                           [](const ::testing::TestParamInfo<std::string>& param_info) { return param_info.param; })

}  // namespace carillon::test
