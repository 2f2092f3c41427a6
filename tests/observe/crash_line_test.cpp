#include "observe/crash_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/check.h"

// A sanitizer leaves these signals to the program.
// NOLINTBEGIN(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp): the names are the sanitizers'
extern "C" const char* __tsan_default_options();
extern "C" const char* __asan_default_options();
extern "C" const char* __tsan_default_options() { return "handle_sigbus=0:handle_sigill=0:handle_abort=0"; }
extern "C" const char* __asan_default_options() { return "handle_sigbus=0:handle_sigill=0:handle_abort=0"; }
// NOLINTEND(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp)

namespace carillon {
namespace {

void crash_by(int signal, bool json) {
  tell_of_crashes(STDERR_FILENO, json);
  raise(signal);
}

void fail_a_check() {
  tell_of_crashes(STDERR_FILENO, true);
  CHECK(1 + 1 == 3);
}

TEST(CrashLineDeathTest, ASignalLeavesALineAndStillEndsTheProcess) {
  EXPECT_EXIT(crash_by(SIGBUS, true), ::testing::KilledBySignal(SIGBUS),
              R"(\{"level":"error","msg":"crash","err_code":"SIGBUS"\})");
  EXPECT_EXIT(crash_by(SIGILL, false), ::testing::KilledBySignal(SIGILL), "ERROR crash  err_code=SIGILL");
}

TEST(CrashLineDeathTest, AFailedCheckIsALineOfTheLog) {
  EXPECT_EXIT(fail_a_check(), ::testing::KilledBySignal(SIGABRT),
              R"("level":"error","msg":"internal error: CHECK\(1 \+ 1 == 3\) failed at .*"err_code":"SIGABRT")");
}

}  // namespace
}  // namespace carillon
