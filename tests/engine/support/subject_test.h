// Schedules with subjects, over every store.
#pragma once

#include "engine/support/engine_test.h"

namespace carillon::test {

class SubjectTest : public EngineTest {
 protected:
  void go_to(std::string_view instant) { clock.advance(at(instant) - clock.now()); }
  void run_until(std::string_view instant) { advance(at(instant) - clock.now()); }
  void put(std::string_view definition) { value_of(client().put_schedule(kTenant, definition)); }
  SubjectInfo put_subject(std::string_view name, std::string_view body = "{}", std::string_view schedule = "s") {
    return value_of(client().put_subject(kTenant, schedule, name, body)).info;
  }
  SubjectInfo subject(std::string_view name, std::string_view schedule = "s") {
    return value_of(client().subject(kTenant, schedule, name));
  }
  std::optional<Error> refused(std::string_view name, std::string_view body) {
    const auto put = client().put_subject(kTenant, "s", name, body);
    return put ? std::nullopt : std::optional(put.error());
  }
  // "HH:MM" of every start, in UTC.
  std::vector<std::string> times() const {
    std::vector<std::string> texts;
    for (const Instant start : starts) texts.push_back(format_instant(start).substr(11, 5));
    return texts;
  }
  // "subject slot outcome" of what got its outcome, in the order of events; a range says how many.
  std::vector<std::string> outcomes() const {
    std::vector<std::string> texts;
    for (const Finalized& one : heard.of<Finalized>()) {
      std::string text = one.subject + " " + format_instant(one.slot).substr(0, 16) + " ";
      text += to_string(one.status);
      if (one.count > 1) text += " x" + std::to_string(one.count);
      texts.push_back(std::move(text));
    }
    return texts;
  }
  // A handler that notes when it starts, and answers with what the test says.
  void handle_noted(const std::string& type) {
    handle(type, [this](JobContext& context) {
      starts.push_back(clock.now());
      ran.push_back(context.job().subject);
      return answer(context);
    });
  }

 public:
  std::vector<Instant> starts;
  std::vector<std::string> ran;
  std::function<Outcome(JobContext&)> answer = [](JobContext&) { return done(); };
};

}  // namespace carillon::test
