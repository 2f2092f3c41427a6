#include "cli/client_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "cli/bulk.h"
#include "cli/command_tree.h"
#include "cli/config_commands.h"
#include "cli/doctor_command.h"
#include "cli/enqueue_command.h"
#include "cli/explain_command.h"
#include "cli/jobs_commands.h"
#include "cli/keys_commands.h"
#include "cli/login_command.h"
#include "cli/queues_commands.h"
#include "cli/serve_flags.h"
#include "cli/session.h"
#include "cli/slo_command.h"
#include "cli/status_commands.h"
#include "cli/tenants_commands.h"
#include "cli/terminal.h"
#include "cli/watch_command.h"

namespace carillon {

namespace {

// Builds the tree. Its callback keeps alive what a command is given.
class Builder : private CommandTree {
 public:
  Builder(CLI::App& app, ExitCode& exit_code) : CommandTree(app, exit_code) {}

  void add_all() {
    add_enqueue();
    add_jobs();
    add_dlq();
    add_schedule_commands(*this);
    add_subject_commands(*this);
    add_explain();
    add_tenants();
    add_queues();
    add_limits();
    add_keys();
    add_login();
    add_config();
    add_slo();
    add_status();
    add_doctor();
  }

 private:
  static void add_job_filters(CLI::App* command, JobsListRequest& request) {
    command->add_option("--type", request.type, "Of this type")->type_name("TYPE");
    command->add_option("--queue", request.queue, "In this queue")->type_name("QUEUE");
    command->add_option("--schedule", request.schedule, "Made by this schedule")->type_name("NAME");
    command->add_option("--subject", request.subject, "Of this subject")->type_name("SUBJECT");
    command->add_option("--tag", request.tag, "With this tag")->type_name("TAG");
    command->add_option("--text", request.text, "With this text")->type_name("TEXT");
    command->add_option("--since", request.since, "From this time on")->type_name("TIME");
    command->add_option("--until", request.until, "Before this time")->type_name("TIME");
    add_paging(command, request.paging);
  }

  static void add_bulk_options(CLI::App* command, BulkCommand& bulk) {
    command->add_option("--filter", bulk.filters, "Which ones, as NAME=VALUE: type, queue, schedule, subject, tag, …")
        ->type_name("FILTER")
        ->allow_extra_args(false);
    command->add_flag("--all", bulk.all, "Every one");
    command->add_option("--rate", bulk.rate, "At most so many a second")->type_name("N");
    command->add_flag("--detach", bulk.detach, "Do not wait for the end; prints the id of the work");
  }

  void add_enqueue() {
    auto request = std::make_shared<EnqueueRequest>();
    CLI::App* command = app().add_subcommand("enqueue", "Make a job; prints its id");
    command->add_option("type", request->type, "What to do")->required()->type_name("TYPE");
    command->add_option("--payload", request->payload, "JSON, @FILE or - for standard input")->type_name("JSON");
    command->add_option("--queue", request->queue, "The queue (default: default)")->type_name("QUEUE");
    add_priority(*command, request->priority);
    CLI::Option* at = command->add_option("--at", request->at, "When, UTC")->type_name("TIME");
    command->add_option("--in", request->in, "After how long")->type_name("DURATION")->excludes(at);
    command->add_option("--key", request->key, "Idempotency key: the same one makes no second job")->type_name("KEY");
    command->add_option("--max-attempts", request->max_attempts, "How often it may be tried")->type_name("N");
    command->add_option("--timeout", request->timeout, "How long an attempt may take")->type_name("DURATION");
    command->add_option("--deadline", request->deadline, "Not after this time")->type_name("TIME");
    command->add_option("--subject", request->subject, "Whom it is about")->type_name("SUBJECT");
    command->add_option("--depends-on", request->depends_on, "Only after this job; may be repeated")
        ->type_name("ID")
        ->allow_extra_args(false);
    command->add_option("--tag", request->tags, "May be repeated")->type_name("TAG")->allow_extra_args(false);
    command->add_option("--uses-limit", request->limits, "A limit that it counts against; may be repeated")
        ->type_name("LIMIT")
        ->allow_extra_args(false);
    on(command, [request, options = options()](Session& session) { return enqueue(session, *request, options->json); });
  }

