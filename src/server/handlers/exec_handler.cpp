#include "server/handlers/exec_handler.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "base/check.h"
#include "base/json.h"
#include "base/json_check.h"
#include "base/plain_text.h"
#include "core/time/slot_text.h"
#include "server/handlers/exec_process.h"
#include "server/handlers/exec_watch.h"

namespace carillon::server {

namespace {

constexpr int kExitTemporary = 75;  // EX_TEMPFAIL
constexpr int kExitData = 65;       // EX_DATAERR
constexpr std::size_t kErrorBytesMax = 8000;
constexpr std::size_t kStderrKeptMax = 16 << 10;  // of a program that succeeded
constexpr Duration kGraceMax = std::chrono::minutes(5);
constexpr std::string_view kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view kOwnPrefix = "CARILLON_";

std::unexpected<Error> refuse(std::string_view why) {
  return invalid_configuration(fmt::format("cannot make an exec handler: {}", why));
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// A program that is missing is missed when the operator looks, not when the first job runs.
Result<void> check_program(const std::string& program) {
  struct stat found{};
  if (stat(program.c_str(), &found) != 0) {
    return refuse(fmt::format("the program {}: {}", quoted(program), std::generic_category().message(errno)));
  }
  constexpr mode_t kAnyoneMayRun = S_IXUSR | S_IXGRP | S_IXOTH;
  if (!S_ISREG(found.st_mode) || (found.st_mode & kAnyoneMayRun) == 0) {
    return refuse(fmt::format("{} is not a program that can be run", quoted(program)));
  }
  return {};
}

Result<void> check(const ExecConfig& config) {
  if (config.argv.empty()) return refuse("argv must name a program");
  if (!config.argv.front().starts_with('/')) {
    return refuse(fmt::format("argv must begin with a full path, not {}", quoted(config.argv.front())));
  }
  for (const std::string& argument : config.argv) {
    if (has_nul(argument)) return refuse("argv must not contain a NUL character");
  }
  if (!config.cwd.starts_with('/') || has_nul(config.cwd)) {
    return refuse(fmt::format("cwd must be a full path, not {}", quoted(config.cwd)));
  }
  for (const auto& [name, value] : config.environment) {
    const bool readable = !name.empty() && name.find('=') == std::string::npos && !has_nul(name) && !has_nul(value);
    if (!readable || name.starts_with(kOwnPrefix)) {
      return refuse(fmt::format("environment must not set {}: a name has no '=' and does not begin with {}",
                                quoted(name), kOwnPrefix));
    }
  }
  if (config.timeout && *config.timeout <= Duration::zero()) return refuse("timeout must be longer than nothing");
  if (config.grace < Duration::zero() || config.grace > kGraceMax) {
    return refuse(fmt::format("grace must be 0s to {}", format_duration(kGraceMax)));
  }
  if (!config.user.empty() && geteuid() != 0) {
    return refuse(fmt::format("only root can run programs as user {}", quoted(config.user)));
  }
  if (access(kChildrenFile, R_OK) != 0) {
    return refuse(fmt::format("{} cannot be read, so that nobody could end what a program starts", kChildrenFile));
  }
  return check_program(config.argv.front());
}

// Nothing gets root's rights by being forgotten.
Result<void> check_rights(const ExecConfig& config, const std::optional<ProcessUser>& user) {
  const bool is_root = user ? user->user == 0 : geteuid() == 0;
  if (!is_root || config.allow_root) return {};
  return refuse(
      fmt::format("{} would run with root's rights; set user = \"NAME\" to a user without them, or "
                  "allow_root = true if they are meant",
                  quoted(config.argv.front())));
}

std::vector<ProcessLimit> limits_of(const ExecConfig& config) {
  std::vector<ProcessLimit> limits{{.resource = RLIMIT_CORE, .value = 0},
                                   {.resource = RLIMIT_FSIZE, .value = config.file_bytes_max},
                                   {.resource = RLIMIT_NOFILE, .value = config.open_files_max},
                                   {.resource = RLIMIT_NPROC, .value = config.processes_max}};
  // Runtimes reserve far more addresses than they use: the default counts what can be written.
  if (config.memory_bytes_max) {
    limits.push_back({.resource = RLIMIT_AS, .value = *config.memory_bytes_max});
  } else {
    limits.push_back({.resource = RLIMIT_DATA, .value = kExecMemoryDefault});
  }
  if (config.cpu_seconds_max) limits.push_back({.resource = RLIMIT_CPU, .value = *config.cpu_seconds_max});
  return limits;
}

std::vector<std::string> environment_of(const ExecConfig& config, const RunningJob& job) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!has_nul(value)) out.push_back(fmt::format("{}={}", name, value));
  };
  const auto add_given = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) add(name, value);
  };
  if (!config.environment.contains("PATH")) add("PATH", kPath);
  if (!config.environment.contains("LANG")) add("LANG", "C.UTF-8");
  for (const auto& [name, value] : config.environment) add(name, value);
  add("CARILLON_JOB_ID", format_job_id(job.id));
  add("CARILLON_TENANT", job.tenant);
  add("CARILLON_QUEUE", job.queue);
  add("CARILLON_TYPE", job.type);
  add("CARILLON_ATTEMPT", fmt::format("{}", job.attempt));
  add("CARILLON_TOKEN", fmt::format("{}", job.token));
  add("CARILLON_RUN_AT", format_instant(job.run_at));
  add_given("CARILLON_SCHEDULE", job.schedule);
  add_given("CARILLON_SUBJECT", job.subject);
  if (job.slot) add("CARILLON_SLOT", slot_text(job.slot, job.slot_kind));
  if (job.deadline) add("CARILLON_DEADLINE", format_instant(*job.deadline));
  return out;
}

