#include "engine/ready/ready_limits.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace carillon {

std::uint32_t ReadyLimits::intern(std::uint32_t tenant, std::string_view name) {
  const auto key = std::make_pair(tenant, std::string(name));
  if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
  const bool is_global = tenant == kEveryTenant;
  const std::uint32_t global = is_global ? 0 : intern(kEveryTenant, name);
  const auto number = static_cast<std::uint32_t>(limits_.size());
  limits_.emplace_back(std::string(name), tenant, is_global ? number : global, steps_);
  if (!is_global) limits_[global].owns.push_back(number);
  numbers_.emplace(key, number);
  return number;
}

// Only what runs is the same.
void ReadyLimits::reset(std::uint32_t limit, Instant now) {
  Limit& one = limits_[limit];
  const std::uint32_t running = one.state.running();
  one.state = LimitState(one.rule.value_or(LimitRule{}), now);
  one.state.adopt(running);
}

std::vector<ReadyLine*> ReadyLimits::set_rule(std::uint32_t limit, const std::optional<LimitRule>& rule, Instant now) {
  Limit& changed = limits_[limit];
  const bool is_new = rule && !changed.is_ruled();
  const bool is_gone = !rule && changed.is_ruled();
  changed.rule = rule;
  if (is_new || is_gone) {
    reset(limit, now);
  } else if (rule) {
    changed.state.change(*rule, now);
  }

  std::vector<ReadyLine*> released;
  const auto release = [&](std::uint32_t from) {
    const std::vector<ReadyLine*> lines = release_all(from);
    released.insert(released.end(), lines.begin(), lines.end());
  };
  Limit& global = limits_[changed.global];
  if (is_global(limit)) {
    // What a tenant's word has closed of it is open too, and shares are others.
    for (const std::uint32_t own : changed.owns) {
      if (limits_[own].is_ruled()) continue;
      reset(own, now);
      release(own);
    }
  } else if (is_new) {
    // What runs is now the tenant's own affair, and so is what waits.
    global.state.disown(changed.state.running());
    release(limit);
    release(changed.global);
  }
  if (is_gone) {
    if (!is_global(limit)) global.state.adopt(changed.state.running());
    release(limit);
  }
  count_holder(limit);
  settle(limit, now);
  if (!is_global(limit)) settle(changed.global, now);
  return released;
}

