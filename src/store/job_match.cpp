#include "store/job_match.h"

#include <algorithm>

#include "store/job_text.h"

namespace carillon {

bool JobMatcher::names(const Lane& lane, std::string_view type, JobId id) const {
  if (lane.tenant != query_.tenant) return false;
  if (query_.queue && lane.queue != *query_.queue) return false;
  if (query_.type && type != *query_.type) return false;
  if (query_.since && made_at(id) < *query_.since) return false;
  return !query_.until || made_at(id) < *query_.until;
}

bool JobMatcher::state(JobState state) const {
  return query_.states.empty() || std::ranges::find(query_.states, state) != query_.states.end();
}

bool JobMatcher::payload(std::string_view payload) const {
  return !query_.text || payload.find(*query_.text) != std::string_view::npos;
}

bool JobMatcher::told(const Told& row) {
  if (!query_.schedule && !query_.subject && !query_.tag) return true;
  if (row.options != text_) {
    auto options = read_options(row.options);
    if (!options) return false;
    options_ = *std::move(options);
    text_ = row.options;
  }
  const std::string_view subject = options_.label.empty() ? row.subject : std::string_view(options_.label);
  if (query_.subject && subject != *query_.subject) return false;
  if (query_.tag && std::ranges::find(options_.tags, *query_.tag) == options_.tags.end()) return false;
  return !query_.schedule || row.is_of_schedule || (options_.beside && options_.beside->schedule == *query_.schedule);
}

}  // namespace carillon
