// The attempts under way, of handlers here and of workers outside: what they hold, what ends them, and the words about
// them that are to be written.
//
// Only the node's driver calls.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/attempts/run_table.h"
#include "engine/attempts/settling.h"
#include "engine/pulls/pull_desk.h"
#include "engine/ready/dispatcher.h"
#include "engine/round/round.h"
#include "engine/upkeep/rule_book.h"
#include "store/store.h"

namespace carillon {

// Since its handler was entered; nothing before that.
Duration duration_of(const Run& run, BootTime now);

class Attempts {
 public:
  Attempts(const RuleBook& rules, Dispatcher& dispatcher, const StoreClock& clock, std::uint32_t max_concurrency)
      : rules_(rules), dispatcher_(dispatcher), clock_(clock), max_concurrency_(max_concurrency) {}
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;
  ~Attempts() = default;

  RunTable& runs() { return runs_; }
  const RunTable& runs() const { return runs_; }
  PullDesk& desk() { return desk_; }
  const PullDesk& desk() const { return desk_; }

  // How many of our own may run at once: our own cap, unless the cap for all leaves fewer.
  std::size_t slot_count() const;

  // ---- Words ----
  const std::vector<Settling>& words() const { return words_; }
  void say(Settling word) { words_.push_back(std::move(word)); }
  std::vector<Settling> take_words() { return std::exchange(words_, {}); }

  // ---- What they hold ----
  // Something ended: another may start.
  void freed();
  bool has_freed() const { return freed_; }
  void note_freed() { freed_ = true; }
  void forget_freed() { freed_ = false; }
  void free_caps(Run& run, bool tokens_too, Instant now);
  // The attempt is not ours any more: what it says will be refused. Its thread keeps its slot until it returns.
  void lost(Run& run, Instant now);
  // The store has moved or ended a job: what ran of it is lost, after the commit.
  void changed(Round& round, const Changed& changed);
  void lease_is_gone(JobId job, Instant now);

  // ---- Ending them ----
  // A handler that runs is asked to stop, after the commit.
  void ask_to_stop(Round& round, JobId job);
  // Hands back those of the attempts that wait for a slot.
  void take_back(const std::function<bool(const Run&)>& which);
  // Those of a schedule, after the commit.
  void take_back_of(Round& round, std::string_view tenant, std::string_view schedule,
                    std::optional<std::string_view> subject);
  void hand_back(const RunPtr& run);
  // What still runs is handed back too.
  void release_all();
  // Nothing runs and nothing is to be written, but for handlers that ignored their timeout.
  bool is_idle() const;

 private:
  const RuleBook& rules_;
  Dispatcher& dispatcher_;
  const StoreClock& clock_;
  const std::uint32_t max_concurrency_;
  RunTable runs_;
  PullDesk desk_;
  std::vector<Settling> words_;
  bool freed_ = false;  // something ended since the last pick
};

}  // namespace carillon
