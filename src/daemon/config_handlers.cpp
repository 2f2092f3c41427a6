#include "daemon/config_handlers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/nearest_name.h"
#include "config/values.h"
#include "core/jobs/job.h"

namespace carillon::daemon {

namespace {

using namespace std::chrono_literals;
using namespace config;

constexpr DurationRange kTimeouts{.min = 1ms, .max = std::chrono::days(7)};

// The fields of one handler, read by name; finish() refuses what nobody asked for.
class Fields {
 public:
  Fields(std::string type, std::vector<const TomlEntry*> entries)
      : type_(std::move(type)), entries_(std::move(entries)) {}

  // Reads the field into `into` if it is there.
  template <typename T, typename Read>
  Result<void> optional(const std::string& name, T& into, Read read) {
    const TomlEntry* const entry = find(name);
    if (entry == nullptr) return {};
    auto value = read(entry->value);
    if (!value) {
      return invalid_request(fmt::format("line {}: {} = {}: must be {}", entry->line, key_of(name), shown(entry->value),
                                         value.error().message));
    }
    into = *std::move(value);
    return {};
  }

  template <typename T, typename Read>
  Result<void> required(const std::string& name, T& into, Read read) {
    if (find(name) == nullptr) {
      return invalid_request(fmt::format("line {}: {} is missing", entries_.front()->line, key_of(name)));
    }
    return optional(name, into, read);
  }

  Result<void> finish() const {
    for (const TomlEntry* entry : entries_) {
      const std::string name = fmt::format("{}", fmt::join(entry->path.begin() + 2, entry->path.end(), "."));
      if (std::ranges::find(known_, name) != known_.end()) continue;
      const std::string near = nearest_name(name, known_);
      return invalid_request(fmt::format("line {}: unknown key {} of handler {}{}", entry->line, quoted(name),
                                         quoted(type_),
                                         near.empty() ? fmt::format("; allowed are {}", fmt::join(known_, ", "))
                                                      : fmt::format("; did you mean {}?", near)));
    }
    return {};
  }

 private:
  const TomlEntry* find(const std::string& name) {
    if (std::ranges::find(known_, name) == known_.end()) known_.push_back(name);
    const auto found = std::ranges::find_if(
        entries_, [&](const TomlEntry* entry) { return entry->path.size() == 3 && entry->path[2] == name; });
    return found == entries_.end() ? nullptr : *found;
  }
  std::string key_of(const std::string& name) const { return fmt::format("handlers.{}.{}", quoted(type_), name); }

