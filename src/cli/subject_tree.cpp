// The tree of `carillon subjects`.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command_tree.h"
#include "cli/explain_command.h"
#include "cli/schedules_commands.h"
#include "cli/subjects_commands.h"
#include "cli/subjects_import.h"

namespace carillon {

namespace {

void add_schedule_name(CLI::App* command, std::string& schedule) {
  command->add_option("schedule", schedule, "The schedule")->required()->type_name("SCHEDULE");
}

void add_names(CLI::App* command, SubjectName& name) {
  add_schedule_name(command, name.schedule);
  command->add_option("subject", name.subject, "The subject")->required()->type_name("SUBJECT");
}

void add_subject_list(CommandTree& tree, CLI::App* subjects) {
  auto request = std::make_shared<SubjectsListRequest>();
  CLI::App* list = subjects->add_subcommand("list", "Subjects of a schedule, by name or by next time");
  add_schedule_name(list, request->schedule);
  list->add_option("--prefix", request->prefix, "Whose names begin with this")->type_name("TEXT");
  CLI::Option* enabled = list->add_flag("--enabled", request->enabled, "Those that are enabled");
  list->add_flag("--disabled", request->disabled, "Those that are not")->excludes(enabled);
  list->add_option("--status", request->status, "With this last outcome, or none")->type_name("STATUS");
  list->add_option("--due-until", request->due_until, "Due by then, earliest first")->type_name("TIME");
  CommandTree::add_paging(list, request->paging);
  tree.on(list, [request](Session& session) { return list_subjects(session, *request); });
}

using OnSubject = CliResult<Printout> (*)(Session& session, const SubjectName& name);

void add_about_subject(CommandTree& tree, CLI::App* subjects, const std::string& verb, const std::string& help,
                       OnSubject run) {
  auto name = std::make_shared<SubjectName>();
  CLI::App* command = subjects->add_subcommand(verb, help);
  add_names(command, *name);
  tree.on(command, [name, run](Session& session) { return run(session, *name); });
}

using OnWrite = CliResult<Printout> (*)(Session& session, const SubjectWrite& request);

void add_subject_write(CommandTree& tree, CLI::App* subjects, const std::string& verb, const std::string& help,
                       OnWrite run) {
  auto request = std::make_shared<SubjectWrite>();
  CLI::App* command = subjects->add_subcommand(verb, help);
  add_names(command, request->name);
  command->add_option("body", request->body, "JSON, @FILE or - for standard input; or say it by the options")
      ->type_name("JSON");
  command->add_option("--due", request->due, "Of deliveries: by when, local HH:MM")->type_name("HH:MM");
  command->add_option("--timezone", request->timezone, "Its own zone")->type_name("ZONE");
  command->add_option("--interval", request->interval, "Of windows: how long each is")->type_name("DURATION");
  command->add_option("--mode", request->mode, "Of windows: handed to the jobs")->type_name("MODE");
  CommandTree::add_priority(*command, request->priority);
  command->add_option("--payload", request->payload, "JSON object, @FILE or -; merged over the schedule's")
      ->type_name("JSON");
  command->add_option("--uses-limit", request->limits, "Instead of the schedule's limits; may be repeated")
      ->type_name("LIMIT")
      ->allow_extra_args(false);
  command->add_option("--expected-at", request->expected_at, "Of adaptive checks: when, UTC")->type_name("TIME");
  command->add_option("--cursor-end", request->cursor_end, "Of windows: all before it is done, UTC")->type_name("TIME");
  CLI::Option* enabled = command->add_flag("--enabled", request->enabled, "Plan it");
  command->add_flag("--disabled", request->disabled, "Plan nothing for it")->excludes(enabled);
  command->add_option("--if-match", request->if_match, "Only if this is its version (etag)")->type_name("VERSION");
  tree.on(command, [request, run](Session& session) { return run(session, *request); });
}

void add_subject_trigger(CommandTree& tree, CLI::App* subjects) {
  auto name = std::make_shared<SubjectName>();
  auto request = std::make_shared<TriggerRequest>();
  CLI::App* command = subjects->add_subcommand("trigger", "Run it now; prints the job's id");
  add_names(command, *name);
  add_trigger_options(*command, *request);
  tree.on(command, [name, request](Session& session) {
    request->schedule = name->schedule;
    request->subject = name->subject;
    return trigger_schedule(session, *request);
  });
}

void add_subject_preview(CommandTree& tree, CLI::App* subjects) {
  auto name = std::make_shared<SubjectName>();
  auto count = std::make_shared<std::string>("10");
  CLI::App* command = subjects->add_subcommand("preview", "Its next times, clock changes marked");
  add_names(command, *name);
  command->add_option("--count", *count, "How many (default 10)")->type_name("N");
  tree.on(command, [name, count](Session& session) { return preview_subject(session, *name, *count); });
}

void add_subject_import(CommandTree& tree, CLI::App* subjects) {
  auto request = std::make_shared<SubjectsImport>();
  CLI::App* command = subjects->add_subcommand("import", "Put many subjects, a JSON object a line");
  add_schedule_name(command, request->schedule);
  command->add_option("file", request->file, "JSON lines; - for standard input")->required()->type_name("FILE.ndjson");
  command->add_option("--chunk", request->chunk_lines, "Lines a call, each call all or none (default 5000)")
      ->type_name("N")
      ->check(CLI::Range(1, kImportLinesMax));
  tree.on(command, [request](Session& session) { return import_subjects(session, *request); });
}

void add_subject_export(CommandTree& tree, CLI::App* subjects) {
  auto request = std::make_shared<SubjectsExport>();
  CLI::App* command = subjects->add_subcommand("export", "All subjects, as lines that import reads");
  add_schedule_name(command, request->schedule);
  command->add_flag("--without-cursors", request->without_cursors,
                    "Leave out cursor_end of windows: a file that can be imported again and again");
  tree.on(command, [request](Session& session) { return export_subjects(session, *request); });
}

}  // namespace

void add_subject_commands(CommandTree& tree) {
  CLI::App* subjects = tree.app().add_subcommand("subjects", "Subjects of a schedule with fan_out");
  subjects->require_subcommand(1);
  add_subject_list(tree, subjects);
  add_about_subject(tree, subjects, "show", "All about one subject", show_subject);
  add_subject_write(tree, subjects, "put", "Make or replace a subject", put_subject);
  add_subject_write(tree, subjects, "patch", "Change some fields of a subject; null takes them away", patch_subject);
  add_about_subject(tree, subjects, "pause", "Make no jobs for a subject until it is resumed", pause_subject);
  add_about_subject(tree, subjects, "resume", "Make jobs for a subject again, from now on", resume_subject);
  add_subject_import(tree, subjects);
  add_subject_export(tree, subjects);
  add_about_subject(tree, subjects, "delete", "Delete a subject; its jobs that have not started are cancelled",
                    delete_subject);
  add_subject_trigger(tree, subjects);
  add_about_subject(tree, subjects, "explain", "Why it ran, did not run, or waits", explain_subject);
  add_subject_preview(tree, subjects);
}

}  // namespace carillon
