#include "engine/attempts/run_table.h"

#include <algorithm>
#include <iterator>

namespace carillon {

namespace {

constexpr BootTime kLately = std::chrono::milliseconds(10);
// One that waits for a thread is looked at so often, to tell the store when its timeout begins.
constexpr BootTime kLookAtWaiting = std::chrono::milliseconds(200);

// When a started one times out.
std::optional<BootTime> times_out_at(const Run& run) {
  const BootTime started = run.started_boot;
  if (started == BootTime::zero()) return std::nullopt;
  return started + run.job.timeout;
}

}  // namespace

bool RunTable::timeout_is_early(const Run& run) {
  const BootTime started = run.started_boot;
  return started == BootTime::zero() || started > run.timeout_from;
}

void RunTable::note_due(BootTime at) {
  if (!next_due_ || at < *next_due_) next_due_ = at;
}

void RunTable::add(const RunPtr& run, BootTime sent) {
  run->claimed_boot = sent;
  run->timeout_from = sent;
  renewed(*run, sent);
  RunPtr& place = runs_[run->job.id];
  if (place) outlived_.push_back(std::move(place));
  place = run;
  if (run->job.ahead) parts_[run->outside ? 1 : 0].ahead.push_back(run);
}

std::size_t RunTable::running(const std::function<bool(const std::string&)>& of_tenant) const {
  const auto counts = [&](const RunPtr& run) {
    return run->is_running() && (!of_tenant || of_tenant(run->job.tenant));
  };
  std::size_t count = 0;
  for (const auto& [id, run] : runs_) {
    if (counts(run)) ++count;
  }
  return count + static_cast<std::size_t>(std::ranges::count_if(outlived_, counts));
}

void RunTable::look_for_begun(std::size_t threads) {
  look_for_begun(parts_[0].ahead, threads);
  look_for_begun(parts_[1].ahead, SIZE_MAX);
}

void RunTable::look_for_begun(std::deque<RunPtr>& ahead, std::size_t most) {
  std::vector<RunPtr> waiting;
  while (!ahead.empty() && waiting.size() < most) {
    RunPtr run = std::move(ahead.front());
    ahead.pop_front();
    const Run::Phase phase = run->phase;
    if (run->over || run->ending || phase == Run::Phase::withdrawn) continue;  // its end is written, or about to be
    (phase == Run::Phase::claimed ? waiting : begun_).push_back(std::move(run));
  }
  ahead.insert(ahead.begin(), std::make_move_iterator(waiting.begin()), std::make_move_iterator(waiting.end()));
}

void RunTable::renewed(Run& run, BootTime sent) {
  run.lease_until = sent + run.job.lease;
  run.beat_at = sent + run.job.lease / kBeatsPerLease;
  note_due(std::min({run.beat_at, sent + run.job.timeout, sent + kLookAtWaiting}));
}

RunPtr RunTable::find(JobId job) const {
  const auto found = runs_.find(job);
  return found == runs_.end() ? nullptr : found->second;
}

void RunTable::remove(const Run& run, BootTime boot) {
  const auto found = runs_.find(run.job.id);
  if (found != runs_.end() && found->second.get() == &run) {
    runs_.erase(found);
  } else if (std::erase_if(outlived_, [&](const RunPtr& other) { return other.get() == &run; }) == 0) {
    return;
  }
  Part& part = parts_[run.outside ? 1 : 0];
  if (part.lately.empty() || part.lately.back().at != boot) part.lately.push_back({.at = boot, .count = 0});
  ++part.lately.back().count;
  ++part.lately_count;
}

std::vector<RunPtr> RunTable::all() const {
  std::vector<RunPtr> runs;
  runs.reserve(size());
  for (const auto& [id, run] : runs_) runs.push_back(run);
  runs.insert(runs.end(), outlived_.begin(), outlived_.end());
  // The same order in every process: what follows from it must not depend on a hash table.
  std::ranges::sort(runs, {}, [](const RunPtr& run) { return std::pair(run->job.id, run->job.token); });
  return runs;
}

RunTable::Due RunTable::due(BootTime boot) {
  Due due;
  if (!next_due_ || *next_due_ > boot) return due;
  next_due_.reset();
  for (const RunPtr& run : all()) {
    if (run->over || run->ending) continue;
    const auto times_out = times_out_at(*run);
    if (times_out && *times_out <= boot) {
      due.timeouts.push_back(run);
      note_due(boot + kLookAtWaiting);
      continue;
    }
    if (run->beat_at <= boot || (times_out && timeout_is_early(*run))) {
      due.beats.push_back(run);
      note_due(boot + kLookAtWaiting);
    } else {
      note_due(run->beat_at);
    }
    note_due(times_out ? *times_out : boot + kLookAtWaiting);
  }
  return due;
}

std::size_t RunTable::lately_finished(bool outside, BootTime boot) {
  Part& part = parts_[outside ? 1 : 0];
  while (!part.lately.empty() && part.lately.front().at + kLately < boot) {
    part.lately_count -= part.lately.front().count;
    part.lately.pop_front();
  }
  return part.lately_count;
}

}  // namespace carillon
