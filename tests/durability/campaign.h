// What the campaigns share: how much to do, where, and at what time.
#pragma once

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "store/store.h"

namespace carillon::test {

using namespace std::chrono_literals;

// CARILLON_FULL=1: every campaign at its full count.
inline bool is_full_run() {
  const char* const value = std::getenv("CARILLON_FULL");  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && std::string_view(value) == "1";
}

inline const char* run_name() { return is_full_run() ? "full" : "reduced"; }

// Stands still until it is told.
class FixedClock final : public StoreClock {
 public:
  Instant exact_wall() const override {
    return Instant(std::chrono::sys_days(std::chrono::year(2026) / 3 / 29)) + passed();
  }
  BootTime boot() const override { return BootTime(5000s) + passed(); }
  void advance(Duration by) { passed_ += by.count(); }

 private:
  Duration passed() const { return Duration(passed_); }
  std::atomic<std::int64_t> passed_ = 0;
};

// A folder in memory, where there is one, that is gone in the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    const bool in_memory = std::filesystem::is_directory("/dev/shm", error);
    std::string name =
        (in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path()) / "carillon-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder like " + name);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace carillon::test
