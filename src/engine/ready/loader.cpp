#include "engine/ready/loader.h"

#include "base/mutant.h"

namespace carillon {

namespace {

constexpr std::size_t kRulesPage = 500;
constexpr std::size_t kJobsPage = 5000;
// How far ahead of their time far-off jobs come into memory. More than what makes a job far-off (10 minutes), and by
// more than a round or a tick takes: what is not far-off when it is written must lie within the horizon.
constexpr Duration kAhead = std::chrono::minutes(15);
// A tick may come every second, and finds no more by looking further ahead each time.
constexpr Duration kLookStep = std::chrono::seconds(10);

}  // namespace

Result<void> Loader::step(Round& round) {
  switch (stage_) {
    case Stage::rules: return load_rules(round);
    case Stage::followers: {
      TRY_ASSIGN(const bool end, planner_.load_followers(round));
      if (end) round.on_commit.emplace_back([this] { stage_ = Stage::schedules; });
      return {};
    }
    case Stage::schedules: {
      TRY_ASSIGN(const bool end, planner_.load(round));
      if (end) {
        round.on_commit.emplace_back([this] { stage_ = has_jobs_ ? Stage::done : Stage::jobs; });
        // At once: what this round adds must reach as far as the reading that begins. It begins anew if this fails.
        if (!has_jobs_ && !jobs_to_) horizon_ = add_clamped(round.now, kAhead);
      }
      return {};
    }
    case Stage::jobs: return load_jobs(round);
    case Stage::done: return {};
  }
  return {};
}

void Loader::reload() {
  stage_ = Stage::rules;
  rules_to_ = {};
  documents_.clear();
  planner_.load_again();
}

bool Loader::will_find(const ReadyJob& job, Instant now) const {
  if (has_jobs_) return false;
  switch (stage_) {
    case Stage::rules:
    case Stage::followers:
    case Stage::schedules:
      if (!jobs_to_) return job.run_at <= add_clamped(now, kAhead);
      [[fallthrough]];
    case Stage::jobs: return job.id > jobs_to_ && job.run_at <= horizon_;
    case Stage::done: return false;
  }
  return false;
}

void Loader::step_over(std::span<const ReadyJob> jobs, Instant now) {
  for (const ReadyJob& job : jobs) {
    if (will_find(job, now)) stepped_over_.insert(job.id);
  }
}

Result<void> Loader::load_rules(Round& round) {
  // They take effect at once: nothing of the round is written before, so that all of them are committed.
  TRY_ASSIGN(const std::vector<Document> documents, store_.admin().documents_above(rules_to_, kRulesPage));
  for (const Document& document : documents) {
    documents_.insert(document.key);
    if (document.key.kind == kBulkKind) {
      bulk_.resume(document);
    } else if (document.key.kind == kReplanKind) {
      planner_.resume_replan(document);
    } else if (document.key.kind == kImportKind) {
      imports_.resume(document, round.boot);
    } else if (document.key.kind == kErasureKind) {
      erasure_.resume(document);
    } else if (document.key.kind != kImportPartKind) {
      rules_.apply(document.key, document.body, dispatcher_.ready(), round.now, RuleBook::Why::was_read);
    }
  }
  if (documents.size() < kRulesPage) {
    for (const DocumentKey& key : rules_.keys()) {
      if (documents_.contains(key)) continue;
      rules_.apply(key, std::nullopt, dispatcher_.ready(), round.now, RuleBook::Why::was_read);
    }
  }
  const bool end = documents.size() < kRulesPage;
  bool knows_followers = false;
  if (end) {
    // Few follow others: mostly they are known with the rules.
    TRY_ASSIGN(knows_followers, planner_.load_followers(round));
  }
  round.on_commit.emplace_back(
      [this, end, knows_followers, last = documents.empty() ? rules_to_ : documents.back().key] {
        rules_to_ = last;
        if (!end) return;
        stage_ = knows_followers ? Stage::schedules : Stage::followers;
        rules_.all_are_read();
      });
  return {};
}

Result<void> Loader::load_jobs(Round& round) {
  TRY_ASSIGN(LivePage page, store_.jobs().load_live(jobs_to_, horizon_, kJobsPage));
  std::erase_if(page.jobs, [&](const ReadyJob& job) { return stepped_over_.contains(job.id); });
  TRY(dispatcher_.add(page.jobs, kInstantMax, round.now));
  round.add_read_back(std::move(page.jobs));
  round.on_commit.emplace_back([this, next = page.next_after, end = page.end] {
    jobs_to_ = next;
    if (!end) return;
    has_jobs_ = true;
    stage_ = Stage::done;
    stepped_over_.clear();
  });
  return {};
}

Result<void> Loader::load_later(Round& round) {
  if (stage_ < Stage::jobs) return {};
  const Instant until = add_clamped(round.now, kAhead);
  if (until - kLookStep <= horizon_) return {};
  TRY_ASSIGN(std::vector<ReadyJob> jobs, store_.jobs().load_later(horizon_, until, kJobsPage));
  // What this very round has read is no longer in memory if it fails.
  round.on_failure.emplace_back([this] { reading_to_ = kInstantMin; });
  const bool all = jobs.size() < kJobsPage;
  // Several may be due at the same instant as the last one of a full page: go on from right before it.
  const Instant reached = all ? until : jobs.back().run_at - std::chrono::microseconds(1);
  if (reached <= horizon_) {
    // More than a page at one instant: take them all.
    TRY_ASSIGN(std::vector<ReadyJob> whole, store_.jobs().load_later(horizon_, jobs.back().run_at, SIZE_MAX));
    TRY(dispatcher_.add(whole, jobs.back().run_at, round.now));
    round.add_read_back(std::move(whole));
    reading_to_ = jobs.back().run_at;
    round.on_commit.emplace_back([this, at = jobs.back().run_at] { horizon_ = at; });
    return {};
  }
  std::erase_if(jobs, [&](const ReadyJob& job) { return job.run_at > reached; });
  TRY(dispatcher_.add(jobs, reached, round.now));
  round.add_read_back(std::move(jobs));
  reading_to_ = reached;
  const Duration too_far = mutant(Mutant::horizon_too_far) ? Duration(std::chrono::minutes(30)) : Duration(0);
  round.on_commit.emplace_back([this, reached, too_far] { horizon_ = reached + too_far; });
  return {};
}

}  // namespace carillon
