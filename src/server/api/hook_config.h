// A hook: a signed push from outside that triggers a schedule.
//
//   {"schedule": "orders", "subject": "/customer/id", "secret": "whsec_…"}
//
// `subject` and `expected_at` are JSON pointers into the body that is pushed: whom it is about, and when it is expected
// to have something to do. A schedule with fan_out needs the first; to one without it chooses nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/schedules/schedule.h"
#include "core/time/instant.h"
#include "server/handlers/signing_secrets.h"

namespace carillon::server {

inline constexpr std::string_view kHookKind = "hook";  // name: the hook's

struct HookConfig {
  std::string schedule;
  std::optional<std::string> subject;
  std::optional<std::string> expected_at;
  std::optional<int> priority;  // of the jobs; nothing: that of a manual trigger
  SigningSecrets signing;
};

// The body of PUT /hooks/{name}.
Result<HookConfig> parse_hook(std::string_view text);
// Whether it can trigger `schedule`. Errors: invalid_configuration.
Result<void> check_hook(const HookConfig& hook, const Schedule& schedule);

// What can be, and does not do what one may think.
std::vector<std::string> warnings_of(const HookConfig& hook, const Schedule& schedule);

// As GET answers: without secrets.
std::string write_hook(const HookConfig& hook);
// As PUT answers.
std::string write_hook(const HookConfig& hook, const std::vector<std::string>& warnings);
// As it is kept, with all secrets; and back.
std::string write_stored_hook(const HookConfig& hook);
Result<HookConfig> read_stored_hook(std::string_view text);

// What a push says where the hook points.
struct HookPush {
  std::string subject;
  std::optional<Instant> expected_at;
};

// Errors: invalid_request, if it is no JSON or has nothing there.
Result<HookPush> read_push(const HookConfig& hook, std::string_view body);

}  // namespace carillon::server