  std::string type_;
  std::vector<const TomlEntry*> entries_;
  std::vector<std::string> known_;
};

Result<std::vector<std::string>> read_argv(const GivenValue& value) {
  const auto refuse = [] { return invalid_request("a list of texts, the first one the absolute path of a program"); };
  const auto argv = read_list(value);
  if (!argv || argv->empty() || !argv->front().starts_with('/')) return refuse();
  if (std::ranges::any_of(*argv, [](const std::string& word) { return word.contains('\0'); })) return refuse();
  return *argv;
}

Result<std::vector<std::string>> read_limits(const GivenValue& value) {
  const auto names = read_list(value);
  const auto is_name = [](const std::string& name) { return check_name("limit", name).has_value(); };
  const bool good = names && names->size() <= kLimitsMax && std::ranges::all_of(*names, is_name);
  if (!good) return invalid_request(fmt::format("a list of names of limits, at most {}", kLimitsMax));
  return *names;
}

// An empty list would read like nobody and mean everybody: it is refused.
Result<std::vector<std::string>> read_tenants(const GivenValue& value) {
  const auto names = read_list(value);
  const auto is_name = [](const std::string& name) { return check_name("tenant", name).has_value(); };
  const bool good = names && !names->empty() && std::ranges::all_of(*names, is_name);
  if (!good) return invalid_request("a list of names of tenants; without it the handler is for all");
  return *names;
}

Result<std::string> read_smtp(const GivenValue& value) {
  const auto url = read_text(value);
  const bool good = url && (url->starts_with("smtp://") || url->starts_with("smtps://")) && !url->ends_with("://") &&
                    !url->contains('@') && !url->contains(' ');
  if (!good) return invalid_request("smtp://HOST:PORT or smtps://HOST:PORT, without a user");
  return *url;
}

Result<StartTls> read_starttls(const GivenValue& value) {
  if (value.text == "try") return StartTls::attempt;
  if (value.text == "require") return StartTls::require;
  if (value.text == "never") return StartTls::never;
  return invalid_request("try, require or never");
}

Result<Duration> read_timeout(const GivenValue& value) { return read_duration(value, kTimeouts); }

Result<std::uint64_t> read_count(const GivenValue& value) {
  TRY_ASSIGN(const std::int64_t count, read_integer(value, {.min = 1, .max = 1'000'000'000}));
  return static_cast<std::uint64_t>(count);
}

Result<std::string> read_kind(const GivenValue& value) {
  if (value.text == "exec" || value.text == "email") return value.text;
  return invalid_request("exec or email (webhooks are put over the API)");
}

Result<ExecDefinition> read_exec(Fields& fields) {
  ExecDefinition exec;
  TRY(fields.required("argv", exec.argv, read_argv));
  TRY(fields.optional("cwd", exec.cwd, read_text));
  TRY(fields.optional("user", exec.user, read_text));
  TRY(fields.optional("allow_root", exec.allow_root, read_boolean));
  TRY(fields.optional("timeout", exec.timeout, read_timeout));
  TRY(fields.optional("limits", exec.limits, read_limits));
  TRY(fields.optional("memory_mb_max", exec.memory_mb_max, read_count));
  TRY(fields.optional("cpu_seconds_max", exec.cpu_seconds_max, read_count));
  TRY(fields.optional("file_mb_max", exec.file_mb_max, read_count));
  TRY(fields.optional("open_files_max", exec.open_files_max, read_count));
  TRY(fields.optional("processes_max", exec.processes_max, read_count));
  return exec;
}

Result<EmailDefinition> read_email(Fields& fields) {
  EmailDefinition email;
  TRY(fields.required("smtp", email.smtp, read_smtp));
  TRY(fields.optional("starttls", email.starttls, read_starttls));
  TRY(fields.optional("username", email.username, read_text));
  TRY(fields.optional("password_file", email.password_file, read_text));
  TRY(fields.required("from", email.from, read_text));
  TRY(fields.required("to", email.to, read_text));
  TRY(fields.optional("to_list", email.to_list, read_boolean));
  TRY(fields.optional("cc", email.cc, read_text));
  TRY(fields.optional("cc_list", email.cc_list, read_boolean));
  TRY(fields.required("subject", email.subject, read_text));
  TRY(fields.required("text", email.text, read_long_text));
  TRY(fields.optional("html", email.html, read_long_text));
  TRY(fields.optional("attachments", email.attachments, read_text));
  TRY(fields.optional("timeout", email.timeout, read_timeout));
  TRY(fields.optional("limits", email.limits, read_limits));
  return email;
}

Result<HandlerDefinition> read_handler(const std::string& type, const std::vector<const TomlEntry*>& entries) {
  if (const auto checked = check_name("type", type); !checked) {
    return invalid_request(fmt::format("line {}: handlers: {}", entries.front()->line, checked.error().message));
  }
  HandlerDefinition handler{.type = type, .tenants = {}, .work = {}};
  Fields fields(type, entries);
  std::string kind;
  TRY(fields.required("kind", kind, read_kind));
  TRY(fields.optional("tenants", handler.tenants, read_tenants));
  if (kind == "exec") {
    TRY_ASSIGN(handler.work, read_exec(fields));
  } else {
    TRY_ASSIGN(handler.work, read_email(fields));
  }
  TRY(fields.finish());
  return handler;
}

}  // namespace

Result<std::vector<HandlerDefinition>> read_handlers(const std::vector<TomlEntry>& entries) {
  std::map<std::string, std::vector<const TomlEntry*>> by_type;
  for (const TomlEntry& entry : entries) {
    if (entry.path.size() < 3) {
      return invalid_request(
          fmt::format("line {}: {} must be a table with a kind and its fields, such as [handlers.\"report.build\"]",
                      entry.line, quoted(fmt::format("{}", fmt::join(entry.path, ".")))));
    }
    by_type[entry.path[1]].push_back(&entry);
  }
  std::vector<HandlerDefinition> handlers;
  for (const auto& [type, fields] : by_type) {
    TRY_ASSIGN(HandlerDefinition handler, read_handler(type, fields));
    handlers.push_back(std::move(handler));
  }
  return handlers;
}

}  // namespace carillon::daemon
