#include "cli/doctor_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/json_writer.h"
#include "base/safe_file.h"
#include "carillon/version.h"
#include "cli/table.h"
#include "core/time/zone.h"
#include "daemon/own_handlers.h"

namespace carillon {

namespace {

namespace fs = std::filesystem;

enum class Health : std::uint8_t { ok, warning, problem };

struct Finding {
  std::string check;
  Health health = Health::ok;
  std::string says;
};

std::string_view to_string(Health health) {
  switch (health) {
    case Health::ok: return "ok";
    case Health::warning: return "warning";
    case Health::problem: return "problem";
  }
  return "";
}

Colour colour_of(Health health) {
  switch (health) {
    case Health::ok: return Colour::green;
    case Health::warning: return Colour::yellow;
    case Health::problem: return Colour::red;
  }
  return Colour::none;
}

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kSqliteHead = "SQLite format 3";
constexpr std::uintmax_t kSpaceProblem = std::uintmax_t{64} << 20;
constexpr std::uintmax_t kSpaceWarning = std::uintmax_t{1} << 30;
constexpr rlim_t kOpenFilesWarning = 4096;
constexpr rlim_t kOpenFilesProblem = 256;
fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

Finding check_folder(const fs::path& file) {
  const fs::path folder = folder_of(file);
  const std::string name = carillon::quoted(folder.string());
  std::error_code error;
  if (!fs::is_directory(folder, error)) return {"folder", Health::problem, fmt::format("{} is not a folder", name)};
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return {"folder", Health::problem,
            fmt::format("{} cannot be written to: the database needs files beside it", name)};
  }
  // As the start does it.
  if (const auto fit = check_folder_of(file); !fit) return {"folder", Health::problem, fit.error().message};
  return {"folder", Health::ok, fmt::format("{} can be written to", name)};
}

Finding check_file(const fs::path& file) {
  const std::string name = carillon::quoted(file.string());
  std::error_code error;
  if (!fs::exists(file, error))
    return {"database", Health::ok, fmt::format("{} is not there yet; serve makes it", name)};
  if (!fs::is_regular_file(file, error)) return {"database", Health::problem, fmt::format("{} is not a file", name)};
  if (const auto owned = check_owner_of(file); !owned) return {"database", Health::problem, owned.error().message};
  if (access(file.c_str(), R_OK | W_OK) != 0) {
    return {"database", Health::problem, fmt::format("{} cannot be read and written by this user", name)};
  }
  std::ifstream stream(file, std::ios::binary);
  std::string head(kSqliteHead.size(), '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  const std::uintmax_t size = fs::file_size(file, error);
  if (size > 0 && head != kSqliteHead) {
    return {"database", Health::problem, fmt::format("{} is not a SQLite database", name)};
  }
  const fs::perms perms = fs::status(file, error).permissions();
  if ((perms & fs::perms::others_read) != fs::perms::none) {
    return {"database", Health::warning,
            fmt::format("{} can be read by every user of this machine; payloads stand in it (chmod 600)", name)};
  }
  return {"database", Health::ok, name};
}

// 120 KiB, 38.2 MiB
std::string size_text(std::uintmax_t bytes) {
  constexpr double kMebi = 1 << 20;
  if (bytes < (std::uintmax_t{1} << 20)) return fmt::format("{} KiB", (bytes + 1023) >> 10);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMebi);
}

// A file that is not there takes nothing.
std::uintmax_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

// What the data takes, with the log that SQLite writes ahead of it, and the event log.
Finding check_size(const std::optional<fs::path>& database, const std::optional<std::string>& event_log) {
  std::string says;
  if (database) {
    const fs::path ahead = database->string() + "-wal";
    says = fmt::format("database {}, its write-ahead log {}", size_text(size_of(*database)), size_text(size_of(ahead)));
  }
  if (!says.empty()) says += ", ";
  says += event_log ? fmt::format("event log {} {}", carillon::quoted(*event_log), size_text(size_of(*event_log)))
                    : "no event log";
  return {"size", Health::ok, std::move(says)};
}

// Whether a process holds the lock that the store takes; gives it back at once if none does.
Finding check_lock(const fs::path& file) {
  const fs::path name = file.string() + ".lock";
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the call is what it is.
  const int descriptor = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return {"lock", Health::ok, "no process has the database open"};
  if (descriptor < 0) {
    return {"lock", Health::problem, fmt::format("{} cannot be opened by this user", carillon::quoted(name.string()))};
  }
  const bool is_free = flock(descriptor, LOCK_SH | LOCK_NB) == 0;
  close(descriptor);
  if (is_free) return {"lock", Health::ok, "no process has the database open"};
  std::string holder;
  std::ifstream stream(name);
  std::getline(stream, holder);
  return {"lock", Health::ok,
          fmt::format("{} has the database open; a second server is refused", holder.empty() ? "a process" : holder)};
}

Finding check_space(const fs::path& file) {
  std::error_code error;
  const fs::space_info space = fs::space(folder_of(file), error);
  if (error) return {"space", Health::warning, fmt::format("cannot be asked: {}", error.message())};
  const std::string says = fmt::format("{} MiB are free", space.available >> 20);
  if (space.available < kSpaceProblem) return {"space", Health::problem, says + "; at least 64 are needed"};
  if (space.available < kSpaceWarning) return {"space", Health::warning, says};
  return {"space", Health::ok, says};
}

// No clock can be checked alone, but this program was not made in the future.
Finding check_clock(Instant now) {
  using namespace std::chrono;
  constexpr Instant kEarliest = sys_days(year(2026) / 1 / 1);
  constexpr Instant kLatest = sys_days(year(2100) / 1 / 1);
  const std::string says = format_instant(now);
  if (now < kEarliest || now > kLatest) {
    return {"clock", Health::problem, says + " cannot be right; schedules follow the wall clock"};
  }
  return {"clock", Health::ok, says};
}

Finding check_zones() {
  const std::size_t count = Zone::names().size();
  constexpr std::size_t kLeast = 300;
  if (!Zone::load("Europe/London") || count < kLeast) {
    return {"time zones", Health::problem,
            fmt::format("{} zones are known; install the IANA database (package tzdata)", count)};
  }
  return {"time zones", Health::ok, fmt::format("{} zones", count)};
}

Finding check_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {"open files", Health::warning, "the limit cannot be asked"};
  if (limit.rlim_cur == RLIM_INFINITY) return {"open files", Health::ok, "no limit"};
  const std::string says = fmt::format("{} may be open at once", limit.rlim_cur);
  const std::string hint = "; each connection is one (ulimit -n, LimitNOFILE)";
  if (limit.rlim_cur < kOpenFilesProblem) return {"open files", Health::problem, says + hint};
  if (limit.rlim_cur < kOpenFilesWarning) return {"open files", Health::warning, says + hint};
  return {"open files", Health::ok, says};
}

