#include "server/api/job_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/jobs/job_fields.h"
#include "core/jobs/job_state.h"

namespace carillon::server {

namespace {

constexpr std::size_t kFilterBytesMax = 1000;  // of one field
constexpr auto kFilterFields =
    field_names("state", "type", "queue", "schedule", "subject", "tag", "text", "since", "until");

struct TextField {
  std::string_view name;
  std::optional<std::string> JobQuery::* member;
};
constexpr std::array kTextFields{TextField{"type", &JobQuery::type},         TextField{"queue", &JobQuery::queue},
                                 TextField{"schedule", &JobQuery::schedule}, TextField{"subject", &JobQuery::subject},
                                 TextField{"tag", &JobQuery::tag},           TextField{"text", &JobQuery::text}};

Result<std::vector<JobState>> listed_states(const std::optional<std::string>& text) {
  std::vector<JobState> states;
  if (!text) return states;
  std::string_view left = *text;
  while (true) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const auto state = job_state_from(left.substr(0, comma));
    if (!state) {
      return invalid_field("state",
                           fmt::format("query state: {} is none of waiting, queued, processing, dlq, done, skipped, "
                                       "cancelled, cutoff_reached, missed",
                                       quoted(left.substr(0, comma))));
    }
    states.push_back(*state);
    if (comma == left.size()) return states;
    left.remove_prefix(comma + 1);
  }
}

Result<std::vector<JobState>> listed_states(const JsonFields& fields) {
  std::vector<JobState> states;
  const Json* const given = fields.optional("state");
  if (given == nullptr) return states;
  const bool one = given->type == JsonType::string;
  if (!one && given->type != JsonType::array) {
    return fields.fail(*given, "state", "expected a state or a list of states");
  }
  for (const Json& item : one ? std::span(given, 1) : std::span(given->items)) {
    const auto known = job_state_from(item.text);
    if (!known) return fields.fail(item, "state", fmt::format("{} is not a state", quoted(item.text)));
    // Each once: every job that is looked at is compared with all of them.
    if (std::ranges::find(states, *known) == states.end()) states.push_back(*known);
  }
  return states;
}

}  // namespace

Result<JobQuery> read_job_query(QueryFields& fields, std::string tenant) {
  JobQuery query{.tenant = std::move(tenant)};
  TRY_ASSIGN(const auto state, fields.text("state"));
  TRY_ASSIGN(query.states, listed_states(state));
  for (const TextField& field : kTextFields) {
    TRY_ASSIGN(query.*field.member, fields.text(field.name));
  }
  TRY_ASSIGN(query.since, fields.instant("since"));
  TRY_ASSIGN(query.until, fields.instant("until"));
  return query;
}

Result<JobQuery> read_job_query(std::string_view text, const Json& filter, std::string tenant) {
  JobQuery query{.tenant = std::move(tenant)};
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, filter, "filter", kFilterFields));
  TRY_ASSIGN(query.states, listed_states(fields));
  for (const TextField& field : kTextFields) {
    TRY_ASSIGN(query.*field.member, read_text_field(fields, field.name));
  }
  for (const TextField& field : kTextFields) {
    const std::optional<std::string>& said = query.*field.member;
    if (!said || said->size() <= kFilterBytesMax) continue;
    return fields.fail(*filter.find(field.name), field.name,
                       fmt::format("has {} bytes; at most {} are allowed", said->size(), kFilterBytesMax));
  }
  TRY_ASSIGN(query.since, read_instant_field(text, fields, "since"));
  TRY_ASSIGN(query.until, read_instant_field(text, fields, "until"));
  return query;
}

}  // namespace carillon::server
