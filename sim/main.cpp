// carillon_sim: simulated days of the real engine, judged.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>

#include "base/mutant.h"
#include "sim/simulation.h"

namespace carillon::sim {

namespace {

struct Arguments {
  double seconds = 0;
  std::uint64_t seeds = 0;
  std::optional<std::uint64_t> seed;
  int days = 3;
  std::string store = "memory";
  std::string regressions;
  bool twice = false;
  bool compare = false;
  bool verbose = false;
  bool mutants = false;
  std::string named;  // of the mutants, those with this in their names
};

struct Totals {
  double days = 0;
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  std::uint64_t jobs = 0;
  std::uint64_t starts = 0;
  FaultCounts faults;
  std::uint64_t violations = 0;
};

// For the handler of SIGABRT: which seed a failed CHECK belongs to.
std::uint64_t g_seed = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::string g_command;     // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void on_abort(int) {
  fmt::print(stderr, "seed {}: the engine found itself broken (CHECK)\nreplay: {}\n", g_seed, g_command);
  std::fflush(stderr);
}

std::string command_of(const SimulationOptions& options) {
  return fmt::format("carillon_sim --seed {} --days {} --store {}{}", options.seed, options.days,
                     options.store == StoreKind::memory ? "memory" : "sqlite", options.power_loss ? "" : " --compare");
}

SimulationReport run_one(const SimulationOptions& options, Totals& totals) {
  g_seed = options.seed;
  g_command = command_of(options);
  Simulation simulation(options);
  const SimulationReport report = simulation.run();
  ++totals.seeds;
  totals.days += report.days;
  totals.steps += report.steps;
  totals.jobs += report.jobs;
  totals.starts += report.starts;
  totals.faults.add(report.faults);
  if (report.violation) {
    ++totals.violations;
    fmt::print("FAILED seed {} commit {} step {} invariant {} at {}: {}\nreplay: {}\n", options.seed, CARILLON_COMMIT,
               report.steps, report.violation->invariant, format_instant(report.at), report.violation->what,
               command_of(options));
    std::fflush(stdout);
  }
  return report;
}

void run_seed(const Arguments& arguments, SimulationOptions options, Totals& totals) {
  options.power_loss = !arguments.compare;
  const SimulationReport first = run_one(options, totals);
  if (arguments.verbose) fmt::print("seed {}: {} steps, hash {:016x}\n", options.seed, first.steps, first.hash);
  if (!arguments.twice && !arguments.compare) return;
  SimulationOptions again = options;
  again.verbose = false;
  if (arguments.compare) again.store = options.store == StoreKind::memory ? StoreKind::sqlite : StoreKind::memory;
  const SimulationReport second = run_one(again, totals);
  if (first.hash == second.hash) return;
  ++totals.violations;
  fmt::print("FAILED seed {}: two runs differ, {:016x} and {:016x}\n", options.seed, first.hash, second.hash);
}

std::vector<std::uint64_t> seeds_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<std::uint64_t> seeds;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    seeds.push_back(std::stoull(line));
  }
  return seeds;
}

int report(const Totals& totals, const Arguments& arguments, double seconds) {
  fmt::print("{} seeds, {:.1f} days, {:.1f} days per second and core, {} jobs, {} starts, {} steps\n", totals.seeds,
             totals.days, totals.days / seconds, totals.jobs, totals.starts, totals.steps);
  for (std::size_t i = 0; i < kFaultNames.size(); ++i) {
    fmt::print("  {:<22}{}\n", kFaultNames[i], totals.faults.all()[i]);
  }
  std::uint64_t faults = 0;
  for (const std::uint64_t count : totals.faults.all()) faults += count;
  fmt::print(
      "REPORT simulation on {}: {} seeds, {:.0f} days ({:.1f} per second and core), {} starts, {} faults, {} "
      "violations\n",
      arguments.store, totals.seeds, totals.days, totals.days / seconds, totals.starts, faults, totals.violations);
  return totals.violations == 0 ? 0 : 1;
}

#ifdef CARILLON_MUTANTS

constexpr unsigned kMutantSecondsMax = 300;

struct NamedMutant {
  Mutant mutant;
  std::string_view name;
};

