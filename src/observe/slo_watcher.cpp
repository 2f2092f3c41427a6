#include <carillon/slo.h>
#include <fmt/format.h>

#include <chrono>
#include <mutex>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/time/duration.h"
#include "observe/slo_window.h"

namespace carillon {

namespace {

std::string_view reason_of(const SloMeasure& measure) { return measure.growth ? "growth" : ""; }

std::string text_or_null(std::string_view text) { return text.empty() ? "null" : json_string(text); }

}  // namespace

SloBreached SloTurn::event() const {
  return {.slo = std::string(to_string(slo)),
          .value = measure.value.value_or(0),
          .threshold = threshold,
          .unit = std::string(unit_of(slo)),
          .window = window,
          .breaches_in_a_row = standing.breaches_in_a_row,
          .reason = std::string(reason_of(measure)),
          .due_bucket = measure.due_bucket};
}

LogLine SloTurn::line() const {
  LogLine line = standing.breached ? LogLine(LogLevel::warn, fmt::format("SLO breached: {}", to_string(slo)))
                                   : LogLine(LogLevel::info, fmt::format("SLO recovered: {}", to_string(slo)));
  line.text("slo", to_string(slo));
  if (measure.value) line.decimal("value", *measure.value);
  line.decimal("threshold", threshold).text("unit", unit_of(slo)).text("window", format_duration(window));
  line.number("samples", static_cast<std::int64_t>(measure.samples));
  if (standing.breached) line.number("breaches_in_a_row", standing.breaches_in_a_row);
  if (standing.breached && measure.due_bucket) line.number("due_bucket", *measure.due_bucket);
  return line.text("reason", reason_of(measure));
}

class SloWatcher::Parts {
 public:
  Parts(const SloOptions& config, Instant now) : config_(config), window_(config) {
    for (State& state : states_) state.since = now;
  }

  void set_thresholds(const SloOptions& config);
  void hear(const Event& event, Duration boot);
  std::vector<SloTurn> evaluate(const Look& look);
  std::string json() const;

 private:
  struct State {
    SloMeasure measure;
    SloStanding standing;
    Instant since;
  };

  mutable std::mutex mutex_;
  SloOptions config_;
  SloWindow window_;
  std::array<State, kSloCount> states_;
  std::optional<std::uint64_t> parked_;
  std::optional<Instant> evaluated_at_;
};

void SloWatcher::Parts::set_thresholds(const SloOptions& config) {
  const std::scoped_lock lock(mutex_);
  const Duration window = config_.window;
  config_ = config;
  config_.window = window;
  window_.set_thresholds(config_);
}

void SloWatcher::Parts::hear(const Event& event, Duration boot) {
  const std::scoped_lock lock(mutex_);
  window_.hear(event.body, boot);
}

std::vector<SloTurn> SloWatcher::Parts::evaluate(const Look& look) {
  const std::scoped_lock lock(mutex_);
  SloMeasures measures = window_.measure(look.boot);
  if (look.parked) parked_ = look.parked;
  if (parked_) measures[Slo::dlq] = measure_level(Slo::dlq, static_cast<double>(*parked_), config_);
  evaluated_at_ = look.now;
  std::vector<SloTurn> turns;
  for (const Slo slo : kSlos) {
    State& state = states_.at(static_cast<std::size_t>(slo));
    const bool was_breached = state.standing.breached;
    state.measure = measures[slo];
    state.standing = after_evaluation(state.standing, state.measure.over, config_.breach_consecutive);
    if (state.standing.breached == was_breached) continue;
    state.since = look.now;
    turns.push_back({.slo = slo,
                     .measure = state.measure,
                     .standing = state.standing,
                     .threshold = threshold_of(slo, config_),
                     .window = config_.window});
  }
  return turns;
}

std::string SloWatcher::Parts::json() const {
  const std::scoped_lock lock(mutex_);
  JsonArray items;
  for (const Slo slo : kSlos) {
    const State& state = states_.at(static_cast<std::size_t>(slo));
    const SloMeasure& measure = state.measure;
    JsonObject item;
    item.text("name", to_string(slo)).text("state", state.standing.breached ? "breached" : "ok");
    item.raw("value", measure.value ? json_number(*measure.value) : "null");
    item.number("threshold", threshold_of(slo, config_)).text("unit", unit_of(slo));
    item.text("window", format_duration(config_.window)).integer("samples", static_cast<std::int64_t>(measure.samples));
    item.integer("breaches_in_a_row", state.standing.breaches_in_a_row);
    item.text("since", format_instant(state.since)).raw("reason", text_or_null(reason_of(measure)));
    items.raw(item.raw("due_bucket", measure.due_bucket ? fmt::to_string(*measure.due_bucket) : "null").str());
  }
  JsonObject answer;
  answer.raw("items", items.str());
  answer.raw("evaluated_at", evaluated_at_ ? json_string(format_instant(*evaluated_at_)) : "null");
  answer.text("evaluated_every", format_duration(config_.eval));
  answer.integer("breach_consecutive", config_.breach_consecutive);
  return answer.str();
}

SloWatcher::SloWatcher(const SloOptions& options, Instant now) : parts_(std::make_unique<Parts>(options, now)) {}
SloWatcher::~SloWatcher() = default;

void SloWatcher::hear(const Event& event, Duration boot) { parts_->hear(event, boot); }
std::vector<SloTurn> SloWatcher::evaluate(const Look& look) { return parts_->evaluate(look); }
void SloWatcher::set_thresholds(const SloOptions& options) { parts_->set_thresholds(options); }
std::string SloWatcher::json() const { return parts_->json(); }

}  // namespace carillon
