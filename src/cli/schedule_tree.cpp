// The tree of `carillon schedules`.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "cli/command_tree.h"
#include "cli/schedules_commands.h"

namespace carillon {

namespace {

void add_schedule_put(CommandTree& tree, CLI::App* schedules) {
  auto put = std::make_shared<SchedulePutRequest>();
  CLI::App* command = schedules->add_subcommand("put", "Make or replace a schedule");
  command->add_option("file", put->file, "JSON; - for standard input")->required()->type_name("FILE");
  command->add_option("--name", put->name, "Its name, if the file says none")->type_name("NAME");
  command->add_option("--if-match", put->if_match, "Only if this is its revision")->type_name("REVISION");
  tree.on(command, [put](Session& session) { return put_schedule(session, *put); });
}

void add_schedule_pause(CommandTree& tree, CLI::App* schedules) {
  auto name = std::make_shared<std::string>();
  auto until = std::make_shared<std::optional<std::string>>();
  CLI::App* command = schedules->add_subcommand("pause", "Make no jobs for a while");
  command->add_option("name", *name, "The schedule")->required()->type_name("NAME");
  command->add_option("--until", *until, "Until when, UTC (default: until it is resumed)")->type_name("TIME");
  tree.on(command, [name, until](Session& session) { return pause_schedule(session, *name, *until); });
}

void add_schedule_trigger(CommandTree& tree, CLI::App* schedules) {
  auto request = std::make_shared<TriggerRequest>();
  CLI::App* command = schedules->add_subcommand("trigger", "Make its job now; prints the id");
  command->add_option("name", request->schedule, "The schedule")->required()->type_name("NAME");
  command->add_option("--subject", request->subject, "For this subject")->type_name("SUBJECT");
  add_trigger_options(*command, *request);
  tree.on(command, [request](Session& session) { return trigger_schedule(session, *request); });
}

void add_schedule_backfill(CommandTree& tree, CLI::App* schedules) {
  auto request = std::make_shared<BackfillCommand>();
  CLI::App* command = schedules->add_subcommand("backfill", "Run every window of a range by hand");
  command->add_option("name", request->schedule, "The schedule")->required()->type_name("NAME");
  command->add_option("--from", request->from, "Where the first window begins, UTC")->required()->type_name("TIME");
  command->add_option("--to", request->to, "Where the last one ends, UTC")->required()->type_name("TIME");
  command->add_option("--subject", request->subject, "Of this subject (default: of all)")->type_name("SUBJECT");
  command->add_flag("--detach", request->detach, "Do not wait for the end; prints the id of the work");
  tree.on(command, [request](Session& session) { return backfill_schedule(session, *request); });
}

void add_schedule_outcomes(CommandTree& tree, CLI::App* schedules) {
  auto request = std::make_shared<OutcomesRequest>();
  CLI::App* command = schedules->add_subcommand("outcomes", "How its occurrences of a day ended, or each of them");
  command->add_option("name", request->schedule, "The schedule")->required()->type_name("NAME");
  command->add_option("--date", request->date, "The day (default: today)")->type_name("DATE");
  command->add_flag("--items", request->items, "Each of them, by subject");
  command->add_option("--subject", request->subject, "Each of this subject")->type_name("SUBJECT");
  command->add_option("--from", request->from, "Each from this time or day on")->type_name("TIME");
  command->add_option("--to", request->to, "Each before this time or day")->type_name("TIME");
  CommandTree::add_paging(command, request->paging);
  tree.on(command, [request](Session& session) { return show_outcomes(session, *request); });
}

}  // namespace

void add_trigger_options(CLI::App& command, TriggerRequest& request) {
  command.add_option("--payload", request.payload, "JSON, @FILE or -")->type_name("JSON");
  CommandTree::add_priority(command, request.priority);
  CLI::Option* start =
      command.add_option("--window-start", request.window_start, "Of windows: this one, from here")->type_name("TIME");
  CLI::Option* end = command.add_option("--window-end", request.window_end, "until here, UTC")->type_name("TIME");
  start->needs(end);
  end->needs(start);
}

void add_schedule_commands(CommandTree& tree) {
  CLI::App* schedules = tree.group("schedules", "List, put and steer schedules",
                                   [](Session& session) { return list_schedules(session, {}); });
  auto paging = std::make_shared<Paging>();
  CLI::App* list = schedules->add_subcommand("list", "Schedules and their next times");
  CommandTree::add_paging(list, *paging);
  tree.on(list, [paging](Session& session) { return list_schedules(session, *paging); });

  add_schedule_put(tree, schedules);
  tree.add_named(schedules, "show", "All about one schedule", show_schedule);
  add_schedule_pause(tree, schedules);
  tree.add_named(schedules, "resume", "End a pause", resume_schedule);
  add_schedule_trigger(tree, schedules);
  add_schedule_backfill(tree, schedules);
  add_schedule_outcomes(tree, schedules);
  tree.add_named(schedules, "delete", "Delete a schedule; its jobs that have not started are cancelled",
                 delete_schedule);

  auto name = std::make_shared<std::string>();
  auto count = std::make_shared<std::string>("10");
  CLI::App* preview = schedules->add_subcommand("preview", "Its next times, clock changes marked");
  preview->add_option("name", *name, "The schedule")->required()->type_name("NAME");
  preview->add_option("--count", *count, "How many (default 10)")->type_name("N");
  tree.on(preview, [name, count](Session& session) { return preview_schedule(session, *name, *count); });
}

}  // namespace carillon
