#include "core/jobs/job_id.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "base/digits.h"
#include "base/hash.h"

namespace carillon {

namespace {

using std::chrono::milliseconds;

constexpr int kCounterBits = 13;
constexpr int kNodeBits = 8;
constexpr int kSequenceBits = kCounterBits + kNodeBits;
constexpr std::int64_t kCounterMask = (std::int64_t{1} << kCounterBits) - 1;
constexpr std::int64_t kMillisecondsMax = (std::int64_t{1} << 42) - 1;
constexpr std::int64_t kEpochMs =
    std::chrono::duration_cast<milliseconds>(std::chrono::sys_days(std::chrono::year(2020) / 1 / 1).time_since_epoch())
        .count();

constexpr int kCheckBits = 53;
constexpr std::uint64_t kCheckMask = (std::uint64_t{1} << kCheckBits) - 1;

std::uint64_t check_of(std::int64_t value) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFF);
  }
  return stable_hash({"job", std::string_view(bytes.data(), bytes.size())}) & kCheckMask;
}

std::int64_t milliseconds_of(Instant at) {
  const auto since = std::chrono::floor<milliseconds>(at.time_since_epoch()).count() - kEpochMs;
  return std::clamp<std::int64_t>(since, 0, kMillisecondsMax);
}

struct UuidHalves {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const UuidHalves&, const UuidHalves&) = default;
};

UuidHalves halves_of(JobId id) {
  const auto ms = static_cast<std::uint64_t>((id.value >> kSequenceBits) + kEpochMs);
  const auto sequence = static_cast<std::uint64_t>(id.value & ((std::int64_t{1} << kSequenceBits) - 1));
  const std::uint64_t high = ms << 16 | 0x7000U | sequence >> 9;
  const std::uint64_t low = std::uint64_t{0b10} << 62 | (sequence & 0x1FFU) << kCheckBits | check_of(id.value);
  return {high, low};
}

}  // namespace

std::string format_job_id(JobId id) {
  CHECK(id.value >= 0);
  const UuidHalves uuid = halves_of(id);
  std::string text = "00000000-0000-0000-0000-000000000000";
  const std::span<char> place(text);
  put_hex(place.first(8), uuid.high >> 32U);
  put_hex(place.subspan(9, 4), uuid.high >> 16U);
  put_hex(place.subspan(14, 4), uuid.high);
  put_hex(place.subspan(19, 4), uuid.low >> 48U);
  put_hex(place.last(12), uuid.low);
  return text;
}

std::optional<JobId> parse_job_id(std::string_view text) {
  constexpr std::size_t kLength = 36;
  if (text.size() != kLength) return std::nullopt;
  std::array<std::uint64_t, 2> halves{};
  std::size_t digits = 0;
  for (std::size_t i = 0; i < kLength; ++i) {
    const char c = text[i];
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (c != '-') return std::nullopt;
      continue;
    }
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<unsigned>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    std::uint64_t& half = halves[digits++ / 16];
    half = half << 4 | digit;
  }
  const UuidHalves uuid{halves[0], halves[1]};
  const std::int64_t ms = static_cast<std::int64_t>(uuid.high >> 16) - kEpochMs;
  if (ms < 0 || ms > kMillisecondsMax) return std::nullopt;
  const std::uint64_t sequence = (uuid.high & 0xFFFU) << 9 | (uuid.low >> kCheckBits & 0x1FFU);
  const JobId id{ms << kSequenceBits | static_cast<std::int64_t>(sequence)};
  return id && halves_of(id) == uuid ? std::optional(id) : std::nullopt;
}

Instant made_at(JobId id) { return Instant(milliseconds((id.value >> kSequenceBits) + kEpochMs)); }

JobId first_job_id_at(Instant at) {
  const auto ms = milliseconds_of(at);
  const bool whole = Instant(milliseconds(ms + kEpochMs)) >= at;
  return JobId{std::min(whole ? ms : ms + 1, kMillisecondsMax) << kSequenceBits};
}

bool JobIdSource::admit(JobId id, Instant now) {
  if (id.value <= last_) return id.value > 0;
  if (id > first_job_id_at(add_clamped(now, kJobIdAheadMax))) return false;
  last_ = id.value;
  return true;
}

JobId JobIdSource::next(Instant now) {
  const std::int64_t node = std::int64_t{node_} << kCounterBits;
  std::int64_t ms = milliseconds_of(now);
  const std::int64_t last_ms = last_ >> kSequenceBits;
  std::int64_t counter = 0;
  if (ms <= last_ms) {
    ms = last_ms;
    // The last one may stem from another node: then its counter is not ours, and the next millisecond is free.
    const bool ours = (last_ >> kCounterBits & ((1 << kNodeBits) - 1)) == node_;
    counter = ours ? (last_ & kCounterMask) + 1 : kCounterMask + 1;
    if (counter > kCounterMask) {
      ++ms;
      counter = 0;
    }
  }
  CHECK(ms <= kMillisecondsMax);
  last_ = ms << kSequenceBits | node | counter;
  return JobId{last_};
}

}  // namespace carillon