std::string output_json(const Tail& output) {
  const std::size_t first = output.text.find_first_not_of(" \t\r\n");
  if (output.is_whole() && first == std::string::npos) return {};
  if (output.is_whole() && check_json(output.text)) {
    const std::size_t last = output.text.find_last_not_of(" \t\r\n");
    return output.text.substr(first, last - first + 1);
  }
  return json_string(valid_utf8(output.text));
}

// The end of it, as text that harms no reader.
std::string said_last(const Tail& tail, std::size_t bytes_max) {
  std::string_view said = tail.text;
  const bool cut = !tail.is_whole() || said.size() > bytes_max;
  if (said.size() > bytes_max) said.remove_prefix(said.size() - bytes_max);
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.remove_suffix(1);
  if (said.empty()) return {};
  return fmt::format("{}{}", cut ? "… " : "", plain_text(said));
}

std::string error_text(std::string_view what, const ProcessEnd& end) {
  const std::string said = said_last(end.errors.text.empty() ? end.output : end.errors, kErrorBytesMax);
  return said.empty() ? std::string(what) : fmt::format("{}: {}", what, said);
}

Outcome outcome_of(const ProcessEnd& end, const std::string& program) {
  switch (end.kind) {
    case ProcessEnd::Kind::timed_out: return timed_out(error_text(program + " ran out of time", end));
    case ProcessEnd::Kind::stopped: return fail(error_text(program + " was stopped", end), "cancelled");
    case ProcessEnd::Kind::signalled:
      return fail(error_text(fmt::format("{} was ended by signal {}", program, end.code), end), "signal");
    case ProcessEnd::Kind::exited: break;
  }
  if (end.code == 0) {
    Outcome outcome = done(output_json(end.output));
    outcome.stderr_text = said_last(end.errors, kStderrKeptMax);
    return outcome;
  }
  const std::string what = error_text(fmt::format("{} ended with exit code {}", program, end.code), end);
  if (end.code == kExitData) return permanent(what, "dataerr");
  return fail(what, end.code == kExitTemporary ? "tempfail" : "exit");
}

}  // namespace

Result<Handler> make_exec_handler(ExecConfig config) {
  TRY(check(config));
  std::optional<ProcessUser> user;
  if (!config.user.empty()) {
    TRY_ASSIGN(user, find_user(config.user));
  }
  TRY(check_rights(config, user));
  const auto shared = std::make_shared<const ExecConfig>(std::move(config));
  return [shared, user](JobContext& context) -> Outcome {
    const RunningJob& job = context.job();
    const auto end = run_process({.argv = shared->argv,
                                  .environment = environment_of(*shared, job),
                                  .cwd = shared->cwd,
                                  .input = job.payload,
                                  .user = user,
                                  .limits = limits_of(*shared),
                                  .timeout = shared->timeout,
                                  .grace = shared->grace,
                                  .stop = [&] { return context.cancelled(); }});
    if (!end) return fail(end.error().message, "exec");
    return outcome_of(*end, shared->argv.front());
  };
}

}  // namespace carillon::server
