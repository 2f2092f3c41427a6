#include "daemon/memory_return.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace carillon::daemon {
namespace {

constexpr std::size_t kMib = std::size_t{1} << 20U;

// Those in between keep their neighbours from going back by themselves, as names and keys of others do in a server.
TEST(MemoryReturn, WhatWasFreedInPiecesGoesBack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#else
  constexpr std::size_t kPiece = 16 * 1024;
  constexpr std::size_t kPieces = 6'000;
  std::vector<std::vector<char>> pieces;
  std::vector<std::unique_ptr<int>> between;
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces.emplace_back(kPiece, 'x');
    between.push_back(std::make_unique<int>(1));
  }
  const std::size_t used = kept_memory();
  pieces.clear();
  ASSERT_GT(kept_memory(), used + 64 * kMib) << "nothing was kept: this tests nothing";

  EXPECT_GE(give_kept_memory_back(), std::chrono::seconds(1));
  EXPECT_LT(kept_memory(), used + 16 * kMib);
#endif
}

}  // namespace
}  // namespace carillon::daemon
