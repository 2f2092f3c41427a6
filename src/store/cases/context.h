// What every use case works with.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "store/gate_document.h"
#include "store/job_ids.h"
#include "store/job_store.h"
#include "store/reading.h"
#include "store/refusals.h"
#include "store/store.h"
#include "store/told_occurrence.h"
#include "store/transaction.h"

namespace carillon {

// Options, and how they are kept. Jobs that come together mostly have the same.
struct OptionsMemo {
  JobOptions options;
  StoredOptions stored;
};

// What texts of options say that were read before: all jobs of a schedule have the same. Outlives the transaction.
struct OptionsRead {
  std::unordered_map<std::string, JobOptions> known;
};

// The same of gates, by tenant; "": of all.
struct GatesRead {
  std::unordered_map<std::string, std::vector<PastClosing>> known;
};

struct Context {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-const-or-ref-data-members): lives as long as one transaction, never assigned
  Transaction& tx;
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-const-or-ref-data-members)
  JobIds& ids;
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-const-or-ref-data-members)
  OptionsRead& options_read;
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-const-or-ref-data-members)
  const StoreClock& clock;
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-const-or-ref-data-members)
  GatesRead& gates_read;
  Instant now;
  BootTime boot;
  std::vector<OutcomeRow> finalized;        // outcomes that were written so far
  std::vector<OutcomeKey> parked;           // occurrences that went to the DLQ so far
  std::vector<Changed> ended_along;         // jobs that ended so far by what was done to another
  std::vector<LeftQueue> left_queue;        // jobs that were queued and have ended or moved so far, but for claims
  std::vector<DeferredJob> deferred_along;  // jobs that so far left a gate that is closed still
  OptionsMemo written{};                    // the last that were
};

// Jobs due later than this stay out of the ready set until shortly before.
inline constexpr Duration kFarOff = std::chrono::minutes(10);

// Why a job is parked whose effect may or may not have happened. (invariant 18)
inline constexpr std::string_view kAmbiguousEffect = "ambiguous_effect";

ReadyJob ready_of(const JobRow& row);
// The row was queued, and is to end or to stand elsewhere.
void note_left_queue(Context& context, const JobRow& row);

// What the row's texts hold. If they cannot be read, the transaction fails and this is empty.
JobDetail detail_of(Context& context, const JobRow& row);
JobOptions options_of(Context& context, const JobRow& row);
const StoredOptions& stored_options(Context& context, const JobOptions& options);

// The beginning of an answer about what became of a job.
Changed changed_of(Context& context, const JobRow& row, JobState state);

// Positions and cursors never fall.
void raise_to(std::optional<Instant>& mark, std::optional<Instant> to);

// When the boot clock will say `at`, by the wall clock of now: by then it has.
Instant wall_of(const Context& context, BootTime at);

// The state that a person sees: processing while there is a lease.
JobState state_of(const JobRow& row, const std::optional<LeaseRow>& lease);

// The row of a live job of this tenant; a foreign one is not found, like an absent one (invariant 28).
std::optional<JobRow> job_of_tenant(Context& context, std::string_view tenant, JobId id);

}  // namespace carillon
