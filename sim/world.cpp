#include "sim/world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "core/policies/retry_json.h"

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto kTypes = std::to_array<const char*>({"mail.send", "report.build", "sync.run", "image.scale"});
constexpr auto kQueues = std::to_array<const char*>({"default", "default", "default", "mail", "bulk"});
constexpr auto kLimits = std::to_array<const char*>({"api", "smtp", "gpu"});
constexpr auto kDays = std::to_array<const char*>({"sun", "mon", "tue", "wed", "thu", "fri", "sat"});
constexpr auto kTimes = std::to_array<const char*>({"00:30", "01:30", "02:30", "06:00", "08:00", "12:00", "23:45"});
constexpr auto kCrons = std::to_array<const char*>(
    {"15 */3 * * *", "30 2 * * *", "0 8 * * 1-5", "30 1 * * *", "*/40 6-9 * * *", "0 0 * * *"});
constexpr auto kRrules = std::to_array<const char*>({"FREQ=DAILY;INTERVAL=2;BYHOUR=2;BYMINUTE=30;BYSECOND=0",
                                                     "FREQ=HOURLY;INTERVAL=5", "FREQ=HOURLY;INTERVAL=5;COUNT=7",
                                                     "FREQ=WEEKLY;BYDAY=MO,SU,SA;BYHOUR=8;BYMINUTE=0;BYSECOND=0",
                                                     "FREQ=DAILY;BYHOUR=1,13;BYMINUTE=30;BYSECOND=0"});

Duration time_of(std::string_view text) {
  return std::chrono::hours((text[0] - '0') * 10 + (text[1] - '0')) +
         std::chrono::minutes((text[3] - '0') * 10 + (text[4] - '0'));
}

std::string trigger_of(const ScheduleSpec& spec) {
  switch (spec.kind) {
    case Kind::every:
      return fmt::format(R"({{"kind":"every","every":"{}"{}}})", format_duration(spec.every),
                         spec.anchor ? fmt::format(R"(,"anchor":"{}")", format_instant(*spec.anchor)) : "");
    case Kind::daily: return fmt::format(R"({{"kind":"daily","at":"{}"}})", time_text(spec.at));
    case Kind::weekly: {
      std::vector<std::string> days;
      days.reserve(spec.days.size());
      for (const unsigned day : spec.days) days.push_back(fmt::format("\"{}\"", kDays[day]));
      return fmt::format(R"({{"kind":"weekly","on":[{}],"at":"{}"}})", fmt::join(days, ","), time_text(spec.at));
    }
    case Kind::cron: return fmt::format(R"({{"kind":"cron","cron":"{}"}})", spec.text);
    case Kind::rrule: return fmt::format(R"({{"kind":"rrule","rrule":"{}"}})", spec.text);
    case Kind::after: return fmt::format(R"({{"kind":"after","schedule":"{}"}})", spec.after);
    case Kind::delivery:
    case Kind::windows:
    case Kind::adaptive: break;
  }
  return {};
}

const char* name_of(Misfire misfire) {
  return misfire == Misfire::latest ? "latest" : misfire == Misfire::skip ? "skip" : "all";
}

const char* name_of(Overlap overlap) {
  switch (overlap) {
    case Overlap::allow: return "allow";
    case Overlap::skip: return "skip";
    case Overlap::queue_one: return "queue_one";
    case Overlap::replace: return "replace";
  }
  return "";
}

std::string limits_json(const JobSpec& spec) {
  std::vector<std::string> quoted;
  quoted.reserve(spec.limits.size());
  for (const std::string& limit : spec.limits) quoted.push_back("\"" + limit + "\"");
  return fmt::format("[{}]", fmt::join(quoted, ","));
}

}  // namespace

std::string time_text(Duration at) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(at).count();
  return fmt::format("{:02}:{:02}", minutes / 60, minutes % 60);
}

World::World(Specs& specs, Random random) : specs_(specs), random_(random) {
  const int count = random_.between(1, 3);
  for (int i = 0; i < count; ++i) tenants_.push_back(std::string(1, static_cast<char>('a' + i)) + "corp");
}