constexpr std::array kMutants{
    NamedMutant{Mutant::no_fence_check, "no fence check"},
    NamedMutant{Mutant::answer_before_commit, "answer before commit"},
    NamedMutant{Mutant::wall_clock_lease, "wall-clock lease"},
    NamedMutant{Mutant::max_cursor, "max() cursor"},
    NamedMutant{Mutant::next_on_completion, "next on completion"},
    NamedMutant{Mutant::occurrence_without_schedule, "occurrence key without the schedule"},
    NamedMutant{Mutant::loss_not_counted, "attempt not counted on a lost lease"},
    NamedMutant{Mutant::naive_dst, "naive DST"},
    NamedMutant{Mutant::naive_utc_day, "naive UTC day"},
    NamedMutant{Mutant::cutoff_off_by_one, "cutoff off by one"},
    NamedMutant{Mutant::cutoff_by_tick_time, "cutoff by tick time"},
    NamedMutant{Mutant::success_after_cutoff, "success settled after the cutoff"},
    NamedMutant{Mutant::cap_read_before_claim, "cap read before the claim"},
    NamedMutant{Mutant::gate_only_before_claim, "gate checked only before the claim"},
    NamedMutant{Mutant::key_freed_on_retry, "key freed on retry"},
    NamedMutant{Mutant::dlq_counts_as_open, "dlq counted as open"},
    NamedMutant{Mutant::cancelled_window_blocks_cursor, "cancelled window blocks the cursor"},
    NamedMutant{Mutant::tokens_leak_on_release, "tokens leaked on release"},
    NamedMutant{Mutant::dependents_fire_twice, "dependents fire twice"},
    NamedMutant{Mutant::paused_time_caught_up, "paused time caught up"},
    NamedMutant{Mutant::stale_entry_trusted, "stale ready entry trusted"},
    NamedMutant{Mutant::equal_run_at_lost, "equal run_at lost"},
    NamedMutant{Mutant::jitter_rolled_again, "jitter re-rolled after a restart"},
    NamedMutant{Mutant::mode_edit_reruns_window, "mode edit re-runs a window"},
    // Beyond the list of the design.
    NamedMutant{Mutant::parked_looks_healthy, "parked looks healthy"},
    NamedMutant{Mutant::first_try_on_the_grid, "first try on the grid"},
    NamedMutant{Mutant::settlements_forgotten, "settlements forgotten after a failed commit"},
    NamedMutant{Mutant::held_jobs_forgotten, "held jobs not released on resume"},
    NamedMutant{Mutant::leases_not_recovered, "leases of lost answers not recovered"},
    NamedMutant{Mutant::early_jobs_dropped, "early jobs dropped"},
    NamedMutant{Mutant::opening_forgets_jobs, "gate that opens forgets jobs"},
    NamedMutant{Mutant::horizon_too_far, "horizon of far-off jobs too far"},
    NamedMutant{Mutant::missed_range_lost, "missed range not written"},
    NamedMutant{Mutant::deadline_ignored, "deadlines ignored"},
    NamedMutant{Mutant::running_spared_at_cutoff, "running attempt spared at its cutoff"},
    NamedMutant{Mutant::range_on_its_first_day, "range counted on its first day"},
    NamedMutant{Mutant::creation_is_an_occurrence, "creation counted as an occurrence"},
    NamedMutant{Mutant::claims_ahead_start, "claims made ahead start without a slot"},
    NamedMutant{Mutant::ahead_loss_costs_an_attempt, "a claim that never began costs an attempt"},
    NamedMutant{Mutant::cancelled_stays_ready, "cancelled jobs shown as waiting"},
    NamedMutant{Mutant::deferral_untold, "what a gate held before its claim is untold"},
};

// Which invariant finds it, or how else it ended; "" if the seed finds nothing. In its own process:
// a mutant may well abort. One that does not end in time was not found.
std::string killed_by(Mutant mutant, const SimulationOptions& options) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    close(STDERR_FILENO);
    alarm(kMutantSecondsMax);
    g_mutant = mutant;
    Simulation simulation(options);
    const auto found = simulation.run().violation;
    _exit(found ? found->invariant : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) > 0) return fmt::format("invariant {}", WEXITSTATUS(status));
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? "a CHECK" : "";
}