  void add_jobs() {
    CLI::App* jobs =
        group("jobs", "List, show and change jobs", [](Session& session) { return list_jobs(session, {}); });
    auto request = std::make_shared<JobsListRequest>();
    CLI::App* list = jobs->add_subcommand("list", "Jobs, newest first");
    list->add_option("--state", request->state, "In this state")->type_name("STATE");
    add_job_filters(list, *request);
    on(list, [request](Session& session) { return list_jobs(session, *request); });

    auto id = std::make_shared<std::string>();
    auto wait = std::make_shared<std::optional<std::string>>();
    CLI::App* show = jobs->add_subcommand("show", "All about one job");
    show->add_option("id", *id, "The job")->required()->type_name("ID");
    show->add_option("--wait", *wait, "Until it is final, at most so long")->type_name("DURATION");
    on(show, [id, wait](Session& session) { return show_job(session, *id, *wait); });

    add_action_or_bulk(jobs, "cancel", "Cancel a job, or many with --filter; parked ones only with --filter state=dlq");
    add_action(jobs, "retry", "Try a parked job again");
    add_action(jobs, "rerun", "Make the same job once more");
    add_action(jobs, "run", "Run a waiting job now");
    add_watch(jobs);
  }

  void add_action(CLI::App* jobs, const std::string& action, const std::string& help) {
    auto id = std::make_shared<std::string>();
    CLI::App* command = jobs->add_subcommand(action, help);
    command->add_option("id", *id, "The job")->required()->type_name("ID");
    on(command, [id, action](Session& session) { return act_on_job(session, *id, action); });
  }

  void add_action_or_bulk(CLI::App* jobs, const std::string& action, const std::string& help) {
    auto id = std::make_shared<std::optional<std::string>>();
    auto bulk = std::make_shared<BulkCommand>();
    bulk->action = action;
    CLI::App* command = jobs->add_subcommand(action, help);
    command->add_option("id", *id, "The job")->type_name("ID");
    add_bulk_options(command, *bulk);
    on(command, [id, bulk, action](Session& session) -> CliResult<Printout> {
      if (!*id) return run_bulk(session, *bulk);
      if (!bulk->filters.empty() || bulk->all) {
        return cli_error(ExitCode::usage, "name one job, or many with --filter or --all; not both");
      }
      return act_on_job(session, **id, action);
    });
  }

  void add_watch(CLI::App* jobs) {
    auto request = std::make_shared<WatchRequest>();
    CLI::App* watch = jobs->add_subcommand("watch", "Follow the changes of all jobs, or of one until its end");
    watch->add_option("id", request->id, "One job")->type_name("ID");
    watch->add_option("--count", request->count, "End after so many changes")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    watch->add_option("--poll-interval", request->poll_interval, "Where the server has no stream of events (1s)")
        ->type_name("DURATION");
    on(watch, [request](Session& session) { return watch_jobs(session, *request); });
  }

  void add_dlq() {
    CLI::App* dlq = group("dlq", "Jobs that were parked: list, retry, discard",
                          [](Session& session) { return list_dlq(session, {}); });
    auto request = std::make_shared<JobsListRequest>();
    CLI::App* list = dlq->add_subcommand("list", "What is parked, newest first");
    add_job_filters(list, *request);
    on(list, [request](Session& session) { return list_dlq(session, *request); });
    for (const auto& [action, help] :
         {std::pair{"retry", "Try parked jobs again"}, {"discard", "Give parked jobs up"}}) {
      auto bulk = std::make_shared<BulkCommand>();
      bulk->action = action;
      bulk->state = "dlq";
      CLI::App* command = dlq->add_subcommand(action, help);
      add_bulk_options(command, *bulk);
      on(command, [bulk](Session& session) { return run_bulk(session, *bulk); });
    }
  }

  void add_explain() {
    auto what = std::make_shared<std::string>();
    CLI::App* command = app().add_subcommand("explain", "Why it ran, did not run, or waits");
    command->add_option("what", *what, "A job's id, a schedule, or SCHEDULE/SUBJECT")->required()->type_name("WHAT");
    on(command, [what](Session& session) { return explain(session, *what); });
  }

