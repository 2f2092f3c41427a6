#include "expect.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace carillon::fuzz {

namespace {

constexpr int kWalkMax = 20;
constexpr std::size_t kMessageBytesMax = 1000;

void expect_sound(const Occurrence& occurrence, const Timetable& timetable) {
  CHECK(occurrence.at >= kInstantMin && occurrence.at <= kInstantMax);
  const bool moved = occurrence.note == DstNote::gap_shifted || occurrence.note == DstNote::gap_next_valid;
  CHECK(occurrence.note != DstNote::gap_skipped);
  CHECK((timetable.zone().to_local(occurrence.at) == occurrence.local) != moved);
}

}  // namespace

void expect_readable(const Error& error, std::string_view text) {
  CHECK(!error.message.empty() && error.message.size() <= kMessageBytesMax);
  CHECK(std::ranges::none_of(error.message, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
  if (error.column) CHECK(*error.column >= 1 && *error.column <= text.size() + 1);
}

void expect_sound_timetable(const Trigger& trigger, const Frame& frame) {
  const auto timetable = Timetable::make(trigger, frame.options);
  if (!timetable) return expect_readable(timetable.error(), frame.text);

  std::vector<Instant> walked;
  Instant at = frame.from;
  for (int i = 0; i < kWalkMax; ++i) {
    const auto found = timetable->next(at);
    if (!found) break;
    CHECK(found->at > at);
    expect_sound(*found, *timetable);
    for (const Instant between : {at + (found->at - at) / 2, found->at - Duration(1)}) {
      const auto again = timetable->next(between);
      CHECK(again && again->at == found->at);
    }
    at = found->at;
    walked.push_back(at);
  }
  if (walked.empty()) return;
  const auto counted = timetable->count(frame.from, at);
  CHECK(!counted || *counted == walked.size());
  const auto newest = timetable->newest(frame.from, at);
  CHECK(newest && newest->at == at);
}

}  // namespace carillon::fuzz
