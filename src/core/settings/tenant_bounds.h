// What an operator lets a tenant have. The tenant may set less for itself, never more.
//
// They are a document of their own beside the tenant's settings. A tenant of which none is stored has been set up by an
// earlier version, which kept no bounds: its settings are its bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/settings/settings.h"
#include "core/time/duration.h"

namespace carillon {

struct TenantBounds {
  std::optional<std::uint32_t> max_concurrency;  // nothing: no bound
  std::uint32_t weight = TenantSettings{}.weight;
  std::optional<Duration> retention;  // nothing: the engine's
  friend bool operator==(const TenantBounds&, const TenantBounds&) = default;
};

Result<TenantBounds> parse_tenant_bounds(std::string_view json);
std::string write_tenant_bounds(const TenantBounds& bounds);

// The bounds that settings mean where none are stored.
TenantBounds bounds_of(const TenantSettings& settings);

// The settings as they hold: none above its bound. `retention` is the engine's.
TenantSettings bounded(TenantSettings settings, const TenantBounds& bounds, std::optional<Duration> retention);

// What becomes of settings and bounds when somebody puts `body`, the fields that he wants to change.
struct SettingsBefore {
  TenantSettings settings;
  TenantBounds bounds;
};
using SettingsAfter = SettingsBefore;
// An operator's values are bounds as well, and null lifts them.
Result<SettingsAfter> put_by_operator(std::string_view body, SettingsBefore before);
// A tenant's are refused beyond its bounds, with the bound named; null is the bound itself.
Result<SettingsAfter> put_by_tenant(std::string_view body, SettingsBefore before, std::optional<Duration> retention);

}  // namespace carillon
