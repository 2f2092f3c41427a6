#include "core/time/slot_text.h"

#include <gtest/gtest.h>

#include "support/results.h"

namespace carillon::test {
namespace {

TEST(SlotText, ADeliverysIsItsDay) {
  const Instant slot = value_of(parse_instant("2026-03-29T00:00:00Z"));
  Schedule schedule;
  schedule.trigger = DeliveryTrigger{};
  EXPECT_EQ(slot_text(slot, schedule), "2026-03-29");
  schedule.trigger = WindowsTrigger{};
  EXPECT_EQ(slot_text(slot, schedule), "2026-03-29T00:00:00.000Z");
}

TEST(SlotText, ItsKindSaysHowItReads) {
  const Instant slot = value_of(parse_instant("2026-03-29T00:00:00Z"));
  EXPECT_EQ(slot_text(slot, SlotKind::day), "2026-03-29");
  EXPECT_EQ(slot_text(slot, SlotKind::instant), "2026-03-29T00:00:00.000Z");
  EXPECT_EQ(slot_text(std::nullopt, SlotKind::day), "");
}

}  // namespace
}  // namespace carillon::test