int run_mutants(const Arguments& arguments) {
  const std::uint64_t most = arguments.seeds > 0 ? arguments.seeds : 200;
  std::vector<std::uint64_t> needed;
  int survivors = 0;
  std::map<std::uint64_t, bool> healthy;  // seeds that find nothing where nothing was planted
  const auto is_healthy = [&](const SimulationOptions& options) {
    const auto known = healthy.find(options.seed);
    if (known != healthy.end()) return known->second;
    return healthy[options.seed] = killed_by(Mutant::none, options).empty();
  };
  for (const auto& [mutant, name] : kMutants) {
    if (!std::string_view(name).contains(arguments.named)) continue;
    std::uint64_t seed = 1;
    std::string found;
    for (; seed <= most; ++seed) {
      const SimulationOptions options{.seed = seed, .days = arguments.days};
      if (is_healthy(options)) found = killed_by(mutant, options);
      if (!found.empty()) break;
    }
    if (seed > most) {
      ++survivors;
      fmt::print("  {:<46} SURVIVED {} seeds\n", name, most);
    } else {
      needed.push_back(seed);
      fmt::print("  {:<46} killed by seed {}, {}\n", name, seed, found);
    }
    std::fflush(stdout);
  }
  std::ranges::sort(needed);
  fmt::print("REPORT mutants: {} of {} killed, median {} seeds, at most {}\n", needed.size(), kMutants.size(),
             needed.empty() ? 0 : needed[needed.size() / 2], needed.empty() ? 0 : needed.back());
  return survivors == 0 ? 0 : 1;
}

#else

int run_mutants(const Arguments& /*arguments*/) {
  fmt::print(stderr, "carillon_sim: this build has no mutants; use the preset sim\n");
  return 2;
}

#endif

int run(const Arguments& arguments) {
  if (arguments.mutants) return run_mutants(arguments);
  using Clock = std::chrono::steady_clock;
  const auto cpu_seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const auto begun = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begun).count(); };
  SimulationOptions options{.days = arguments.days,
                            .store = arguments.store == "sqlite" ? StoreKind::sqlite : StoreKind::memory,
                            .verbose = arguments.verbose};
  Totals totals;
  if (!arguments.regressions.empty()) {
    for (const std::uint64_t seed : seeds_of(arguments.regressions)) {
      options.seed = seed;
      run_seed(arguments, options, totals);
    }
    return report(totals, arguments, cpu_seconds());
  }
  const std::uint64_t first = arguments.seed.value_or(1);
  const std::uint64_t most = arguments.seeds > 0     ? arguments.seeds
                             : arguments.seconds > 0 ? UINT64_MAX
                             : arguments.seed        ? 1
                                                     : 100;
  for (std::uint64_t i = 0; i < most; ++i) {
    if (arguments.seconds > 0 && elapsed() >= arguments.seconds) break;
    options.seed = first + i;
    run_seed(arguments, options, totals);
    if (totals.violations >= 10) break;
  }
  return report(totals, arguments, cpu_seconds());
}

}  // namespace

}  // namespace carillon::sim

int main(int argc, char** argv) try {
  carillon::sim::Arguments arguments;
  CLI::App app("Simulated days of the real engine, judged.");
  app.add_option("--seconds", arguments.seconds, "as many seeds as fit");
  app.add_option("--seeds", arguments.seeds, "so many seeds");
  app.add_option("--seed", arguments.seed, "the first seed, or the only one");
  app.add_option("--days", arguments.days, "with faults, for each seed")->check(CLI::Range(1, 1000));
  app.add_option("--store", arguments.store, "memory or sqlite")->check(CLI::IsMember({"memory", "sqlite"}));
  app.add_option("--regressions", arguments.regressions, "replay the seeds of this file");
  app.add_flag("--twice", arguments.twice, "run each seed twice: both must do the same");
  app.add_flag("--compare", arguments.compare, "run each seed on both stores: both must do the same");
  app.add_flag("--mutants", arguments.mutants, "planted bugs: each must be found");
  app.add_option("--named", arguments.named, "of the mutants only those with this in their names");
  app.add_flag("--verbose", arguments.verbose, "say everything");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGABRT, carillon::sim::on_abort);
  // A simulated disk takes and gives back megabytes all the time: what the process has it keeps.
  // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread yet
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // NOLINTEND(concurrency-mt-unsafe)
  return carillon::sim::run(arguments);
} catch (const std::exception& exception) {
  std::fputs(exception.what(), stderr);
  return 2;
}