std::vector<ReadyLine*> ReadyLimits::forget(std::uint32_t tenant, Instant now) {
  std::vector<ReadyLine*> released;
  for (auto at = numbers_.lower_bound({tenant, ""}); at != numbers_.end() && at->first.first == tenant; ++at) {
    if (limits_[at->second].is_ruled()) continue;
    reset(at->second, now);
    const std::vector<ReadyLine*> lines = release_all(at->second);
    released.insert(released.end(), lines.begin(), lines.end());
  }
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

// ---- Shares --------------------------------------------------------------------------------------------------------

void ReadyLimits::set_tenant_count(std::size_t count, Instant now) {
  if (std::exchange(tenants_, count) <= count) return;  // with one more, nobody may start more
  for (std::uint32_t limit = 0; limit < limits_.size(); ++limit) {
    if (is_global(limit)) settle(limit, now);
  }
}

void ReadyLimits::set_weight(std::uint32_t tenant, std::uint32_t weight, Instant now) {
  weights_[tenant] = std::max(weight, 1U);
  for (auto at = numbers_.lower_bound({tenant, ""}); at != numbers_.end() && at->first.first == tenant; ++at) {
    count_holder(at->second);
    settle(limits_[at->second].global, now);
  }
}

void ReadyLimits::count_holder(std::uint32_t own) {
  Limit& one = limits_[own];
  if (is_global(own)) return;
  const bool holds = !one.is_ruled() && one.state.running() > 0;
  if (!holds && one.weight == 0) return;
  const auto weight = weights_.find(one.tenant);
  const std::uint64_t counts_for = !holds ? 0 : weight == weights_.end() ? 1 : weight->second;
  Limit& global = limits_[one.global];
  global.holders = global.holders + (counts_for > 0 ? 1 : 0) - (one.weight > 0 ? 1 : 0);
  global.weights = global.weights + counts_for - one.weight;
  one.weight = counts_for;
}

// Of a tenant's limit that has no rule.
bool ReadyLimits::has_share(const Limit& own) const {
  const Limit& global = limits_[own.global];
  if (!global.rule || !global.rule->concurrency) return true;
  const std::size_t holders = global.holders + (own.weight == 0 ? 1 : 0);
  return may_take_one({.concurrency = *global.rule->concurrency,
                       .running = global.state.running(),
                       .held = own.state.running(),
                       .weight = static_cast<std::uint32_t>(own.weight),
                       .weights = global.weights,
                       .has_newcomers = tenants_ > holders});
}

Opening ReadyLimits::opening(std::uint32_t limit, Instant now) {
  Limit& one = limits_[limit];
  const Opening itself = one.state.opening(now);
  if (itself.kind != Opening::Kind::now || one.is_ruled() || is_global(limit) || has_share(one)) return itself;
  return {.kind = Opening::Kind::when_one_ends};
}

// ---- What starts and ends ------------------------------------------------------------------------------------------

std::optional<std::uint32_t> ReadyLimits::blocking(std::uint32_t own, Instant now) {
  Limit& one = limits_[own];
  ++*steps_;
  if (one.state.opening(now).kind != Opening::Kind::now) return own;
  if (one.is_ruled()) return std::nullopt;
  if (limits_[one.global].state.opening(now).kind != Opening::Kind::now) return one.global;
  return has_share(one) ? std::nullopt : std::optional(own);
}

std::optional<std::uint32_t> ReadyLimits::blocking(const ReadyLine& line, Instant now) {
  for (const std::uint32_t own : line.limits) {
    if (const auto limit = blocking(own, now)) return limit;
  }
  return std::nullopt;
}

std::vector<ReadyLimits::Blocked> ReadyLimits::all_blocking(const ReadyLine& line, Instant now) {
  std::vector<Blocked> all;
  for (const std::uint32_t own : line.limits) {
    if (const auto limit = blocking(own, now)) all.push_back({.limit = *limit, .until = closed_until(own, now)});
  }
  return all;
}

std::optional<Instant> ReadyLimits::closed_until(std::uint32_t own, Instant now) {
  Limit& one = limits_[own];
  Instant until = one.state.closed_until(now);
  if (!one.is_ruled()) until = std::max(until, limits_[one.global].state.closed_until(now));
  return until > now ? std::optional(until) : std::nullopt;
}

std::optional<Instant> ReadyLimits::opens_at(std::uint32_t limit, Instant now) {
  const Opening opens = opening(limit, now);
  return opens.kind == Opening::Kind::at ? std::optional(opens.at) : std::nullopt;
}

bool ReadyLimits::is_rated(const ReadyLine& line) const {
  return std::ranges::any_of(line.limits, [this](std::uint32_t own) {
    const Limit& limit = limits_[effective(own)];
    return limit.rule && limit.rule->rate.has_value();
  });
}

// A limit without a rule never blocks, so it may be counted on like any other.
void ReadyLimits::take(const ReadyLine& line, Instant now) {
  for (const std::uint32_t own : line.limits) {
    Limit& one = limits_[own];
    one.state.take(now);
    if (one.is_ruled()) continue;
    Limit& global = limits_[one.global];
    global.state.take(now);
    count_holder(own);
    // Who was a newcomer is none any more: nothing has to be kept for him.
    if (!global.short_of_share.empty()) settle(one.global, now);
  }
}

void ReadyLimits::give_back(const ReadyLine& line, Instant now) {
  for (const std::uint32_t own : line.limits) {
    Limit& one = limits_[own];
    one.state.give_back(now);
    if (!one.is_ruled()) limits_[one.global].state.give_back(now);
    count_holder(own);
    settle(effective(own), now);
  }
}

void ReadyLimits::end(const ReadyLine& line, Instant now) {
  for (const std::uint32_t own : line.limits) {
    Limit& one = limits_[own];
    one.state.end();
    if (!one.is_ruled()) limits_[one.global].state.end();
    count_holder(own);
    settle(effective(own), now);
  }
}

void ReadyLimits::adopt(const ReadyLine& line, Instant now) {
  for (const std::uint32_t own : line.limits) adopt(own, 1, now);
}

void ReadyLimits::adopt(std::uint32_t own, std::uint32_t count, Instant now) {
  Limit& one = limits_[own];
  one.state.adopt(count);
  if (one.is_ruled()) return;
  limits_[one.global].state.adopt(count);
  count_holder(own);
  if (!limits_[one.global].short_of_share.empty()) settle(one.global, now);
}

void ReadyLimits::disown(std::uint32_t own, std::uint32_t count, Instant now) {
  Limit& one = limits_[own];
  one.state.disown(count);
  if (!one.is_ruled()) limits_[one.global].state.disown(count);
  count_holder(own);
  settle(effective(own), now);
}

void ReadyLimits::set_limits(ReadyLine& line, std::vector<std::uint32_t> limits, Instant now) {
  CHECK(!line.waits_for);
  const auto lacks = [](const std::vector<std::uint32_t>& list, std::uint32_t one) {
    return std::ranges::find(list, one) == list.end();
  };
  for (const std::uint32_t own : limits) {
    if (lacks(line.limits, own)) adopt(own, line.running, now);
  }
  for (const std::uint32_t own : line.limits) {
    if (lacks(limits, own)) disown(own, line.running, now);
  }
  line.limits = std::move(limits);
}

std::optional<std::uint32_t> ReadyLimits::rate_limited(std::uint32_t limit, const Word& word, Instant now) {
  const std::uint32_t in_force = effective(limit);
  if (!limits_[in_force].is_ruled()) return std::nullopt;
  const std::uint32_t closed = is_global(in_force) && !word.may_teach_global ? limit : in_force;
  limits_[closed].state.rate_limited(word.until, now);
  settle(closed, now);
  return closed;
}

bool ReadyLimits::draws_on(const ReadyLine& line, std::uint32_t limit) const {
  return std::ranges::any_of(line.limits, [&](std::uint32_t own) { return own == limit || effective(own) == limit; });
}

// ---- Waiting -------------------------------------------------------------------------------------------------------

void ReadyLimits::park(ReadyLine& line, std::uint32_t limit, std::uint32_t weight, Instant now) {
  CHECK(!line.waits_for);
  Limit& waited_for = limits_[limit];
  line.waits_for = limit;
  waited_for.waiting.set_weight(line.tenant, weight);
  waited_for.waiting.insert(line);
  if (!waited_for.is_ruled() && !is_global(limit)) limits_[waited_for.global].short_of_share.insert(limit);
  list(limit, now);
}

void ReadyLimits::unpark(ReadyLine& line) {
  const std::uint32_t limit = line.waits_for.value();
  limits_[limit].waiting.erase(line);
  line.waits_for.reset();
  if (limits_[limit].waiting.size() > 0) return;
  set_time(limit, std::nullopt);
  limits_[limits_[limit].global].short_of_share.erase(limit);
}

void ReadyLimits::update(ReadyLine& line) { limits_[line.waits_for.value()].waiting.update(line); }

// Lists a limit that is waited for where its opening will be noticed. What a global one lets start is also what its
// tenants have a share of.
void ReadyLimits::settle(std::uint32_t limit, Instant now) {
  for (const std::uint32_t own : limits_[limit].short_of_share) {
    ++*steps_;
    list(own, now);
  }
  list(limit, now);
}

void ReadyLimits::list(std::uint32_t limit, Instant now) {
  Limit& listed = limits_[limit];
  if (listed.waiting.size() == 0) {
    set_time(limit, std::nullopt);
    return;
  }
  const Opening opens = opening(limit, now);
  set_time(limit, opens.kind == Opening::Kind::at ? std::optional(opens.at) : std::nullopt);
  if (opens.kind != Opening::Kind::now || listed.listed) return;
  listed.listed = true;
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
    for (const auto& [at, limit] : before) list(limit, now);
  }
  while (!timed_.empty() && timed_.begin()->first <= now) {
    ++*steps_;
    const std::uint32_t limit = timed_.begin()->second;
    set_time(limit, std::nullopt);
    list(limit, now);
  }
}

ReadyLine* ReadyLimits::wake(Instant now) {
  while (!open_.empty()) {
    ++*steps_;
    const std::uint32_t number = open_.front();
    open_.pop_front();
    Limit& limit = limits_[number];
    limit.listed = false;
    list(number, now);
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
