// What every benchmark needs to measure: how long, how much memory, how much CPU; and a place for its files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"

namespace carillon {

double seconds_of(const std::function<void()>& work);

std::int64_t resident_bytes_of(pid_t process);

// Of this process.
std::int64_t resident_bytes();
std::int64_t sqlite_bytes();  // of these: what SQLite has allocated, mostly its page cache
double cpu_seconds();

// A line of progress, to standard error.
void tell(const std::string& text);

[[noreturn]] void give_up(const Error& error);
// A benchmark that fails has nothing to say.
template <typename T>
void must(const Result<T>& result) {
  if (!result) give_up(result.error());
}

// 100 bytes of JSON.
std::string bench_payload();

// A folder that is removed with all that is in it.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& parent);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Refuses a --folder that is not there.
Result<void> check_folder(const std::string& folder);

// The raw limit of a durable write: overwriting 4 KiB of a file that is there, and waiting for the disk.
class Overwrite {
 public:
  explicit Overwrite(const std::string& path);
  Overwrite(const Overwrite&) = delete;
  Overwrite& operator=(const Overwrite&) = delete;
  ~Overwrite();
  void operator()();

 private:
  void write_block(int index) const;
  int descriptor_;
  int next_ = 0;
};

}  // namespace carillon
