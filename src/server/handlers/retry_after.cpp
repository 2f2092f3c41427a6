#include "server/handlers/retry_after.h"

#include <algorithm>
#include <array>

namespace carillon::server {

namespace {

constexpr Duration kRetryAfterMax = std::chrono::days(365);

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Takes a date apart from its front. After a mismatch it stays failed.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

  void expect(std::string_view text) {
    if (!rest_.starts_with(text)) {
      ok_ = false;
      return;
    }
    rest_.remove_prefix(text.size());
  }
  int number(std::size_t digits) {
    if (rest_.size() < digits || !std::ranges::all_of(rest_.substr(0, digits), is_digit)) {
      ok_ = false;
      return 0;
    }
    int value = 0;
    for (const char c : rest_.substr(0, digits)) value = value * 10 + (c - '0');
    rest_.remove_prefix(digits);
    return value;
  }
  // A day of one digit with a space before it.
  int padded_day() {
    if (rest_.starts_with(' ')) {
      rest_.remove_prefix(1);
      return number(1);
    }
    return number(2);
  }
  unsigned month() {
    for (std::size_t i = 0; i < kMonths.size(); ++i) {
      if (rest_.starts_with(kMonths[i])) {
        rest_.remove_prefix(kMonths[i].size());
        return static_cast<unsigned>(i + 1);
      }
    }
    ok_ = false;
    return 0;
  }
  std::chrono::seconds time() {
    const int hour = number(2);
    expect(":");
    const int minute = number(2);
    expect(":");
    const int second = number(2);
    if (hour > 23 || minute > 59 || second > 60) ok_ = false;
    return std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(std::min(second, 59));
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::optional<Instant> instant_of(int year, unsigned month, int day, std::chrono::seconds time) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < 1) return std::nullopt;
  return Instant(std::chrono::sys_days(date)) + time;
}

int nearest_year(int two_digits, Instant now) {
  const std::chrono::year_month_day today{std::chrono::floor<std::chrono::days>(now)};
  const int this_year = static_cast<int>(today.year());
  int year = this_year - this_year % 100 + two_digits;
  if (year > this_year + 50) year -= 100;
  if (year < this_year - 50) year += 100;
  return year;
}

}  // namespace

std::optional<Instant> parse_http_date(std::string_view text, Instant now) {
  // The day of the week is not looked at: only how it is spelled tells the forms apart.
  std::string_view name;
  for (const std::string_view day : kDays) {
    if (text.starts_with(day)) {
      name = day;
    } else if (name.empty() && text.starts_with(day.substr(0, 3))) {
      name = day.substr(0, 3);
    }
  }
  if (name.empty()) return std::nullopt;
  DateReader reader(text.substr(name.size()));
  int year = 0;
  int day = 0;
  unsigned month = 0;
  std::chrono::seconds time{};
  if (text.substr(name.size()).starts_with(',')) {
    const bool is_long = name.size() > 3;
    const std::string_view between = is_long ? "-" : " ";
    reader.expect(", ");
    day = reader.number(2);
    reader.expect(between);
    month = reader.month();
    reader.expect(between);
    year = is_long ? nearest_year(reader.number(2), now) : reader.number(4);
    reader.expect(" ");
    time = reader.time();
    reader.expect(" GMT");
  } else {
    reader.expect(" ");
    month = reader.month();
    reader.expect(" ");
    day = reader.padded_day();
    reader.expect(" ");
    time = reader.time();
    reader.expect(" ");
    year = reader.number(4);
  }
  if (!reader.ok() || !reader.at_end()) return std::nullopt;
  return instant_of(year, month, day, time);
}

std::optional<Duration> parse_retry_after(std::string_view text, Instant now) {
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  if (std::ranges::all_of(text, is_digit)) {
    constexpr std::int64_t kMost = std::chrono::duration_cast<std::chrono::seconds>(kRetryAfterMax).count();
    std::int64_t seconds = 0;
    for (const char c : text) seconds = std::min(seconds * 10 + (c - '0'), kMost);
    return std::chrono::seconds(seconds);
  }
  const auto at = parse_http_date(text, now);
  if (!at) return std::nullopt;
  return std::clamp(Duration(*at - now), Duration::zero(), kRetryAfterMax);
}

}  // namespace carillon::server
