// The world of one seed: who its tenants are, what they schedule, what they ask for.
#pragma once

#include <carillon/job_request.h>

#include <array>
#include <string>
#include <vector>

#include "sim/random.h"
#include "sim/rules.h"
#include "sim/spec.h"

namespace carillon::sim {

// Those that the judge's calendar knows.
inline constexpr auto kZones = std::to_array<const char*>({"UTC", "Europe/London", "America/New_York"});

std::string time_text(Duration at);  // 08:30

// A rule in both languages: the judge's, and the JSON of the documentation.
struct RulePut {
  DocumentKey key;
  RuleText text;
  std::string json;  // "": it is deleted
};

class World {
 public:
  World(Specs& specs, Random random);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() = default;

  const std::vector<std::string>& tenants() const { return tenants_; }
  const std::string& any_tenant() { return random_.pick(tenants_); }

  // A schedule, new or under a name that there is already, and its definition.
  ScheduleSpec& draw_schedule(const std::string& tenant, const std::string& name, Instant now);
  static std::string definition_of(const ScheduleSpec& spec);
  // The same of one with subjects.
  ScheduleSpec& draw_with_subjects(Kind kind, const std::string& tenant, const std::string& name);
  // A subject, or a change of one, and what is said about it.
  SubjectSpec& draw_subject(const ScheduleSpec& schedule, const SubjectSpec* before, Instant now);
  static std::string body_of(const SubjectSpec& spec);

  // What somebody enqueues. `recent` are jobs that it may wait for.
  struct Wanted {
    const JobSpec* spec = nullptr;
    JobRequest request;
  };
  Wanted draw_job(const std::vector<JobId>& recent, Instant now);

  RulePut draw_rule(Instant now);
  // Everything open again.
  std::vector<RulePut> all_open() const;

 private:
  void draw_options(JobSpec& spec);
  Duration draw_time();
  void draw_delivery(ScheduleSpec& spec, JobSpec& job);
  void draw_windows(ScheduleSpec& spec, JobSpec& job);
  static std::string trigger_of_subjects(const ScheduleSpec& spec);
  void draw_checks(ScheduleSpec& spec, JobSpec& job);
  RulePut draw_settings();
  RulePut draw_limit();

  Specs& specs_;
  Random random_;
  std::vector<std::string> tenants_;
  std::map<std::string, const JobSpec*> keyed_;  // the last one that was asked for under a key
};

JobRequest request_of(const JobSpec& spec);

}  // namespace carillon::sim
