// S2's "reconciliation sweep that re-checks stale schedule rows". It comes every five minutes by the boot clock, which
// a rehearsal does not move; so this one item is walked in the library, all others over HTTP (s2_walk_test.py).
#include <carillon/carillon.h>
#include <carillon/testing.h>
#include <gtest/gtest.h>

#include "library/collected.h"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

TEST(S2Walk, TheSweepLooksAtEveryRowAndFindsNoneStale) {  // "Reliability"
  carillon::testing::ManualClock clock{at("2026-03-02T06:00:00Z")};
  carillon::testing::TestEngine engine{clock};
  engine.handle("transcript_check_request", [](JobContext&) { return done().subject_status("upcoming"); });
  engine.client()
      .put_schedule("default", R"({"name":"transcripts","trigger":{"kind":"adaptive","otherwise":["4h","6h"]},
                                   "job":{"type":"transcript_check_request"}})")
      .value();
  for (const char* stock : {"INFY", "TCS", "WIPRO"}) {
    engine.client().put_subject("default", "transcripts", stock, "{}").value();
  }
  engine.advance(12h);
  EXPECT_GE(engine.counters().swept, 3U);
  EXPECT_EQ(engine.counters().repaired, 0U) << "in a healthy system it finds none";
  EXPECT_EQ(engine.client().subject("default", "transcripts", "INFY").value().last_status, "upcoming");
}

}  // namespace
}  // namespace carillon::test
