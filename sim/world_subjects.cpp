// Schedules with subjects, and what is said about one of these.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "sim/world.h"

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto kModes = std::to_array<const char*>({"full", "delta", "probe"});

std::string span_json(const Band& band) {
  return fmt::format(R"(["{}","{}"])", format_duration(band.least), format_duration(band.most));
}

}  // namespace

// Any quarter of an hour, and those that clocks jump over, or show twice, or that lie at midnight.
Duration World::draw_time() {
  static constexpr auto kHard = std::to_array<Duration>({0min, 30min, 90min, 150min, 23h + 45min});
  return random_.percent(40) ? random_.pick(kHard) : Duration(15min * random_.between(0, 95));
}

void World::draw_delivery(ScheduleSpec& spec, JobSpec& job) {
  spec.at = draw_time();
  spec.window = std::chrono::minutes(random_.between(10, 90));
  spec.retry_delay = std::chrono::minutes(random_.between(1, 10));
  spec.spread = random_.percent(40);
  job.failures = random_.percent(50) ? random_.between(0, 95) : 20;
  // Some go on past the cutoff.
  if (random_.percent(60)) job.timeout = std::chrono::minutes(random_.between(5, 20));
  job.retry = RetryFixed{.delay = spec.retry_delay};
  job.max_attempts.reset();
  JobSpec& by_hand = specs_.add_job();
  by_hand = job;
  by_hand.retry.reset();
  by_hand.max_attempts = kMaxAttemptsDefault;
  spec.by_hand = &by_hand;
  if (random_.percent(30)) return;
  JobSpec& on_cutoff = specs_.add_job();
  on_cutoff.tenant = spec.tenant;
  on_cutoff.type = "at.cutoff";
  on_cutoff.payload = fmt::format("{{\"c\":{}}}", spec.number);
  spec.on_cutoff = &on_cutoff;
}

void World::draw_windows(ScheduleSpec& spec, JobSpec& job) {
  spec.interval = std::chrono::minutes(random_.between(20, 120));
  spec.lag = std::chrono::seconds(random_.between(0, 300));
  spec.max_backfill = static_cast<std::size_t>(random_.between(1, 6));
  if (random_.percent(25)) spec.max_age = std::chrono::hours(random_.between(4, 20));
  if (random_.percent(70)) spec.mode = random_.pick(kModes);
  job.failures = random_.percent(50) ? random_.between(20, 70) : 5;
}

void World::draw_checks(ScheduleSpec& spec, JobSpec& job) {
  spec.bands = {{.within = 3h, .least = 15min, .most = 15min}, {.within = 12h, .least = 40min, .most = 60min}};
  if (random_.percent(30)) spec.bands.pop_back();
  spec.bands.push_back({.within = kDurationMax, .least = 2h, .most = random_.percent(70) ? 3h : 2h});
  job.failures = random_.percent(30) ? random_.between(40, 100) : 10;
  // Some are still open when the next one is due.
  if (random_.percent(30)) {
    job.timeout = std::chrono::minutes(random_.between(10, 25));
    job.at_most = job.timeout;
  }
  job.learns = true;
}

ScheduleSpec& World::draw_with_subjects(Kind kind, const std::string& tenant, const std::string& name) {
  ScheduleSpec& spec = specs_.add_schedule();
  spec.tenant = tenant;
  spec.name = name;
  spec.kind = kind;
  spec.fan_out = true;
  spec.zone = random_.pick(kZones);
  spec.enabled = random_.percent(96);
  JobSpec& job = specs_.add_job();
  job.tenant = tenant;
  job.type = "subject.run";
  draw_options(job);
  job.payload = fmt::format("{{\"s\":{}}}", spec.number);
  if (kind == Kind::delivery) draw_delivery(spec, job);
  if (kind == Kind::windows) draw_windows(spec, job);
  if (kind == Kind::adaptive) draw_checks(spec, job);
  spec.job = &job;
  return spec;
}

std::string World::trigger_of_subjects(const ScheduleSpec& spec) {
  if (spec.kind == Kind::delivery) {
    return fmt::format(R"({{"kind":"delivery","due":"{}","window":"{}","retry_delay":"{}","spread":{}}})",
                       time_text(spec.at), format_duration(spec.window), format_duration(spec.retry_delay),
                       spec.spread);
  }
  if (spec.kind == Kind::windows) {
    std::string more;
    if (spec.max_age) more += fmt::format(R"(,"max_age":"{}")", format_duration(*spec.max_age));
    if (!spec.mode.empty()) more += fmt::format(R"(,"mode":"{}")", spec.mode);
    return fmt::format(R"({{"kind":"windows","interval":"{}","lag":"{}","max_backfill":{}{}}})",
                       format_duration(spec.interval), format_duration(spec.lag), spec.max_backfill, more);
  }
  std::vector<std::string> bands;
  for (std::size_t i = 0; i + 1 < spec.bands.size(); ++i) {
    bands.push_back(fmt::format(R"({{"within":"{}","every":{}}})", format_duration(spec.bands[i].within),
                                span_json(spec.bands[i])));
  }
  return fmt::format(R"({{"kind":"adaptive","bands":[{}],"otherwise":{}}})", fmt::join(bands, ","),
                     span_json(spec.bands.back()));
}

SubjectSpec& World::draw_subject(const ScheduleSpec& schedule, const SubjectSpec* before, Instant now) {
  SubjectSpec& spec = specs_.add_subject();
  const int number = spec.number;
  if (before) spec = *before;
  spec.number = number;
  spec.expected_at.reset();
  if (schedule.kind == Kind::delivery) {
    if (random_.percent(60)) spec.at = draw_time();
    if (random_.percent(40)) spec.zone = random_.pick(kZones);
  }
  if (schedule.kind == Kind::windows) {
    if (random_.percent(40)) spec.interval = std::chrono::minutes(random_.between(15, 180));
    if (random_.percent(40)) spec.mode = random_.pick(kModes);
  }
  if (schedule.kind == Kind::adaptive && random_.percent(60)) {
    spec.expected_at.emplace();
    if (random_.percent(85)) {
      spec.expected_at = std::chrono::floor<std::chrono::seconds>(now) + random_.between(Duration(-1h), Duration(30h));
    }
  }
  return spec;
}

std::string World::body_of(const SubjectSpec& spec) {
  std::string body = fmt::format(R"({{"payload":{{"u":{}}},"enabled":{})", spec.number, spec.enabled);
  if (spec.at) body += fmt::format(R"(,"due":"{}")", time_text(*spec.at));
  if (spec.zone) body += fmt::format(R"(,"timezone":"{}")", *spec.zone);
  if (spec.interval) body += fmt::format(R"(,"interval":"{}")", format_duration(*spec.interval));
  if (spec.mode) body += fmt::format(R"(,"mode":"{}")", *spec.mode);
  if (spec.expected_at) {
    body += *spec.expected_at ? fmt::format(R"(,"expected_at":"{}")", format_instant(**spec.expected_at))
                              : R"(,"expected_at":null)";
  }
  return body + "}";
}

}  // namespace carillon::sim
