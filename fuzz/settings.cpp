// The documents that operators and tenants set: whatever stands there is read or refused, and what was read is written
// back as the same. Quiet hours that can be read can be asked.
#include "core/settings/settings.h"

#include "base/check.h"
#include "core/policies/gate.h"
#include "expect.h"

using namespace carillon;

namespace {

template <typename T>
void expect_reads_back(std::string_view text, Result<T> (*parse)(std::string_view), std::string (*write)(const T&)) {
  const Result<T> read = parse(text);
  if (!read) return fuzz::expect_readable(read.error(), text);
  const Result<T> again = parse(write(*read));
  CHECK(again && *again == *read);
}

// For documents that are read onto others.
template <typename T, Result<T> (*parse)(std::string_view, T)>
Result<T> parse_alone(std::string_view text) {
  return parse(text, T{});
}

void expect_sound_hours(const QuietHours& quiet) {
  const Zone zone = quiet_zone(quiet, Zone::utc());
  for (Instant now : {kInstantMin, Instant(std::chrono::sys_days(std::chrono::year(2026) / 3 / 29)), kInstantMax}) {
    const auto closing = quiet_at(quiet, zone, now);
    const auto change = quiet_changes_after(quiet, zone, now);
    CHECK(!change || (*change > now && *change <= kInstantMax));
    CHECK(!closing || (closing->until && *closing->until >= now));
    if (change) CHECK(quiet_at(quiet, zone, *change).has_value() != closing.has_value());
    if (closing && change) CHECK(closing->until == change);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  expect_reads_back(text, parse_quiet_hours, write_quiet_hours);
  expect_reads_back(text, parse_alone<TenantSettings, parse_tenant_settings>, write_tenant_settings);
  expect_reads_back(text, parse_maintenance, write_maintenance);
  expect_reads_back(text, parse_alone<QueueSettings, parse_queue_settings>, write_queue_settings);
  expect_reads_back(text, parse_alone<EngineConfig, parse_engine_config>, write_engine_config);
  expect_reads_back(text, parse_limit_rule, write_limit_rule);
  if (const auto quiet = parse_quiet_hours(text)) expect_sound_hours(*quiet);
  return 0;
}
