#include "allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::uint64_t> allocated{0};
}

namespace carillon::bench {
std::uint64_t allocations() { return allocated.load(std::memory_order_relaxed); }
}  // namespace carillon::bench

// The array and nothrow forms of the standard library end up in these.
void* operator new(std::size_t size) {
  allocated.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
