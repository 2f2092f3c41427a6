#include "bench/measuring.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "base/clock.h"

namespace carillon {

namespace {

constexpr int kBlocks = 256;
constexpr int kBlockBytes = 4096;
constexpr std::size_t kPayloadBytes = 100;

}  // namespace

double seconds_of(const std::function<void()>& work) {
  const auto begin = boot_now();
  work();
  return std::max(std::chrono::duration<double>(boot_now() - begin).count(), 1e-9);
}

std::int64_t resident_bytes() { return resident_bytes_of(getpid()); }

std::int64_t resident_bytes_of(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/statm", process));
  std::int64_t total = 0;
  std::int64_t resident = 0;
  status >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::int64_t sqlite_bytes() { return sqlite3_memory_used(); }

double cpu_seconds() {
  rusage usage{};
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void tell(const std::string& text) { fmt::print(stderr, "bench: {}\n", text); }

void give_up(const Error& error) {
  tell(error.message);
  std::abort();
}

std::string bench_payload() {
  std::string text = R"({"to":"user-17@example.com","template":"digest","top":10,"locale":"en-GB","trace":")";
  while (text.size() < kPayloadBytes - 2) text += 'x';
  return text + "\"}";
}

ScratchFolder::ScratchFolder(const std::string& parent) : path_(fmt::format("{}/carillon-bench-{}", parent, getpid())) {
  std::filesystem::create_directories(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<void> check_folder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return {};
  return failed(ErrorCode::not_found, fmt::format("--folder {}: there is no such folder", carillon::quoted(folder)));
}

Overwrite::Overwrite(const std::string& path) : descriptor_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  CHECK(descriptor_ >= 0);
  for (int i = 0; i < kBlocks; ++i) write_block(i);
  CHECK(fsync(descriptor_) == 0);
}

Overwrite::~Overwrite() { close(descriptor_); }

void Overwrite::operator()() {
  write_block(next_++ % kBlocks);
  CHECK(fdatasync(descriptor_) == 0);
}

void Overwrite::write_block(int index) const {
  std::array<char, kBlockBytes> block{};
  block.fill(static_cast<char>(next_));
  CHECK(pwrite(descriptor_, block.data(), block.size(), static_cast<off_t>(index) * kBlockBytes) == kBlockBytes);
}

}  // namespace carillon