std::vector<Finding> check_machine(const DoctorRequest& request, Instant now) {
  std::vector<Finding> findings;
  const auto loaded = daemon::load_config(request.flags, daemon::environment_of_process());
  if (loaded) {
    findings.push_back({"configuration", Health::ok, loaded->file.value_or("no file; flags, environment, defaults")});
    for (const std::string& warning : loaded->warnings) findings.push_back({"configuration", Health::warning, warning});
    for (std::string& wrong : daemon::wrong_handlers(loaded->config)) {
      findings.push_back({"handlers", Health::problem, std::move(wrong)});
    }
  } else {
    findings.push_back({"configuration", Health::problem, loaded.error().message});
  }
  const std::string db = loaded ? loaded->config.db : std::string();
  if (db.starts_with(kSqlite)) {
    const fs::path file(db.substr(kSqlite.size()));
    findings.push_back(check_folder(file));
    findings.push_back(check_file(file));
    findings.push_back(check_lock(file));
    findings.push_back(check_space(file));
    findings.push_back(check_size(file, loaded->config.event_log));
  } else if (loaded) {
    findings.push_back(check_size(std::nullopt, loaded->config.event_log));
  }
  findings.push_back(check_clock(now));
  findings.push_back(check_zones());
  findings.push_back(check_open_files());
  return findings;
}

