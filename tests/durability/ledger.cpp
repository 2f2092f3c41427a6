#include "durability/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

#include "base/hash.h"

namespace carillon::test {

namespace {

constexpr std::size_t kViolationsShown = 20;

std::optional<JobFacts> find(const Facts& facts, JobId id) {
  const auto found = facts.find(id);
  return found == facts.end() ? std::nullopt : std::optional(found->second);
}

std::string describe(const std::optional<JobFacts>& facts) { return facts ? test::describe(*facts) : "absent"; }

// A word that may be empty, between blanks.
std::string word(std::string_view text) { return text.empty() ? "-" : std::string(text); }
std::string unword(std::string text) { return text == "-" ? std::string() : text; }

}  // namespace

std::string describe(const JobFacts& facts) {
  return fmt::format("{} token {} attempts {} rows {} payload {:x} key \"{}\" worker \"{}\"", to_string(facts.state),
                     facts.token, facts.attempts, facts.attempt_rows, facts.payload_hash, facts.key, facts.worker);
}

std::uint64_t payload_hash(std::string_view payload) { return stable_hash({"payload", payload}); }

Ledger::Operation Ledger::ask(Facts after) {
  const std::scoped_lock lock(mutex_);
  const Operation operation = ++last_operation_;
  std::string line = fmt::format("ask {} {}", operation, after.size());
  for (const auto& [id, facts] : after) {
    line += fmt::format(" {} {} {} {} {} {} {} {}", id.value, static_cast<int>(facts.state), facts.token,
                        facts.attempts, facts.attempt_rows, facts.payload_hash, word(facts.key), word(facts.worker));
  }
  open_.emplace(operation, std::move(after));
  emit(line);
  return operation;
}

void Ledger::apply(const Facts& after) {
  for (const auto& [id, facts] : after) acknowledged_[id] = facts;
}

void Ledger::acknowledge(Operation operation) {
  const std::scoped_lock lock(mutex_);
  apply(open_.at(operation));
  open_.erase(operation);
  ++acknowledgements_;
  emit(fmt::format("ack {}", operation));
}

void Ledger::refuse(Operation operation) {
  const std::scoped_lock lock(mutex_);
  open_.erase(operation);
  emit(fmt::format("refuse {}", operation));
}

void Ledger::surprise(std::string what) {
  const std::scoped_lock lock(mutex_);
  emit("surprise " + what);
  surprises_.push_back(std::move(what));
}

void Ledger::emit(const std::string& line) const {
  if (echo_) echo_(line + "\n");
}

void Ledger::replay(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::string verb;
  in >> verb;
  if (verb == "surprise") return surprise(std::string(line.substr(verb.size() + 1)));
  Operation operation = 0;
  in >> operation;
  if (verb == "ack") return acknowledge(operation);
  if (verb == "refuse") return refuse(operation);
  if (verb != "ask") throw std::runtime_error("not a line of a ledger: " + std::string(line));
  std::size_t count = 0;
  in >> count;
  Facts after;
  for (std::size_t i = 0; i < count; ++i) {
    JobId id;
    JobFacts facts;
    int state = 0;
    in >> id.value >> state >> facts.token >> facts.attempts >> facts.attempt_rows >> facts.payload_hash >> facts.key >>
        facts.worker;
    facts.state = static_cast<JobState>(state);
    facts.key = unword(facts.key);
    facts.worker = unword(facts.worker);
    after.emplace(id, facts);
  }
  if (!in) throw std::runtime_error("a line of a ledger is cut off: " + std::string(line));
  const std::scoped_lock lock(mutex_);
  open_.emplace(operation, std::move(after));
}

std::vector<std::string> Ledger::violations(const Snapshot& found) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> violations = surprises_;
  violations.insert(violations.end(), found.faults.begin(), found.faults.end());
  std::set<JobId> doubtful;
  for (const auto& [operation, after] : open_) {
    bool all_after = true;
    bool all_before = true;
    std::string each;
    for (const auto& [id, facts] : after) {
      doubtful.insert(id);
      const auto actual = find(found.jobs, id);
      const auto before = find(acknowledged_, id);
      all_after = all_after && actual == facts;
      all_before = all_before && actual == before;
      each += fmt::format("\n    job {}: before: {}; after: {}; found: {}", id.value, describe(before),
                          describe(std::optional(facts)), describe(actual));
    }
    if (!all_after && !all_before) {
      violations.push_back(fmt::format("write {} is neither there nor absent:{}", operation, each));
    }
  }
  for (const auto& [id, facts] : acknowledged_) {
    if (doubtful.contains(id)) continue;
    const auto actual = find(found.jobs, id);
    if (actual != facts) {
      violations.push_back(fmt::format("job {} was acknowledged as: {}; found: {}", id.value,
                                       describe(std::optional(facts)), describe(actual)));
    }
  }
  for (const auto& [id, facts] : found.jobs) {
    if (acknowledged_.contains(id) || doubtful.contains(id)) continue;
    violations.push_back(
        fmt::format("job {} was never asked for, found: {}", id.value, describe(std::optional(facts))));
  }
  if (violations.size() > kViolationsShown) {
    violations.resize(kViolationsShown);
    violations.emplace_back("and more");
  }
  return violations;
}

void Ledger::settle_doubts(const Snapshot& found) {
  const std::scoped_lock lock(mutex_);
  for (const auto& [operation, after] : open_) {
    const bool happened =
        std::ranges::all_of(after, [&](const auto& entry) { return find(found.jobs, entry.first) == entry.second; });
    if (happened) apply(after);
  }
  open_.clear();
}

JobFacts Ledger::facts_of(JobId id) const {
  const std::scoped_lock lock(mutex_);
  return acknowledged_.at(id);
}

Facts Ledger::acknowledged() const {
  const std::scoped_lock lock(mutex_);
  return acknowledged_;
}

std::size_t Ledger::acknowledgements() const {
  const std::scoped_lock lock(mutex_);
  return acknowledgements_;
}

std::size_t Ledger::in_doubt() const {
  const std::scoped_lock lock(mutex_);
  return open_.size();
}

}  // namespace carillon::test
