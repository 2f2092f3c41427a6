#include "engine/attempts/beats.h"

namespace carillon {

void Beats::collect(const Round& round) {
  attempts_.runs().look_for_begun(threads_);
  due_ = attempts_.runs().due(round.boot);
  for (const RunPtr& run : due_.timeouts) {
    run->ending = true;
    attempts_.say({.run = run, .settlement = timeout_of(*run), .thread_is_back = false});
  }
}

// Before leases are looked at that have run out: one that has begun is lost as any other is.
Result<void> Beats::write(Round& round) {
  TRY(write_begun(round));
  return write_heartbeats(round);
}

Result<void> Beats::write_begun(Round& round) {
  if (attempts_.runs().begun().empty()) return {};
  std::vector<LeaseKey> begun;
  for (const RunPtr& run : attempts_.runs().begun()) {
    if (!run->over && !run->ending) begun.push_back({.job = run->job.id, .token = run->job.token});
  }
  TRY(store_.jobs().begun(begun));
  round.on_commit.emplace_back([this] { attempts_.runs().begun_is_stored(); });
  return {};
}

Result<void> Beats::write_heartbeats(Round& round) {
  if (due_.beats.empty()) return {};
  std::vector<Extension> extensions;
  std::vector<bool> rebased;
  for (const RunPtr& run : due_.beats) {
    // The timeout counts from the moment the handler starts: until then, and once after, it begins anew.
    const bool rebase = RunTable::timeout_is_early(*run);
    rebased.push_back(rebase);
    Extension extension{
        .job = run->job.id, .token = run->job.token, .started = !rebase, .progress = run->take_progress()};
    if (extension.progress) {
      round.on_failure.emplace_back([run, text = *extension.progress] { run->give_back_progress(text); });
    }
    extensions.push_back(std::move(extension));
  }
  auto answers = store_.jobs().extend(extensions);
  round.on_commit.emplace_back([this, &round, rebased = std::move(rebased), answers = std::move(answers)] {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      Run& run = *due_.beats[i];
      if (answers[i]) {
        if (rebased[i]) run.timeout_from = round.boot;
        attempts_.runs().renewed(run, round.boot);
        if (answers[i]->cancel_requested) run.stop_requested = true;
      } else if (answers[i].error().code == ErrorCode::stale_token || answers[i].error().code == ErrorCode::not_found) {
        attempts_.lost(run, round.now);
      }
    }
  });
  return {};
}

}  // namespace carillon
