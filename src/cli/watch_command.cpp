#include "cli/watch_command.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <ranges>
#include <thread>
#include <utility>

#include "base/json_writer.h"
#include "carillon/job_state.h"
#include "cli/listing.h"
#include "core/time/duration.h"

namespace carillon {

namespace {

using namespace std::chrono_literals;

constexpr int kReconnectsMax = 30;
constexpr std::chrono::milliseconds kReconnectAfter = 1s;
constexpr std::size_t kKnownMax = 10'000;

bool is_final_state(std::string_view name) {
  for (const JobState state : kJobStates) {
    if (to_string(state) == name) return is_final(state) || state == JobState::dlq;
  }
  return false;
}

// Prints changes, and knows when enough were printed.
class Watcher {
 public:
  Watcher(Session& session, const WatchRequest& request) : session_(session), request_(request) {}
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() = default;

  CliResult<Printout> follow_one(const std::string& id) {
    std::string last;
    for (;;) {
      ApiRequest call;
      // The first answer shows its state; from then on the server answers when there is an end.
      call.path = session_.tenant_path({"jobs", id}) + (last.empty() ? "" : "?wait=30s");
      TRY_ASSIGN(const JsonValue job, session_.call(call));
      const std::string state = job.at("state").as_string();
      if (state != last) TRY(show(job));
      last = state;
      if (is_final_state(state)) return Printout{.code = state == "dlq" ? ExitCode::failed : ExitCode::done};
      if (is_enough()) return Printout{};
      std::this_thread::sleep_for(200ms);
    }
  }

  CliResult<Printout> follow_all() {
    for (int broken = 0; broken <= kReconnectsMax; ++broken) {
      const int before = shown_;
      EventReader reader;
      CliResult<void> printed;
      const auto answer = session_.api().stream("/v1/events", [&](std::string_view chunk) {
        reader.push(chunk);
        while (const auto event = reader.next()) {
          printed = show_event(*event);
          if (!printed || is_enough()) return false;
        }
        return true;
      });
      TRY(printed);
      if (is_enough()) return Printout{};
      const bool never_reached = !answer && broken == 0 && shown_ == 0;
      if (never_reached) return std::unexpected(answer.error());
      if (answer && (answer->status == 404 || answer->status == 403)) return poll();
      if (answer && answer->status != 200) {
        return std::unexpected(session_.refusal({.method = "GET", .path = "/v1/events"}, *answer));
      }
      if (shown_ != before) broken = 0;
      std::this_thread::sleep_for(kReconnectAfter);
    }
    return cli_error(ExitCode::unreachable,
                     fmt::format("cannot reach {}: the stream of events keeps breaking", session_.server()));
  }

 private:
  CliResult<Printout> poll() {
    TRY_ASSIGN(const Duration interval, as_cli(parse_duration(request_.poll_interval)));
    std::map<std::string, std::string> known;  // state by id
    for (bool first = true;; first = false) {
      TRY_ASSIGN(const Session::Page page, session_.list(session_.tenant_path({"jobs"}), {}, {}));
      // Newest first; changes are printed in the order of time.
      for (const JsonValue& job : std::views::reverse(page.items)) {
        const std::string state = job.at("state").as_string();
        const bool changed = std::exchange(known[job.at("id").as_string()], state) != state;
        if (!changed || first) continue;
        TRY(show(job));
        if (is_enough()) return Printout{};
      }
      if (known.size() > kKnownMax) known.clear();
      std::this_thread::sleep_for(interval);
    }
  }

  CliResult<void> show_event(const EventReader::Event& event) {
    if (event.name == "events.lost")
      fmt::print(stderr, "carillon: the server could not tell all: changes are missing here\n");
    if (event.name != "job.changed") return {};
    const auto job = JsonValue::parse(event.data);
    if (!job || job->at("tenant").as_string(session_.tenant()) != session_.tenant()) return {};
    return show(*job);
  }

  CliResult<void> show(const JsonValue& job) {
    ++shown_;
    std::string line;
    if (session_.json()) {
      JsonObject out;
      out.text("id", job.at("id").as_string()).text("tenant", session_.tenant());
      out.text("state", job.at("state").as_string());
      line = out.str() + "\n";
    } else {
      line = fmt::format("{}  {}\n", harmless(job.at("id").as_string()), harmless(job.at("state").as_string()));
    }
    if (print(line) != ExitCode::done) return cli_error(ExitCode::failed, "cannot write what was seen");
    return {};
  }

  bool is_enough() const { return request_.count && shown_ >= *request_.count; }

  Session& session_;
  const WatchRequest& request_;
  int shown_ = 0;
};

}  // namespace

std::optional<EventReader::Event> EventReader::next() {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) {
      Event event = std::exchange(event_, {});
      if (event.data.empty() && event.name.empty()) continue;
      return event;
    }
    const std::size_t colon = line.find(':');
    const std::string name = line.substr(0, colon);
    std::string value = colon == std::string::npos ? "" : line.substr(colon + 1);
    if (value.starts_with(' ')) value.erase(0, 1);
    if (name == "event") event_.name = value;
    if (name == "data") event_.data += (event_.data.empty() ? "" : "\n") + value;
  }
}

CliResult<Printout> watch_jobs(Session& session, const WatchRequest& request) {
  Watcher watcher(session, request);
  return request.id ? watcher.follow_one(*request.id) : watcher.follow_all();
}

}  // namespace carillon
