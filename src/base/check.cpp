#include "base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace carillon {

namespace {

void print(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "carillon: internal error: CHECK(%s) failed at %s:%d\n", condition, file, line);
}

std::atomic<CheckReport> report = print;

}  // namespace

void report_failed_checks_by(CheckReport by) { report = by; }

void detail::check_failed(const char* condition, const char* file, int line) {
  report.load()(condition, file, line);
  std::abort();
}

}  // namespace carillon
