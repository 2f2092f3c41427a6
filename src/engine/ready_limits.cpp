#include "engine/ready_limits.h"

#include <algorithm>

#include "base/check.h"

namespace carillon {

std::uint32_t ReadyLimits::intern(std::uint32_t tenant, std::string_view name) {
  const auto key = std::make_pair(tenant, std::string(name));
  if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
  const bool is_global = tenant == kEveryTenant;
  const std::uint32_t global = is_global ? 0 : intern(kEveryTenant, name);
  const auto number = static_cast<std::uint32_t>(limits_.size());
  limits_.emplace_back(std::string(name), is_global ? number : global, steps_);
  numbers_.emplace(key, number);
  return number;
}

std::vector<ReadyLine*> ReadyLimits::set_rule(std::uint32_t limit, const std::optional<LimitRule>& rule, Instant now) {
  Limit& changed = limits_[limit];
  const bool is_new = rule && !changed.ruled;
  const bool is_gone = !rule && changed.ruled;
  if (is_new || is_gone) {
    // Only what runs is the same: a hold goes with its rule.
    const std::uint32_t running = changed.state.running();
    changed.state = LimitState(rule.value_or(LimitRule{}), now);
    changed.state.adopt(running);
  } else if (rule) {
    changed.state.change(*rule, now);
  }
  changed.ruled = rule.has_value();

  std::vector<ReadyLine*> released;
  Limit& global = limits_[changed.global];
  if (is_new && changed.global != limit) {
    // What runs is now the tenant's own affair, and so is what waits.
    global.state.disown(changed.state.running());
    released = release_all(changed.global);
  } else if (is_gone) {
    if (changed.global != limit) global.state.adopt(changed.state.running());
    released = release_all(limit);
  }
  settle(limit, now);
  return released;
}

std::vector<ReadyLine*> ReadyLimits::release_all(std::uint32_t limit) {
  std::vector<ReadyLine*> released;
  while (const auto turn = limits_[limit].waiting.next()) {
    released.push_back(turn->line);
    unpark(*turn->line);
  }
  return released;
}

std::optional<std::uint32_t> ReadyLimits::blocking(const ReadyLine& line, Instant now) {
  for (const std::uint32_t own : line.limits) {
    const std::uint32_t limit = effective(own);
    ++*steps_;
    if (limits_[limit].state.opening(now).kind != Opening::Kind::now) return limit;
  }
  return std::nullopt;
}

std::optional<Instant> ReadyLimits::opens_at(std::uint32_t limit, Instant now) {
  const Opening opening = limits_[limit].state.opening(now);
  return opening.kind == Opening::Kind::at ? std::optional(opening.at) : std::nullopt;
}

bool ReadyLimits::is_rated(const ReadyLine& line) const {
  return std::ranges::any_of(line.limits, [this](std::uint32_t own) {
    const Limit& limit = limits_[effective(own)];
    return limit.ruled && limit.state.rule().rate.has_value();
  });
}

// A limit without a rule never blocks, so it may be counted on like any other.
void ReadyLimits::take(const ReadyLine& line, Instant now) {
  for (const std::uint32_t own : line.limits) {
    limits_[own].state.take(now);
    if (!limits_[own].ruled) limits_[limits_[own].global].state.take(now);
  }
}

void ReadyLimits::give_back(const ReadyLine& line, Instant now) {
  for (const std::uint32_t own : line.limits) {
    limits_[own].state.give_back(now);
    if (!limits_[own].ruled) limits_[limits_[own].global].state.give_back(now);
    settle(effective(own), now);
  }
}

void ReadyLimits::end(const ReadyLine& line, Instant now) {
  for (const std::uint32_t own : line.limits) {
    limits_[own].state.end();
    if (!limits_[own].ruled) limits_[limits_[own].global].state.end();
    settle(effective(own), now);
  }
}

void ReadyLimits::adopt(const ReadyLine& line) {
  for (const std::uint32_t own : line.limits) adopt(own, 1);
}

void ReadyLimits::adopt(std::uint32_t own, std::uint32_t count) {
  limits_[own].state.adopt(count);
  if (!limits_[own].ruled) limits_[limits_[own].global].state.adopt(count);
}

void ReadyLimits::disown(std::uint32_t own, std::uint32_t count, Instant now) {
  limits_[own].state.disown(count);
  if (!limits_[own].ruled) limits_[limits_[own].global].state.disown(count);
  settle(effective(own), now);
}

void ReadyLimits::set_limits(ReadyLine& line, std::vector<std::uint32_t> limits, Instant now) {
  CHECK(!line.waits_for);
  const auto lacks = [](const std::vector<std::uint32_t>& list, std::uint32_t one) {
    return std::ranges::find(list, one) == list.end();
  };
  for (const std::uint32_t own : limits) {
    if (lacks(line.limits, own)) adopt(own, line.running);
  }
  for (const std::uint32_t own : line.limits) {
    if (lacks(limits, own)) disown(own, line.running, now);
  }
  line.limits = std::move(limits);
}

void ReadyLimits::rate_limited(std::uint32_t limit, const Word& word, Instant now) {
  const bool is_global = !limits_[limit].ruled;
  if (is_global && !word.may_teach_global) return;
  Limit& taught = limits_[effective(limit)];
  if (!taught.ruled) return;
  taught.state.rate_limited(word.until, now);
  settle(effective(limit), now);
}

void ReadyLimits::park(ReadyLine& line, std::uint32_t limit, std::uint32_t weight, Instant now) {
  CHECK(!line.waits_for);
  Limit& waited_for = limits_[limit];
  line.waits_for = limit;
  waited_for.waiting.set_weight(line.tenant, weight);
  waited_for.waiting.insert(line);
  settle(limit, now);
}

void ReadyLimits::unpark(ReadyLine& line) {
  const std::uint32_t limit = line.waits_for.value();
  limits_[limit].waiting.erase(line);
  line.waits_for.reset();
  if (limits_[limit].waiting.size() == 0) set_time(limit, std::nullopt);
}

void ReadyLimits::update(ReadyLine& line) { limits_[line.waits_for.value()].waiting.update(line); }

// Lists a limit that is waited for where its opening will be noticed.
void ReadyLimits::settle(std::uint32_t limit, Instant now) {
  Limit& settled = limits_[limit];
  if (settled.waiting.size() == 0) {
    set_time(limit, std::nullopt);
    return;
  }
  const Opening opening = settled.state.opening(now);
  set_time(limit, opening.kind == Opening::Kind::at ? std::optional(opening.at) : std::nullopt);
  if (opening.kind != Opening::Kind::now || settled.listed) return;
  settled.listed = true;
  open_.push_back(limit);
}

void ReadyLimits::set_time(std::uint32_t limit, std::optional<Instant> at) {
  Limit& timed = limits_[limit];
  if (timed.timed_at == at) return;
  if (timed.timed_at) timed_.erase({*timed.timed_at, limit});
  if (at) timed_.emplace(*at, limit);
  timed.timed_at = at;
}

void ReadyLimits::advance(Instant now) {
  const bool clock_was_corrected = now + kClockStepMin < seen_;
  seen_ = clock_was_corrected ? now : std::max(seen_, now);
  if (clock_was_corrected) {
    // What they wait for has come nearer by the step.
    const auto before = timed_;
    for (const auto& [at, limit] : before) settle(limit, now);
  }
  while (!timed_.empty() && timed_.begin()->first <= now) {
    ++*steps_;
    const std::uint32_t limit = timed_.begin()->second;
    set_time(limit, std::nullopt);
    settle(limit, now);
  }
}

ReadyLine* ReadyLimits::wake(Instant now) {
  while (!open_.empty()) {
    ++*steps_;
    const std::uint32_t number = open_.front();
    open_.pop_front();
    Limit& limit = limits_[number];
    limit.listed = false;
    settle(number, now);
    if (!limit.listed) continue;  // used up, or nobody waits
    ReadyLine& line = *limit.waiting.next()->line;
    limit.waiting.used(line);
    unpark(line);
    return &line;
  }
  return nullptr;
}

std::optional<Instant> ReadyLimits::next_opening() const {
  if (timed_.empty() || timed_.begin()->first == kInstantMax) return std::nullopt;
  return timed_.begin()->first;
}

}  // namespace carillon
