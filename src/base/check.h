// CHECK: for our own bugs only. It stays on in release builds, prints where and why, and aborts.
// What the world can cause (bad input, a full disk) is an Error, never a CHECK.
#pragma once

namespace carillon {

// How the end is told, if not by a line on standard error. It may run on any thread, and at any time.
using CheckReport = void (*)(const char* condition, const char* file, int line);
void report_failed_checks_by(CheckReport by);

}  // namespace carillon

namespace carillon::detail {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace carillon::detail

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::carillon::detail::check_failed(#condition, __FILE__, __LINE__))

// The end of a switch that names every enumerator.
#define UNREACHABLE() ::carillon::detail::check_failed("unreachable", __FILE__, __LINE__)