void World::draw_options(JobSpec& spec) {
  spec.queue = random_.pick(kQueues);
  switch (random_.below(6)) {
    case 0: spec.retry = RetryExponential{.base = random_.between(Duration(1s), Duration(2min)), .jitter = 0.2}; break;
    case 1: spec.retry = RetryFixed{.delay = random_.between(Duration(10s), Duration(10min))}; break;
    case 2: spec.retry = RetryNone{}; break;
    case 3: spec.retry = RetryTable{.delays = {10s, 1min, 5min}, .jitter = 0.3}; break;
    default: break;
  }
  spec.max_attempts = static_cast<std::uint32_t>(random_.between(1, 6));
  if (random_.percent(40)) spec.timeout = std::chrono::seconds(random_.between(20, 400));
  if (random_.percent(40)) spec.lease = std::chrono::seconds(random_.between(8, 90));
  if (random_.percent(25)) spec.limits.emplace_back(random_.pick(kLimits));
  if (random_.percent(5)) {
    spec.limits = {"api", "gpu"};
  }
  spec.notifies = random_.percent(12);
  if (random_.percent(20)) spec.on_ambiguous = OnAmbiguous::hold;
}

// ---- Schedules ----------------------------------------------------------------------------------------------------

ScheduleSpec& World::draw_schedule(const std::string& tenant, const std::string& name, Instant now) {
  ScheduleSpec& spec = specs_.add_schedule();
  spec.tenant = tenant;
  spec.name = name;
  static constexpr auto kKinds = std::to_array<Kind>(
      {Kind::every, Kind::every, Kind::daily, Kind::daily, Kind::weekly, Kind::weekly, Kind::cron, Kind::rrule});
  spec.kind = random_.pick(kKinds);
  static constexpr auto kEvery = std::to_array<Duration>({30min, 1h, 2h, 3h, 4h, 6h, 90min});
  spec.every = random_.pick(kEvery);
  if (random_.percent(50)) {
    spec.anchor =
        Instant(std::chrono::floor<std::chrono::days>(now)) - std::chrono::days(3) + random_.between(0, 3) * 1h;
  }
  spec.at = time_of(random_.pick(kTimes));
  for (unsigned day = 0; day < 7; ++day) {
    if (random_.percent(50)) spec.days.push_back(day);
  }
  if (spec.days.empty()) spec.days.push_back(0);
  spec.text = spec.kind == Kind::cron ? random_.pick(kCrons) : random_.pick(kRrules);
  if (spec.is_from_creation()) {
    spec.every = 5h;
    spec.count = spec.text.ends_with(";COUNT=7") ? 7 : 0;
  }
  spec.zone = random_.pick(kZones);
  const auto misfire = random_.below(4);
  spec.misfire = misfire == 0 ? Misfire::skip : misfire == 1 ? Misfire::all : Misfire::latest;
  spec.misfire_max = random_.between(1, 6);
  spec.grace = std::chrono::seconds(random_.percent(30) ? random_.between(1, 600) : 60);
  static constexpr auto kOverlaps =
      std::to_array<Overlap>({Overlap::allow, Overlap::allow, Overlap::skip, Overlap::queue_one, Overlap::replace});
  spec.overlap = spec.misfire == Misfire::all ? Overlap::allow : random_.pick(kOverlaps);
  if (random_.percent(40)) spec.jitter = std::chrono::seconds(random_.between(1, 600));
  spec.enabled = random_.percent(96);
  JobSpec& job = specs_.add_job();
  job.tenant = tenant;
  job.type = random_.pick(kTypes);
  draw_options(job);
  job.payload = fmt::format("{{\"s\":{}}}", spec.number);
  specs_.index(job);
  spec.job = &job;
  return spec;
}

namespace {

std::string job_json(const JobSpec& job, bool is_delivery) {
  const std::string retries =
      is_delivery ? ""
                  : fmt::format(R"({}"max_attempts":{},)",
                                job.retry ? "\"retry\":" + format_retry_json(*job.retry) + "," : "", *job.max_attempts);
  return fmt::format(
      R"({{"type":"{}","queue":"{}","payload":{},{}"timeout":"{}","lease":"{}","limits":{},"notifies":{},"on_ambiguous":"{}"}})",
      job.type, job.queue, job.payload, retries, format_duration(job.timeout), format_duration(job.lease),
      limits_json(job), job.notifies, job.on_ambiguous == OnAmbiguous::hold ? "hold" : "retry");
}

}  // namespace

