#include <gtest/gtest.h>

#include "durability/writer_process.h"

// The campaigns; or, told so, a process that writes until it is killed.
int main(int argc, char** argv) {
  if (const auto request = carillon::test::writer_request(argc, argv))
    return carillon::test::write_until_killed(*request);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
