#include "engine/round/node_parts.h"

namespace carillon {

NodeParts::NodeParts(Store& store, const StoreClock& clock, NodeOptions options)
    : store_(store),
      clock_(clock),
      options_(std::move(options)),
      bell_(std::make_shared<Bell>()),
      finished_(std::make_shared<FinishedQueue>(bell_)),
      slots_(std::make_shared<Slots>(options_.max_concurrency)),
      inbox_(*bell_),
      telling_(*bell_),
      rules_(options_.rules),
      dispatcher_(store.jobs()),
      attempts_(rules_, dispatcher_, clock, options_.max_concurrency),
      planner_(store, rules_, [this](Round& round, JobId job) { attempts_.ask_to_stop(round, job); }),
      bulk_(
          store, [this](Round& round, JobId job) { attempts_.ask_to_stop(round, job); },
          [this](Round& round, const BulkState& state, std::size_t most) {
            return planner_.backfill(round, state, most);
          }),
      imports_(store, planner_),
      erasure_(store, planner_,
               {.document_erased = [this](Round& round,
                                          const DocumentKey& key) { apply_document(round, key, std::nullopt); },
                .ask_to_stop = [this](Round& round, JobId job) { attempts_.ask_to_stop(round, job); },
                .erased =
                    [this](const std::string& tenant) {
                      dispatcher_.ready().forget_tenant(tenant, store_.jobs().now());
                      if (tenant_erased_) tenant_erased_(tenant);
                    }}),
      loader_(store, dispatcher_, planner_, rules_, bulk_, imports_, erasure_),
      adopted_(store, dispatcher_, attempts_),
      readiness_(loader_, adopted_),
      queue_(store, dispatcher_, planner_, loader_),
      leasing_(store, dispatcher_, planner_, queue_, attempts_),
      rules_reading_(planner_, loader_, adopted_),
      gates_(store, options_.retention, rules_, dispatcher_, readiness_),
      calls_(inbox_, readiness_, commits_),
      settlements_(store, rules_, dispatcher_, planner_, gates_, attempts_, *finished_, telling_, commits_),
      beats_(store, attempts_, options_.max_concurrency),
      recovery_(store, options_.worker, attempts_, loader_, queue_),
      upkeep_(store, clock, options_.tick, rules_, dispatcher_, attempts_, loader_),
      planning_(clock, planner_, upkeep_, loader_),
      background_(store, clock, options_.retention, options_.prune_every, rules_, planner_, bulk_, imports_, erasure_,
                  readiness_),
      jobs_reading_(loader_, queue_),
      following_(planner_, queue_),
      claims_(options_.worker, {.prefetch_max = options_.prefetch_max, .claims_max = options_.claims_max}, rules_,
              dispatcher_, gates_, attempts_, leasing_, *slots_, readiness_),
      pulls_(rules_, dispatcher_, attempts_, leasing_, readiness_),
      outcomes_(store, planner_, gates_, following_),
      levels_(options_.max_concurrency, rules_, dispatcher_, planner_, attempts_, gates_, readiness_),
      pull_words_(store, rules_, attempts_, settlements_),
      // What people ask comes first: it must have its answer, by rules that are known. Settles come before deadlines
      // (invariant 23). What reads jobs back comes after all that makes jobs, and claims after that.
      parts_{&rules_reading_, &gates_,        &calls_,     &settlements_, &beats_, &recovery_, &upkeep_, &planning_,
             &background_,    &jobs_reading_, &following_, &claims_,      &pulls_, &outcomes_, &levels_} {}

void NodeParts::apply_document(Round& round, const DocumentKey& key, std::optional<std::string> body) {
  round.on_commit.emplace_back([this, key, body = std::move(body), now = round.now] {
    const Zone zone = rules_.zone_of(key.tenant);
    rules_.apply(key, body ? std::optional<std::string_view>(*body) : std::nullopt, dispatcher_.ready(), now);
    slots_->set_most(attempts_.slot_count());
    if (rules_.zone_of(key.tenant).name() != zone.name()) planner_.zone_changed(key.tenant);
    attempts_.desk().room_is_there();
    // Attempts that wait for a slot were claimed by other rules. Gates are looked at when they start.
    const bool is_about_gates = key.kind == kMaintenanceKind || key.kind == kBoundsKind;
    if (is_about_gates || (key.kind == kSettingsKind && !rules_.is_paused(key.tenant))) return;
    attempts_.take_back([&](const Run& run) { return key.tenant.empty() || run.job.tenant == key.tenant; });
  });
}

void NodeParts::serving_changed(std::string_view tenant) {
  dispatcher_.serving_changed(tenant);
  // What waits for a thread would meet no handler any more.
  attempts_.take_back([&](const Run& run) {
    return (tenant.empty() || run.job.tenant == tenant) && !dispatcher_.serves(run.job.tenant, run.job.type);
  });
  attempts_.desk().look_again();
  attempts_.note_freed();
}

}  // namespace carillon