// A schedule whose limit was deleted goes on without it, and nobody would notice.
std::vector<Finding> check_limits(Session& session) {
  const auto schedules = session.list(session.tenant_path({"schedules"}), {}, {.all = true});
  if (!schedules) return {{"limits", Health::warning, schedules.error().message}};
  std::vector<Finding> findings;
  for (const JsonValue& schedule : schedules->items) {
    const JsonValue missing = schedule.at("missing_limits");
    for (std::size_t i = 0; i < missing.size(); ++i) {
      findings.push_back({"limits", Health::warning,
                          fmt::format("schedule {} names limit {}, which does not exist: its jobs run without it",
                                      carillon::quoted(schedule.at("name").as_string()),
                                      carillon::quoted(missing.at(i).as_string()))});
    }
  }
  if (findings.empty()) findings.push_back({"limits", Health::ok, "each limit that a schedule names exists"});
  return findings;
}

std::vector<Finding> check_server(const ClientOptions& options) {
  auto target = client_target(options);
  if (!target) return {{"key", Health::problem, target.error().message}};
  Session session(*std::move(target), {.json = true});
  std::vector<Finding> findings;
  const auto alive = session.api().send({.method = "GET", .path = "/healthz"});
  if (!alive) return {{"server", Health::problem, alive.error().message}};
  if (alive->status != 200) {
    return {{"server", Health::problem, fmt::format("{}/healthz answered {}", session.server(), alive->status)}};
  }
  findings.push_back({"server", Health::ok, session.server() + " answers"});
  const auto status = session.get("/v1/status");
  if (!status) {
    findings.push_back({"status", Health::problem, status.error().message});
    return findings;
  }
  const std::string theirs = status->at("version").as_string("unknown");
  const std::string ours(version());
  if (theirs == ours) {
    findings.push_back({"version", Health::ok, ours});
  } else {
    findings.push_back({"version", Health::warning, fmt::format("the server is {}, this program {}", theirs, ours)});
  }
  for (Finding& finding : check_limits(session)) findings.push_back(std::move(finding));
  return findings;
}

std::string findings_json(const std::vector<Finding>& findings) {
  JsonArray items;
  for (const Finding& finding : findings) {
    JsonObject item;
    item.text("check", finding.check).text("result", to_string(finding.health)).text("message", finding.says);
    items.raw(item.str());
  }
  JsonObject out;
  out.raw("items", items.str());
  return out.str() + "\n";
}

std::string findings_table(const std::vector<Finding>& findings) {
  std::vector<std::vector<Cell>> rows;
  for (const Finding& finding : findings) {
    rows.push_back({{.text = finding.check},
                    {.text = std::string(to_string(finding.health)), .colour = colour_of(finding.health)},
                    {.text = finding.says}});
  }
  // What is wrong is read in full, however narrow the terminal.
  return render_table({{.title = "CHECK", .may_be_cut = false},
                       {.title = "RESULT", .may_be_cut = false},
                       {.title = "", .may_be_cut = false}},
                      rows, terminal_style());
}

}  // namespace

CliResult<Printout> run_doctor(const DoctorRequest& request, Instant now) {
  std::vector<Finding> findings = check_machine(request, now);
  if (!request.offline) {
    for (Finding& finding : check_server(request.client)) findings.push_back(std::move(finding));
  }
  Printout out{.text = request.json ? findings_json(findings) : findings_table(findings)};
  const bool has_problem = std::ranges::any_of(findings, [](const Finding& f) { return f.health == Health::problem; });
  if (has_problem) out.code = ExitCode::failed;
  return out;
}

}  // namespace carillon
