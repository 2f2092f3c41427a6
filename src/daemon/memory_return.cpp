#include "daemon/memory_return.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>

namespace carillon::daemon {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kKeptMax = std::size_t{24} << 20U;
constexpr milliseconds kLookAgainMin(1'000);
constexpr milliseconds kLookAgainMax(60'000);
constexpr int kLookShare = 100;

constexpr int kLargeBlock = 1 << 20;
// Of each of the allocator's arenas, of which every thread may have one. What it keeps at their ends no `malloc_trim`
// gives back.
constexpr int kKeptAtEnd = 4 << 20;

// Of the process, without what it shares with files.
std::size_t resident_memory() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  std::size_t shared = 0;
  if (!(file >> size >> resident >> shared) || resident < shared) return 0;
  return (resident - shared) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// How long this thread has run, whatever else the machine does.
std::chrono::nanoseconds thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

void give_large_blocks_back() {
  // NOLINTBEGIN(concurrency-mt-unsafe): no thread has been started
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  mallopt(M_TRIM_THRESHOLD, kKeptAtEnd);
  // NOLINTEND(concurrency-mt-unsafe)
}

std::size_t kept_memory() {
  const struct mallinfo2 info = mallinfo2();
  const std::size_t used = info.uordblks + info.hblkhd;
  const std::size_t resident = resident_memory();
  return resident > used ? resident - used : 0;
}

milliseconds give_kept_memory_back() {
  const std::chrono::nanoseconds begin = thread_time();
  const std::size_t kept = kept_memory();
  if (kept > kKeptMax) {
    malloc_trim(0);
    if (kept_memory() < kept - kept / 4) return kLookAgainMin;  // it was worth its time
  }
  const auto took = std::chrono::duration_cast<milliseconds>(thread_time() - begin);
  return std::clamp(took * kLookShare, kLookAgainMin, kLookAgainMax);
}

}  // namespace carillon::daemon
