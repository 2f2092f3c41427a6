// Planted bugs, to prove that the simulation would find real ones.
//
// They exist only in builds with CARILLON_MUTANTS, where one of them can be switched on. Everywhere else `mutant` is a
// constant, and the compiler leaves nothing of them.
#pragma once

#include <cstdint>

namespace carillon {

enum class Mutant : std::uint8_t {
  none,
  no_fence_check,
  answer_before_commit,
  wall_clock_lease,
  next_on_completion,
  occurrence_without_schedule,
  loss_not_counted,
  naive_dst,
  cap_read_before_claim,
  gate_only_before_claim,
  key_freed_on_retry,
  dlq_counts_as_open,
  max_cursor,
  cancelled_window_blocks_cursor,
  success_after_cutoff,
  cutoff_by_tick_time,
  tokens_leak_on_release,
  dependents_fire_twice,
  paused_time_caught_up,
  stale_entry_trusted,
  equal_run_at_lost,
  jitter_rolled_again,
  settlements_forgotten,
  held_jobs_forgotten,
  leases_not_recovered,
  early_jobs_dropped,
  opening_forgets_jobs,
  horizon_too_far,
  missed_range_lost,
  deadline_ignored,
  running_spared_at_cutoff,
  naive_utc_day,
  cutoff_off_by_one,
  mode_edit_reruns_window,
  claims_ahead_start,
  ahead_loss_costs_an_attempt,
  deferral_untold,
  parked_looks_healthy,
  range_on_its_first_day,
  cancelled_stays_ready,
  creation_is_an_occurrence,
  first_try_on_the_grid,
  last,
};

#ifdef CARILLON_MUTANTS

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): test builds only, set before anything runs
inline Mutant g_mutant = Mutant::none;
inline bool mutant(Mutant which) { return g_mutant == which; }
// How many nodes have begun.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
inline std::int64_t g_mutant_nodes = 0;
inline void mutant_node_begins() { ++g_mutant_nodes; }
inline std::int64_t mutant_nodes() { return g_mutant_nodes; }

#else

constexpr bool mutant(Mutant /*which*/) { return false; }
constexpr void mutant_node_begins() {}
constexpr std::int64_t mutant_nodes() { return 0; }

#endif

}  // namespace carillon
