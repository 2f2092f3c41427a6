// Writing times in tests the way people do, and reading a timetable as a list of them.
#pragma once

#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/time/dst.h"
#include "core/time/instant.h"
#include "core/time/local_time.h"
#include "core/time/zone.h"
#include "core/triggers/timetable.h"
#include "core/triggers/trigger.h"
#include "support/results.h"

namespace carillon::test {

inline Instant utc(std::string_view text) { return value_of(parse_instant(text)); }
inline LocalSeconds local(std::string_view text) { return value_of(parse_local_seconds(text)); }
inline LocalDays date(std::string_view text) { return value_of(parse_date(text)); }
inline Zone zone(std::string_view name) { return value_of(Zone::load(name)); }

// `2026-03-29T01:00:00Z`: tests speak of whole seconds.
inline std::string text_of(Instant instant) {
  std::string text = format_instant(instant);
  if (text.ends_with(".000Z")) text.replace(text.size() - 5, 5, "Z");
  return text;
}

// A trigger in its short form with what else a timetable needs, all optional.
struct Setting {
  std::string_view zone = "UTC";
  std::string_view start;  // of rrule
  std::string_view created = "2026-01-01T00:00:00Z";
  DstPolicy dst;
  std::string_view starts_at;
  std::string_view ends_at;
  std::set<LocalDays> exclude_dates;
};

inline Timetable::Options options_of(const Setting& setting) {
  Timetable::Options options;
  options.zone = zone(setting.zone);
  options.dst = setting.dst;
  options.created_at = utc(setting.created);
  if (!setting.starts_at.empty()) options.starts_at = utc(setting.starts_at);
  if (!setting.ends_at.empty()) options.ends_at = utc(setting.ends_at);
  options.exclude_dates = setting.exclude_dates;
  return options;
}

inline Result<Timetable> try_timetable(std::string_view trigger_text, const Setting& setting = {}) {
  TRY_ASSIGN(Trigger trigger, parse_trigger_text(trigger_text));
  if (auto* rrule = std::get_if<RruleTrigger>(&trigger); rrule != nullptr && !setting.start.empty()) {
    rrule->start = local(setting.start);
  }
  return Timetable::make(trigger, options_of(setting));
}

inline Timetable timetable(std::string_view trigger_text, const Setting& setting = {}) {
  return value_of(try_timetable(trigger_text, setting));
}

// The occurrences after `after`, at most `most`.
inline std::vector<Occurrence> walk(const Timetable& timetable, Instant after, std::size_t most) {
  std::vector<Occurrence> found;
  while (found.size() < most) {
    const auto next = timetable.next(after);
    if (!next) break;
    found.push_back(*next);
    after = next->at;
  }
  return found;
}

// The same as instants in words.
inline std::vector<std::string> times(const Timetable& timetable, std::string_view after, std::size_t most) {
  std::vector<std::string> texts;
  for (const Occurrence& occurrence : walk(timetable, utc(after), most)) texts.push_back(text_of(occurrence.at));
  return texts;
}

// The local times that the rule asked for.
inline std::vector<std::string> locals(const Timetable& timetable, std::string_view after, std::size_t most) {
  std::vector<std::string> texts;
  for (const Occurrence& o : walk(timetable, utc(after), most)) texts.push_back(format_local_seconds(o.local));
  return texts;
}

}  // namespace carillon::test