  void add_tenants() {
    CLI::App* tenants =
        group("tenants", "Tenants and their settings", [](Session& session) { return list_tenants(session); });
    on(tenants->add_subcommand("list", "All tenants of the key"), list_tenants);
    add_named(tenants, "create", "Make a tenant", create_tenant);
    add_named(tenants, "delete", "Delete a tenant and all that is its", delete_tenant);

    auto shown = std::make_shared<std::optional<std::string>>();
    CLI::App* show = tenants->add_subcommand("show", "A tenant's settings");
    show->add_option("name", *shown, "The tenant (default: that of --tenant)")->type_name("NAME");
    on(show, [shown](Session& session) { return show_tenant(session, *shown); });

    auto name = std::make_shared<std::string>();
    auto fields = std::make_shared<std::vector<std::string>>();
    CLI::App* set = tenants->add_subcommand("set", "Change a tenant's settings");
    set->add_option("name", *name, "The tenant")->required()->type_name("NAME");
    set->add_option("fields", *fields, "NAME=VALUE, such as weight=2 or timezone=Europe/London; null clears")
        ->required()
        ->type_name("FIELD");
    on(set, [name, fields](Session& session) { return set_tenant(session, *name, *fields); });
  }

  void add_queues() {
    CLI::App* queues =
        group("queues", "Queues: caps and pauses", [](Session& session) { return list_queues(session); });
    on(queues->add_subcommand("list", "Queues and how full they are"), list_queues);
    auto change = std::make_shared<QueueChange>();
    CLI::App* set = queues->add_subcommand("set", "Change a queue");
    set->add_option("queue", change->queue, "The queue")->required()->type_name("QUEUE");
    set->add_option("--max-concurrency", change->max_concurrency, "Jobs that run at once, or none")->type_name("N");
    on(set, [change](Session& session) { return change_queue(session, *change); });
    add_named(queues, "pause", "Start no jobs of a queue", [](Session& session, const std::string& name) {
      return change_queue(session, {.queue = name, .max_concurrency = {}, .paused = true});
    });
    add_named(queues, "resume", "Start its jobs again", [](Session& session, const std::string& name) {
      return change_queue(session, {.queue = name, .max_concurrency = {}, .paused = false});
    });
  }

  void add_limits() {
    CLI::App* limits = group("limits", "Limits of rate and concurrency",
                             [](Session& session) { return list_limits(session, {}, false); });
    auto paging = std::make_shared<Paging>();
    auto global = std::make_shared<bool>(false);
    CLI::App* list = limits->add_subcommand("list", "All limits of the tenant");
    add_paging(list, *paging);
    list->add_flag("--global", *global, "Those for all tenants");
    on(list, [paging, global](Session& session) { return list_limits(session, *paging, *global); });

    using OnLimit = CliResult<Printout> (*)(Session& session, const LimitRequest& request);
    struct Verb {
      std::string name;
      std::string help;
      OnLimit run;
    };
    for (const Verb& verb : {Verb{"show", "One limit", show_limit}, Verb{"put", "Make or replace a limit", put_limit},
                             Verb{"delete", "Delete a limit", delete_limit}}) {
      auto request = std::make_shared<LimitRequest>();
      CLI::App* command = limits->add_subcommand(verb.name, verb.help);
      command->add_option("name", request->name, "The limit")->required()->type_name("NAME");
      command->add_flag("--global", request->global, "For all tenants");
      if (verb.name == "put") {
        command->add_option("--rate", request->rate, "So many starts")->type_name("N");
        command->add_option("--per", request->per, "In this time")->type_name("DURATION");
        command->add_option("--burst", request->burst, "At most so many at once after a quiet time")->type_name("N");
        command->add_option("--concurrency", request->concurrency, "At most so many run at once")->type_name("N");
      }
      on(command, [request, run = verb.run](Session& session) { return run(session, *request); });
    }
  }