std::string World::definition_of(const ScheduleSpec& spec) {
  std::string text =
      fmt::format(R"({{"name":"{}","enabled":{},"fan_out":{},"trigger":{},"timezone":"{}","job":{})", spec.name,
                  spec.enabled, spec.fan_out, is_by_subject(spec.kind) ? trigger_of_subjects(spec) : trigger_of(spec),
                  spec.zone, job_json(*spec.job, spec.kind == Kind::delivery));
  if (spec.on_cutoff) text += R"(,"on_cutoff":)" + job_json(*spec.on_cutoff, false);
  if (!is_by_subject(spec.kind)) {
    text += fmt::format(R"(,"misfire":{{"policy":"{}","max":{},"grace":"{}"}},"overlap":"{}","jitter":"{}")",
                        name_of(spec.misfire), spec.misfire_max, format_duration(spec.grace), name_of(spec.overlap),
                        format_duration(spec.jitter));
  }
  return text + "}";
}

// ---- Jobs ---------------------------------------------------------------------------------------------------------

JobRequest request_of(const JobSpec& spec) {
  return {.type = spec.type,
          .tenant = spec.tenant,
          .queue = spec.queue,
          .payload = spec.payload,
          .deadline = spec.deadline,
          .idempotency_key = spec.key.empty() ? std::nullopt : std::optional(spec.key),
          .unique_until = spec.hold,
          .retry = spec.retry,
          .max_attempts = spec.max_attempts,
          .timeout = spec.timeout,
          .lease = spec.lease,
          .limits = spec.limits,
          .notifies = spec.notifies,
          .on_ambiguous = spec.on_ambiguous,
          .run_anyway = spec.run_anyway};
}

World::Wanted World::draw_job(const std::vector<JobId>& recent, Instant now) {
  const std::string tenant = any_tenant();
  Duration delay{};
  if (random_.percent(35)) delay = random_.between(Duration(1s), Duration(10min));
  if (random_.percent(15)) delay = random_.between(Duration(10min), Duration(8h));
  if (random_.percent(12)) {
    const std::string name = fmt::format("key-{}", random_.below(30));
    const JobSpec*& last = keyed_[tenant + name];
    if (last == nullptr || random_.percent(15)) {
      JobSpec& spec = specs_.add_job();
      spec.tenant = tenant;
      spec.type = kTypes[0];
      spec.key = name;
      draw_options(spec);
      if (random_.percent(40)) spec.hold.until = KeyHold::Until::done;
      if (random_.percent(20)) spec.hold = {.until = KeyHold::Until::elapsed, .duration = 2h};
      specs_.index(spec);
      last = &spec;
    }
    Wanted wanted{.spec = last, .request = request_of(*last)};
    wanted.request.run_at = in(delay);
    return wanted;
  }
  JobSpec& spec = specs_.add_job();
  spec.tenant = tenant;
  spec.type = random_.pick(kTypes);
  if (random_.percent(50)) draw_options(spec);
  if (random_.percent(8)) {
    // Often shorter than a tick: it may pass between two of them.
    spec.deadline = now + delay + random_.between(Duration(1s), random_.percent(40) ? Duration(20s) : Duration(2h));
  }
  spec.run_anyway = random_.percent(30);
  specs_.index(spec);
  Wanted wanted{.spec = &spec, .request = request_of(spec)};
  wanted.request.run_at = in(delay);
  if (random_.percent(30)) wanted.request.priority = random_.between(1, 5);
  if (!recent.empty() && random_.percent(8)) {
    wanted.request.depends_on.push_back(random_.pick(recent));
    if (random_.percent(30)) wanted.request.depends_on.push_back(random_.pick(recent));
  }
  return wanted;
}

// ---- Rules --------------------------------------------------------------------------------------------------------

