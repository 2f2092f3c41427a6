// How much a tenant may have: set by an admin, looked at where something is made.
//
//   {"live_jobs": 1000000, "calls_per_second": 100}      what is not named has its default
//
// Counts are kept in memory and compared with the store now and then, so that looking costs next to nothing: calls that
// come together may go a little beyond a quota, but not again and again. What follows from something that was accepted
// is never refused for a quota: occurrences of schedules, follow-ups of a job that has ended, retries.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"

namespace carillon::server {

inline constexpr std::string_view kQuotasKind = "quotas";  // of a tenant

enum class Quota : std::uint8_t {
  live_jobs,  // that have not ended, parked ones included
  subjects,
  schedules,
  handlers,
  hooks,
  limits,
  names,  // of queues and types, used within a day
  calls_per_second,
};
inline constexpr std::array kQuotas{Quota::live_jobs, Quota::subjects, Quota::schedules, Quota::handlers,
                                    Quota::hooks,     Quota::limits,   Quota::names,     Quota::calls_per_second};
std::string_view to_string(Quota quota);

// What a tenant may have; nothing: as much as it likes.
class Quotas {
 public:
  Quotas();
  std::optional<std::int64_t> of(Quota quota) const { return allowed_[static_cast<std::size_t>(quota)]; }
  void set(Quota quota, std::int64_t allowed) { allowed_[static_cast<std::size_t>(quota)] = allowed; }

 private:
  std::array<std::optional<std::int64_t>, kQuotas.size()> allowed_;
};

// The document as it is stored: the fields that were given. Errors: invalid_request.
Result<Quotas> read_quotas(std::string_view text);
// The document that `body` makes of the one before it: fields that are given replace, null clears.
Result<std::string> merged_quotas(std::string_view body, std::string_view before);

class QuotaBook {
 public:
  using Clock = std::chrono::steady_clock;
  // What the store says a tenant has.
  struct Counted {
    std::int64_t live_jobs = 0;
    std::int64_t subjects = 0;
    std::vector<std::string> queues;
  };

  QuotaBook() = default;
  QuotaBook(const QuotaBook&) = delete;
  QuotaBook& operator=(const QuotaBook&) = delete;
  ~QuotaBook() = default;

  // ---- Any thread.
  void put(std::string_view tenant, const Quotas& quotas);
  void remove(std::string_view tenant);
  Quotas of(std::string_view tenant) const;

  struct Refused {
    Quota quota;
    std::int64_t allowed = 0;
    std::chrono::milliseconds wait{};  // until another call may do; zero: not by time alone
  };
  // One more call about this tenant.
  std::optional<Refused> call(std::string_view tenant, Clock::time_point now);

  struct Name {
    std::string_view queue;
    std::string_view type;
    std::size_t kind = 0;  // a hash of both and of the limits; 0: not asked about
  };
  // The engine keeps something for each combination of queue, type and limits: so many for each name that is allowed.
  static constexpr std::int64_t kKindsOfName = 10;
  // So many jobs, of these queues and types; "" is none. They are counted if nothing is refused; names that were looked
  // at by then are.
  std::optional<Refused> make_jobs(std::string_view tenant, std::size_t count, std::span<const Name> names,
                                   Clock::time_point now);
  // Of so many jobs as many as there is room for, as far as that is known: they are counted.
  std::size_t make_as_many(std::string_view tenant, std::size_t count);
  // Jobs that were made without asking, or were counted and not made.
  void made_jobs(std::string_view tenant, std::int64_t count);
  // How many more it may make now.
  std::size_t room_for_jobs(std::string_view tenant);
  // Whether there is room for so many more. Nothing is counted.
  bool has_room_for_subjects(std::string_view tenant, std::size_t count) const;
  void made_subjects(std::string_view tenant, std::size_t count);

  std::int64_t names(std::string_view tenant) const;

  // ---- Comparing with the store.
  bool is_counted(std::string_view tenant) const;
  // Tenants whose counts are not known well enough for what they may have.
  std::vector<std::string> to_count(Clock::time_point now) const;
  // A few of all of them, the next ones each time: schedules make jobs that nobody asks for here.
  std::vector<std::string> next_in_turn();
  // Asks for one, and takes in what it says. Not under a lock: it may take its time.
  Result<void> count(std::string_view tenant, const std::function<Result<Counted>()>& ask, Clock::time_point now);

 private:
  // What is there: counted in the store, and made since.
  struct Count {
    std::int64_t counted = 0;
    std::int64_t since = 0;
    std::int64_t now() const { return counted + since; }
  };
  struct Tenant {
    Quotas quotas;
    bool known = false;  // it was counted
    Clock::time_point counted_at;
    Count live_jobs;
    Count subjects;
    double calls_left = 0;
    Clock::time_point calls_at;
    std::unordered_map<std::string, Clock::time_point> queues;  // and when each was used last
    std::unordered_map<std::string, Clock::time_point> types;
    std::unordered_map<std::size_t, Clock::time_point> kinds;

    std::int64_t names() const { return static_cast<std::int64_t>(queues.size() + types.size()); }
  };

  Tenant& tenant(std::string_view name);
  const Tenant* find(std::string_view name) const;
  static bool is_near(const Count& count, std::optional<std::int64_t> allowed);
  static void forget_old_names(Tenant& tenant, Clock::time_point now);

  mutable std::mutex mutex_;
  std::map<std::string, Tenant, std::less<>> tenants_;
  std::string turn_;  // the one that was counted last in its turn
};

}  // namespace carillon::server