  void add_keys() {
    CLI::App* keys = group("keys", "Who may call the server", [](Session& session) { return list_keys(session); });
    on(keys->add_subcommand("list", "All keys, never the secrets"), list_keys);
    auto request = std::make_shared<KeyRequest>();
    CLI::App* create = keys->add_subcommand("create", "Make a key; it is shown only now");
    create->add_option("name", request->name, "What it is for")->required()->type_name("NAME");
    create->add_option("--scope", request->scope, "What it may do: read, worker, tenant or admin")
        ->required()
        ->type_name("SCOPE");
    CLI::Option* some = create->add_option("--for-tenant", request->tenants, "For this tenant; may be repeated")
                            ->type_name("TENANT")
                            ->allow_extra_args(false);
    create->add_flag("--all-tenants", request->all_tenants, "For all tenants, as a key of scope admin always is")
        ->excludes(some);
    create->add_option("--expires-at", request->expires_at, "Until when, UTC")->type_name("TIME");
    on(create, [request](Session& session) { return create_key(session, *request); });
    auto id = std::make_shared<std::string>();
    CLI::App* remove = keys->add_subcommand("delete", "Delete a key");
    remove->add_option("id", *id, "The key's id")->required()->type_name("ID");
    on(remove, [id](Session& session) { return delete_key(session, *id); });
  }

  void add_config() {
    CLI::App* config = group("config", "What a server is told", show_config);
    on(config->add_subcommand("show", "What a running server has been told"), show_config);
    auto fields = std::make_shared<std::vector<std::string>>();
    CLI::App* set = config->add_subcommand("set", "Change what is not pinned by flags, environment or file");
    set->add_option("fields", *fields, "NAME=VALUE, such as enabled=false")->required()->type_name("FIELD");
    on(set, [fields](Session& session) { return set_config(session, *fields); });

    auto flags = std::make_shared<daemon::ServeFlags>();
    auto json = std::make_shared<bool>(false);
    CLI::App* check = config->add_subcommand("check", "Every setting of serve, and where it comes from; offline");
    add_serve_flags(*check, *flags);
    check->add_flag("--json", *json, "JSON, also on a terminal");
    check->callback([flags, json, &exit_code = exit_code()] {
      exit_code = finish(check_config(*flags, *json || !stdout_is_terminal()));
    });
  }

  void add_login() {
    on(app().add_subcommand("login", "Print a link that signs in at the page, once, for 10 minutes"), make_login_link);
  }

  void add_slo() { on(app().add_subcommand("slo", "How each objective stands"), show_slo); }

  void add_status() { on(app().add_subcommand("status", "How the server is"), show_status); }

  void add_doctor() {
    auto request = std::make_shared<DoctorRequest>();
    CLI::App* command = app().add_subcommand("doctor", "Look for what keeps a server from working");
    command->add_option("--config", request->flags.config, "The file of the server")->type_name("FILE");
    command
        ->add_option_function<std::string>(
            "--db", [request](const std::string& url) { request->flags.values["db"] = url; }, "Its database")
        ->type_name("URL");
    command
        ->add_option_function<std::string>(
            "--event-log", [request](const std::string& path) { request->flags.values["event_log"] = path; },
            "Its event log")
        ->type_name("FILE");
    command->add_flag("--offline", request->offline, "Only this machine");
    add_options(*command);
    command->callback([request, options = options(), &exit_code = exit_code()] {
      request->client = *options;
      request->json = options->json || !stdout_is_terminal();
      exit_code = finish(run_doctor(*request, system_now()));
    });
  }
};

}  // namespace

void add_serve_flags(CLI::App& command, daemon::ServeFlags& flags) {
  command.add_option("--config", flags.config, "Settings (default carillon.toml, if there is one)")->type_name("FILE");
  for (const daemon::ServeFlag& flag : daemon::serve_flags()) {
    if (flag.value_name.empty()) {
      command.add_flag_callback(flag.flag, [&flags, key = flag.key] { flags.values[key] = "true"; }, flag.help);
      continue;
    }
    command
        .add_option_function<std::string>(
            flag.flag, [&flags, key = flag.key](const std::string& value) { flags.values[key] = value; }, flag.help)
        ->type_name(flag.value_name);
  }
  const auto set = [&flags](const std::vector<std::string>& pairs) {
    for (const std::string& pair : pairs) {
      const std::size_t equals = pair.find('=');
      if (equals == std::string::npos) throw CLI::ValidationError("--set", "must be KEY=VALUE, not " + pair);
      flags.values[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
  };
  command.add_option_function<std::vector<std::string>>("--set", set, "Any other setting; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_client_commands(CLI::App& app, ExitCode& exit_code) { Builder(app, exit_code).add_all(); }

}  // namespace carillon