RulePut World::draw_settings() {
  RulePut put{.key = {.tenant = any_tenant(), .kind = "settings", .name = {}}};
  put.text.weight = static_cast<std::uint32_t>(random_.between(1, 3));
  if (random_.percent(50)) put.text.cap = static_cast<std::uint32_t>(random_.between(1, 4));
  put.text.paused = random_.percent(15);
  std::string quiet = "null";
  if (random_.percent(60)) {
    const char* const zone = random_.pick(kZones);
    const int start = random_.between(0, 23);
    const int hours = random_.between(1, 9);
    put.text.quiet = QuietTime{.start = start * 1h, .end = (start + hours) % 24 * 1h, .zone = zone};
    quiet =
        fmt::format(R"({{"start":"{:02}:00","end":"{:02}:00","timezone":"{}"}})", start, (start + hours) % 24, zone);
  }
  put.json = fmt::format(R"({{"weight":{},"max_concurrency":{},"paused":{},"quiet_hours":{}}})", put.text.weight,
                         put.text.cap ? std::to_string(*put.text.cap) : "null", put.text.paused, quiet);
  return put;
}

RulePut World::draw_limit() {
  RulePut put{.key = {.tenant = random_.percent(60) ? any_tenant() : std::string(),
                      .kind = "limit",
                      .name = random_.pick(kLimits)}};
  if (random_.percent(20)) {
    put.text.exists = false;
    return put;
  }
  put.json = "{";
  if (random_.percent(60)) {
    put.text.rate = random_.between(1, 4);
    put.text.per = random_.percent(50) ? Duration(10s) : Duration(1min);
    put.text.burst = random_.between(1, 3);
    put.json += fmt::format(R"("rate":{},"per":"{}","burst":{})", *put.text.rate, format_duration(put.text.per),
                            put.text.burst);
  }
  if (!put.text.rate || random_.percent(50)) {
    put.text.cap = static_cast<std::uint32_t>(random_.between(1, 3));
    put.json += fmt::format(R"({}"concurrency":{})", put.text.rate ? "," : "", *put.text.cap);
  }
  put.json += "}";
  return put;
}

RulePut World::draw_rule(Instant now) {
  switch (random_.below(8)) {
    case 0:
    case 1: return draw_settings();
    case 2:
    case 3:
    case 4: return draw_limit();
    case 5: {
      RulePut put{.key = {.tenant = any_tenant(), .kind = "queue", .name = random_.percent(50) ? "mail" : "bulk"}};
      if (random_.percent(60)) put.text.cap = static_cast<std::uint32_t>(random_.between(1, 3));
      put.text.paused = random_.percent(25);
      put.json = fmt::format(R"({{"max_concurrency":{},"paused":{}}})",
                             put.text.cap ? std::to_string(*put.text.cap) : "null", put.text.paused);
      return put;
    }
    case 6: {
      RulePut put{.key = {.tenant = {}, .kind = "config", .name = {}}};
      if (random_.percent(50)) put.text.cap = static_cast<std::uint32_t>(random_.between(1, 6));
      put.text.paused = random_.percent(10);
      put.json = fmt::format(R"({{"max_concurrent_jobs":{},"enabled":{}}})",
                             put.text.cap ? std::to_string(*put.text.cap) : "null", !put.text.paused);
      return put;
    }
    default: {
      RulePut put{
          .key = {.tenant = random_.percent(70) ? any_tenant() : std::string(), .kind = "maintenance", .name = {}}};
      if (random_.percent(40)) {
        put.text.exists = false;
        return put;
      }
      put.json = "{}";
      if (random_.percent(80)) {
        put.text.until = std::chrono::floor<std::chrono::seconds>(now) + random_.between(1, 120) * 1min;
        put.json = fmt::format(R"({{"until":"{}"}})", format_instant(*put.text.until));
      }
      return put;
    }
  }
}

std::vector<RulePut> World::all_open() const {
  std::vector<RulePut> puts;
  const auto add = [&](const std::string& tenant, const char* kind, const char* name, const char* json) {
    RulePut& put = puts.emplace_back();
    put.key = {.tenant = tenant, .kind = kind, .name = name};
    put.json = json;
    put.text.exists = !put.json.empty();
  };
  add("", "config", "", R"({"max_concurrent_jobs":null,"enabled":true})");
  add("", "maintenance", "", "");
  for (const std::string& tenant : tenants_) {
    add(tenant, "maintenance", "", "");
    add(tenant, "settings", "", R"({"weight":1,"max_concurrency":null,"paused":false,"quiet_hours":null})");
    for (const char* const queue : {"mail", "bulk"})
      add(tenant, "queue", queue, R"({"max_concurrency":null,"paused":false})");
  }
  return puts;
}

}  // namespace carillon::sim
