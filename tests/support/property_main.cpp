// The main function of every test program. Properties draw the same cases on every run, so that a change that passed
// once passes again; with CARILLON_FULL set they draw many more, other ones each time, and print the seed of a failure.
// RC_PARAMS, RapidCheck's own variable, overrides both: RC_PARAMS="seed=1 max_success=1000".
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  // No thread has been started yet, so that changing the environment is safe.
  const bool full = std::getenv("CARILLON_FULL") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  const char* const parameters = full ? "max_success=5000" : "seed=20260329 max_success=200";
  setenv("RC_PARAMS", parameters, 0);  // NOLINT(concurrency-mt-unsafe)
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
