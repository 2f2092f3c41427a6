#include "bench/allocations.h"

#include <cstdlib>
#include <new>

namespace {
// Its thread's own, so that the other benchmarks, with many threads, do not pay for it.
constinit thread_local std::uint64_t allocated = 0;
}  // namespace

namespace carillon {
std::uint64_t allocations() { return allocated; }
}  // namespace carillon

// The array and nothrow forms of the standard library end up in these.
void* operator new(std::size_t size) {
  ++allocated;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
