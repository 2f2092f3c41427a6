#include "daemon/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <variant>

#include "daemon/config_settings.h"
#include "support/results.h"

namespace carillon::daemon {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::value_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Given {
  std::map<std::string, std::string> flags;
  Environment environment;
  std::optional<std::string> file;
};

Result<LoadedConfig> load(const Given& given) {
  std::optional<ConfigFile> file;
  if (given.file) file = ConfigFile{.path = "carillon.toml", .text = *given.file};
  return load_config({.config = {}, .values = given.flags}, given.environment, file);
}

ServerConfig config_of(const Given& given) { return value_of(load(given)).config; }

std::string refusal_of(const Given& given) {
  const Error error = error_of(load(given));
  EXPECT_EQ(error.code, ErrorCode::invalid_configuration);
  EXPECT_THAT(error.message, Not(HasSubstr("\n")));
  return error.message;
}

// ---- Defaults and precedence --------------------------------------------------------------------------------------

TEST(Config, WithoutAnythingItKeepsItsDataHereAndListensOnThisMachine) {
  const LoadedConfig loaded = value_of(load({}));
  EXPECT_EQ(loaded.config.db, "sqlite:carillon.db");
  EXPECT_EQ(loaded.config.listen, (ListenAddress{.address = "127.0.0.1", .port = 7440}));
  EXPECT_EQ(loaded.config.tick, 1s);
  EXPECT_EQ(loaded.config.worker.batch, std::nullopt);
  EXPECT_EQ(loaded.config.worker.lease, 60s);
  EXPECT_EQ(loaded.config.worker.max_attempts, 5U);
  EXPECT_EQ(loaded.config.scheduler.max_backfill_windows, 6U);
  EXPECT_EQ(loaded.config.scheduler.min_window, 60s);
  EXPECT_EQ(loaded.config.slo.eval, 60s);
  EXPECT_EQ(loaded.config.slo.window, 15min);
  EXPECT_EQ(loaded.config.slo.tick_budget, 300ms);
  EXPECT_EQ(loaded.config.slo.sat_ratio, 0.8);
  EXPECT_EQ(loaded.config.slo.breach_consecutive, 3U);
  for (const EffectiveSetting& setting : loaded.settings) {
    EXPECT_EQ(setting.origin, "default") << setting.key;
    EXPECT_EQ(loaded.pin(setting.key), std::nullopt) << setting.key;
  }
}

TEST(Config, FlagsRankOverTheEnvironmentAndThatOverTheFile) {
  const std::string file = "max_concurrency = 2\ntick_ms = 20\njob_timeout_ms = 200\n";
  const Environment environment{{"CARILLON_MAX_CONCURRENCY", "3"}, {"CARILLON_TICK_MS", "30"}};
  const LoadedConfig loaded =
      value_of(load({.flags = {{"max_concurrency", "4"}}, .environment = environment, .file = file}));

  EXPECT_EQ(loaded.config.max_concurrency, 4U);
  EXPECT_EQ(loaded.config.tick, 30ms);
  EXPECT_EQ(loaded.config.job_timeout, 200ms);
  EXPECT_EQ(loaded.pin("max_concurrency"), "flag --max-concurrency");
  EXPECT_EQ(loaded.pin("tick_ms"), "environment CARILLON_TICK_MS");
  EXPECT_EQ(loaded.pin("job_timeout_ms"), "carillon.toml, line 3");
  EXPECT_EQ(loaded.pin("retention"), std::nullopt);
}

TEST(Config, AVariableThatIsSetToNothingIsNotSet) {
  EXPECT_EQ(config_of({.environment = {{"CARILLON_DB", ""}}}).db, "sqlite:carillon.db");
}

TEST(Config, AWrongValueIsRefusedEvenIfAStrongerSourceOverridesIt) {
  EXPECT_THAT(refusal_of({.flags = {{"tick_ms", "5"}}, .file = "tick_ms = 0\n"}),
              AllOf(HasSubstr("tick_ms = 0"), HasSubstr("carillon.toml, line 1")));
}

// ---- Names that set the same thing --------------------------------------------------------------------------------

TEST(Config, TheSeedsNamesWorkInTheEnvironment) {
  const ServerConfig config = config_of({.environment = {{"SCHEDULER_TICK_MINUTES", "2"},
                                                         {"SCHEDULER_MAX_BACKFILL_WINDOWS", "7"},
                                                         {"SCHEDULER_MIN_WINDOW_SECONDS", "90"},
                                                         {"WORKER_BATCH", "20"},
                                                         {"WORKER_LEASE_MS", "30000"},
                                                         {"WORKER_MAX_ATTEMPTS", "8"}}});
  EXPECT_EQ(config.tick, 2min);
  EXPECT_EQ(config.scheduler.max_backfill_windows, 7U);
  EXPECT_EQ(config.scheduler.min_window, 90s);
  EXPECT_EQ(config.worker.batch, 20U);
  EXPECT_EQ(config.worker.lease, 30s);
  EXPECT_EQ(config.worker.max_attempts, 8U);
  EXPECT_EQ(config_of({.environment = {{"WORKER_POLL_MS", "250"}}}).tick, 250ms);
}

TEST(Config, TheSeedsTopLevelKeysWorkInTheFile) {
  const ServerConfig config = config_of({.file = R"(
tick_ms = 500
max_concurrency = 3
job_timeout_ms = 1000
slo_eval_ms = 2000
slo_window_minutes = 5
tick_budget_ms = 100
sat_ratio = 0.5
depth_avg_max = 12
job_p95_max_ms = 900
cutoff_rate_max = 0.25
dlq_max = 4
stalled_max = 0
breach_consecutive = 2
)"});
  EXPECT_EQ(config.tick, 500ms);
  EXPECT_EQ(config.max_concurrency, 3U);
  EXPECT_EQ(config.job_timeout, 1s);
  EXPECT_EQ(config.slo.eval, 2s);
  EXPECT_EQ(config.slo.window, 5min);
  EXPECT_EQ(config.slo.tick_budget, 100ms);
  EXPECT_EQ(config.slo.sat_ratio, 0.5);
  EXPECT_EQ(config.slo.depth_avg_max, 12);
  EXPECT_EQ(config.slo.job_p95_max, 900ms);
  EXPECT_EQ(config.slo.cutoff_rate_max, 0.25);
  EXPECT_EQ(config.slo.dlq_max, 4);
  EXPECT_EQ(config.slo.stalled_max, 0);
  EXPECT_EQ(config.slo.breach_consecutive, 2U);
}

TEST(Config, NamesThatDisagreeAcrossSourcesStopTheStart) {
  EXPECT_EQ(refusal_of({.environment = {{"WORKER_POLL_MS", "2000"}}, .file = "tick_ms = 500\n"}),
            "worker.poll_ms = \"2000\" (environment WORKER_POLL_MS) and tick_ms = 500 (carillon.toml, line 1) set the "
            "same thing and disagree; keep one of them, or make them agree");
  EXPECT_THAT(refusal_of({.flags = {{"tick_ms", "1000"}}, .environment = {{"SCHEDULER_TICK_MINUTES", "1"}}}),
              AllOf(HasSubstr("flag --tick-ms"), HasSubstr("environment SCHEDULER_TICK_MINUTES")));
}

TEST(Config, NamesThatDisagreeInOneSourceStopTheStart) {
  EXPECT_THAT(refusal_of({.environment = {{"WORKER_POLL_MS", "2000"}, {"CARILLON_WORKER_POLL_MS", "3000"}}}),
              HasSubstr("disagree"));
  EXPECT_THAT(refusal_of({.file = "tick_ms = 5\n[worker]\npoll_ms = 6\n"}), HasSubstr("line 3"));
  EXPECT_THAT(refusal_of({.environment = {{"WORKER_MAX_ATTEMPTS", "3"}}, .file = "default_retry_max_attempts = 4\n"}),
              HasSubstr("disagree"));
}

TEST(Config, NamesThatAgreeAreFineInWhateverUnit) {
  EXPECT_EQ(config_of({.flags = {{"tick_ms", "60000"}},
                       .environment = {{"SCHEDULER_TICK_MINUTES", "1"}, {"WORKER_POLL_MS", "60000"}},
                       .file = "check_interval_seconds = 60\n"})
                .tick,
            1min);
}

TEST(Config, WhatAStrongerSourceOverridesUnderTheSameNameCannotDisagree) {
  EXPECT_EQ(
      config_of({.flags = {{"tick_ms", "2000"}}, .environment = {{"WORKER_POLL_MS", "2000"}}, .file = "tick_ms = 7\n"})
          .tick,
      2s);
}

TEST(Config, APinIsFoundByEveryNameOfItsSetting) {
  const LoadedConfig loaded = value_of(load({.file = "[worker]\npoll_ms = 5\n"}));
  EXPECT_EQ(loaded.pin("tick_ms"), "carillon.toml, line 2 (worker.poll_ms)");
  EXPECT_EQ(loaded.pin("check_interval_seconds"), loaded.pin("tick_ms"));
  EXPECT_EQ(loaded.pin("no_such_setting"), std::nullopt);
  EXPECT_THAT(loaded.pins(), testing::SizeIs(4));
  EXPECT_EQ(loaded.pins().at("check_interval_seconds"), loaded.pin("tick_ms"));
}

// ---- Bounds -------------------------------------------------------------------------------------------------------

struct Bound {
  std::string_view key;
  std::vector<std::string_view> taken;
  std::vector<std::string_view> refused;
};

const std::vector<Bound>& bounds() {
  static const std::vector<Bound> rows{
      {"max_concurrency", {"1", "10000"}, {"0", "10001", "-1", "4.0", "four", "1e3", "99999999999999999999"}},
      {"tick_ms", {"1", "3600000"}, {"0", "3600001"}},
      {"check_interval_seconds", {"1", "3600"}, {"0", "3601", "0.5"}},
      {"scheduler.tick_minutes", {"1", "60"}, {"0", "61"}},
      {"worker.poll_ms", {"1", "3600000"}, {"0", "3600001"}},
      {"job_timeout_ms", {"1", "604800000"}, {"0", "604800001"}},
      {"drain", {"0s", "1h"}, {"61m", "5", "-1s"}},
      {"retention", {"1s", "146097d"}, {"0s", "999ms", "146098d", "7"}},
      {"enabled", {"true", "false", "1", "0"}, {"yes", "2"}},
      {"behind_proxy", {"true", "false"}, {"on"}},
      {"max_concurrent_jobs", {"1", "1000000000"}, {"0", "1000000001"}},
      {"timezone", {"UTC", "Europe/London"}, {"Mars/Base", "../UTC"}},
      {"scheduler.max_backfill_windows", {"1", "1000"}, {"0", "1001"}},
      {"scheduler.min_window_seconds", {"1", "86400"}, {"0", "86401"}},
      {"worker.batch", {"1", "1000"}, {"0", "1001"}},
      {"worker.lease_ms", {"1000", "86400000"}, {"999", "86400001"}},
      {"worker.max_attempts", {"1", "1000"}, {"0", "1001"}},
      {"default_retry_max_attempts", {"1", "1000"}, {"0", "1001"}},
      {"default_retry_backoff_seconds", {"1", "86400"}, {"0", "86401"}},
      {"http.budget_mb", {"128", "1048576"}, {"127", "1048577", "256MB"}},
      {"http.connections", {"10", "1000000"}, {"9", "1000001"}},
      {"http.connections_each", {"10", "1000000"}, {"9", "1000001"}},
      {"http.calls_each", {"10", "1000000"}, {"9", "1000001"}},
      {"slo_eval_ms", {"100", "3600000"}, {"99", "3600001"}},
      {"slo_window_minutes", {"1", "1440"}, {"0", "1441"}},
      {"tick_budget_ms", {"1", "3600000"}, {"0", "3600001"}},
      {"sat_ratio", {"0", "0.8", "1"}, {"-0.1", "1.01", "nan", "inf", "half"}},
      {"depth_avg_max", {"0", "1000000000"}, {"-1", "1000000001"}},
      {"job_p95_max_ms", {"1", "604800000"}, {"0", "604800001"}},
      {"cutoff_rate_max", {"0", "1"}, {"-1", "2"}},
      {"dlq_max", {"0", "1000000000"}, {"-1", "1000000001"}},
      {"stalled_max", {"0", "1000000000"}, {"-1", "many"}},
      {"breach_consecutive", {"1", "1000"}, {"0", "1001"}},
      {"db",
       {"sqlite:x.db", "memory:"},
       {"sqlite:", "x.db", "postgres://ada@db/jobs", "postgresql://db/jobs", "mysql://x"}},
      {"listen",
       {"127.0.0.1:0", "127.8.8.8:65535", "[::1]:7440", "localhost:80", "[::ffff:127.0.0.1]:80"},
       {"127.0.0.1", ":80", "::1:80", "127.0.0.1:65536", "127.0.0.1:http", "example.com:80", "[::1]", "[127.0.0.1]:80",
        "0.0.0.0:7440", "10.0.0.1:7440", "[::]:7440", "[::ffff:10.0.0.1]:80"}},
      {"clock",
       {"2026-03-28T23:00:00Z@600", "2026-03-28T23:00:00Z@0", "2026-03-28T23:00:00Z@0.5"},
       {"2026-03-28T23:00:00Z", "2026-03-28@600", "2026-03-28T23:00:00Z@-1", "2026-03-28T23:00:00Z@1000001", "@1"}},
      {"event_log", {"events.jsonl", "/var/log/x"}, {"a\nb"}},
      {"admin_key",
       {"ops.0123456789abcdef0123456789abcdef"},
       {"short", "0123456789abcdef0123456789abcdef", "ops.0123456789abcdef 123456789abcdef",
        ".0123456789abcdef0123456789abcdef"}},
      {"log.level", {"debug", "info", "warn", "error"}, {"INFO", "loud"}},
      {"log.format", {"auto", "json", "text"}, {"xml"}},
      {"webhooks.allow",
       {"127.0.0.1:9000, 10.1.0.0/16,hook.internal", "::1", "[::1]:80", "fd00::/8", "hook.internal:8080"},
       {"10.1.0.0/33", "127.0.0.1:0", "127.0.0.1:70000", "http://x", "a,", "x/8", "[hook.internal]:80", "a..b", "*"}},
      {"webhooks.ca_file", {CARILLON_SOURCE_FOLDER "/README.md"}, {"no/such/file.pem", "/", "/dev/null"}}};
  return rows;
}

TEST(Config, EverySettingTakesItsBoundsAndRefusesWhatLiesBeyondThem) {
  for (const Bound& row : bounds()) {
    for (const std::string_view value : row.taken) {
      const auto loaded = load({.flags = {{std::string(row.key), std::string(value)}}});
      EXPECT_TRUE(loaded) << row.key << " " << value << ": " << (loaded ? "" : loaded.error().message);
    }
    for (const std::string_view value : row.refused) {
      SCOPED_TRACE(std::string(row.key) + " " + std::string(value));
      const std::string message = refusal_of({.flags = {{std::string(row.key), std::string(value)}}});
      EXPECT_THAT(message,
                  AllOf(HasSubstr(std::string(row.key) + " = "), HasSubstr("(flag --"), HasSubstr("must be ")));
    }
  }
}

TEST(Config, TheTableOfBoundsHasEverySetting) {
  for (const Setting& setting : all_settings()) {
    for (const SettingName& name : setting.names) {
      EXPECT_TRUE(std::ranges::find(bounds(), name.key, &Bound::key) != bounds().end()) << name.key;
    }
  }
}

TEST(Config, AWrongValueSaysKeyValuePlaceAndWhatIsAllowed) {
  EXPECT_EQ(refusal_of({.environment = {{"WORKER_BATCH", "many"}}}),
            "worker.batch = \"many\" (environment WORKER_BATCH): must be a whole number from 1 to 1000");
  EXPECT_EQ(
      refusal_of({.environment = {{"SCHEDULER_TICK_MINUTES", "90"}}}),
      "scheduler.tick_minutes = \"90\" (environment SCHEDULER_TICK_MINUTES): must be a whole number from 1 to 60");
  EXPECT_EQ(refusal_of({.file = "\n[log]\nlevel = \"loud\"\n"}),
            "log.level = \"loud\" (carillon.toml, line 3): must be one of debug, info, warn, error");
}

TEST(Config, TheFileMustUseTheRightTypes) {
  for (const std::string_view line :
       {"tick_ms = \"1000\"", "tick_ms = 1.0", "tick_ms = true", "tick_ms = [1]", "tick_ms = 2026-01-01", "db = 5",
        "enabled = \"true\"", "enabled = 1", "sat_ratio = \"0.5\"", "retention = 7", "listen = 7440", "clock = 5",
        "webhooks.allow = \"10.0.0.0/8\"", "webhooks.allow = [1]", "log.level = 3", "tick_ms.x = 1", "worker = 5"}) {
    SCOPED_TRACE(std::string(line));
    refusal_of({.file = std::string(line)});
  }
}

TEST(Config, AnAddressBeyondThisMachineNeedsAProxyInFront) {
  EXPECT_THAT(refusal_of({.flags = {{"listen", "0.0.0.0:7440"}}}),
              AllOf(HasSubstr("loopback"), HasSubstr("--behind-proxy")));
  const ServerConfig config = config_of({.flags = {{"listen", "0.0.0.0:7440"}, {"behind_proxy", "true"}}});
  EXPECT_EQ(config.listen.address, "0.0.0.0");
}

TEST(Config, ARehearsalClockGoesOnlyWithSqlite) {
  const std::string clock = "2026-03-28T23:00:00Z@600";
  EXPECT_EQ(config_of({.flags = {{"clock", clock}}}).clock->speed, 600);
  EXPECT_THAT(refusal_of({.flags = {{"clock", clock}, {"db", "memory:"}}}), HasSubstr("sqlite:PATH"));
}

// ---- The file -----------------------------------------------------------------------------------------------------

TEST(Config, AnUnknownKeyIsRefusedWithTheNearestKnownName) {
  EXPECT_EQ(refusal_of({.file = "\ntik_ms = 5\n"}),
            "unknown key \"tik_ms\" (carillon.toml, line 2); did you mean tick_ms?");
  EXPECT_THAT(refusal_of({.file = "[worker]\nbtach = 5\n"}), HasSubstr("did you mean worker.batch?"));
  EXPECT_THAT(refusal_of({.file = "[server]\nlisten = \"x\"\n"}), HasSubstr("did you mean listen?"));
  EXPECT_THAT(refusal_of({.file = "something_else_entirely = 5\n"}), HasSubstr("docs/configuration.md"));
  EXPECT_THAT(refusal_of({.file = "[empty]\n"}), HasSubstr("unknown key \"empty\""));
  EXPECT_THAT(refusal_of({.file = "\"worker.batch\" = 5\n"}), HasSubstr("unknown key"));
  EXPECT_THAT(refusal_of({.flags = {{"tik_ms", "5"}}}), HasSubstr("did you mean tick_ms?"));
}

TEST(Config, AFileThatIsNotTomlSaysWhere) {
  EXPECT_THAT(refusal_of({.file = "tick_ms = 5\ntick_ms = 6\n"}), HasSubstr("carillon.toml, line 2"));
  EXPECT_THAT(refusal_of({.file = "[`worker]\n"}), HasSubstr("carillon.toml, line 1"));
  EXPECT_THAT(refusal_of({.file = "tick_ms = \n"}), HasSubstr("carillon.toml, line 1"));
  EXPECT_THAT(refusal_of({.file = "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a = 1\n"}), HasSubstr("more than 16 parts"));
  EXPECT_THAT(refusal_of({.file = std::string(2 << 20, '#')}), HasSubstr("larger than 1 MiB"));
}

TEST(Config, TextsWithDotsAreNoDeepKeys) {
  const std::string many = "\"10.0.0.1\", '10.0.0.2', \"10.0.0.3\", \"10.0.0.4\", \"10.0.0.5\", \"10.0.0.6\"";
  EXPECT_EQ(config_of({.file = "webhooks.allow = [" + many + "] # a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s\n"})
                .webhooks_allow.size(),
            6U);
}

TEST(Config, LettersBeyondAsciiBelongIntoQuotes) {
  EXPECT_THAT(refusal_of({.file = "tick_ms\u041b = 5\n"}), HasSubstr("carillon.toml, line 1"));
  EXPECT_EQ(config_of({.file = "# é\nevent_log = \"\"\"\\\n  \u041bé\"\"\"\n"}).event_log, "\u041bé");
}

TEST(Config, AMistypedVariableIsAWarning) {
  const LoadedConfig loaded = value_of(load(
      {.environment = {{"CARILLON_TIK_MS", "5"}, {"CARILLON_PORT_7440_TCP_ADDR", "10.0.0.1"}, {"CARILLON_KEY", "x"}}}));
  EXPECT_THAT(
      loaded.warnings,
      ElementsAre("environment CARILLON_TIK_MS is not known and has no effect; did you mean CARILLON_TICK_MS?"));
}

TEST(Config, SecretsAreNeverShown) {
  const std::string key = "ops.0123456789abcdef0123456789abcdef";
  const LoadedConfig loaded = value_of(load({.environment = {{"CARILLON_ADMIN_KEY", key}}}));
  EXPECT_EQ(loaded.config.admin_key, key);
  EXPECT_THAT(config_json(loaded), Not(HasSubstr(key)));
  EXPECT_THAT(refusal_of({.environment = {{"CARILLON_ADMIN_KEY", "hunter2"}}}), Not(HasSubstr("hunter2")));
  EXPECT_THAT(refusal_of({.environment = {{"CARILLON_DB", "postgres://ada:hunter2@db/jobs"}}}),
              AllOf(Not(HasSubstr("hunter2")), HasSubstr("ada:***@db")));
}

TEST(Config, AStoreIsOfferedOnceItExists) {
  const std::string refusal = refusal_of({.flags = {{"db", "postgres://db/jobs"}}});
  EXPECT_THAT(refusal, HasSubstr("must be sqlite:PATH or memory:"));
}

TEST(Config, AFileThatIsNamedMustBeThere) {
  const Error error = error_of(load_config({.config = "no/such/file.toml", .values = {}}, {}));
  EXPECT_EQ(error.message,
            "cannot read the configuration \"no/such/file.toml\" (flag --config): no such file, or no permission");
  EXPECT_THAT(error_of(load_config({}, {{"CARILLON_CONFIG", "/"}})).message, HasSubstr("it is a folder"));
}

TEST(Config, AFileIsReadFromWhereTheFlagSays) {
  const std::string path = testing::TempDir() + "config_test.toml";
  std::ofstream(path) << "tick_ms = 77\n";
  const LoadedConfig loaded = value_of(load_config({.config = path, .values = {}}, {}));
  std::filesystem::remove(path);
  EXPECT_EQ(loaded.config.tick, 77ms);
  EXPECT_EQ(loaded.file, path);
}

// ---- Handlers -----------------------------------------------------------------------------------------------------

constexpr std::string_view kHandlers = R"(
[handlers."report.build"]
kind = "exec"
argv = ["/usr/bin/report", "--json"]
timeout = "10m"
limits = ["disk"]
tenants = ["acme", "globex"]

[handlers."mail.send"]
kind = "email"
smtp = "smtp://127.0.0.1:2525"
from = "Carillon <noreply@example.com>"
to = "{{payload.to}}"
subject = "{{payload.subject}}"
text = """
Hello,
{{payload.body}}"""
)";

TEST(Config, HandlersAreReadFromTheFile) {
  const ServerConfig config = config_of({.file = std::string(kHandlers)});
  ASSERT_EQ(config.handlers.size(), 2U);
  EXPECT_EQ(config.handlers[0].type, "mail.send");
  const auto& email = std::get<EmailDefinition>(config.handlers[0].work);
  EXPECT_EQ(email.smtp, "smtp://127.0.0.1:2525");
  EXPECT_EQ(email.text, "Hello,\n{{payload.body}}");
  EXPECT_EQ(email.starttls, StartTls::attempt);
  const auto& exec = std::get<ExecDefinition>(config.handlers[1].work);
  EXPECT_THAT(exec.argv, ElementsAre("/usr/bin/report", "--json"));
  EXPECT_EQ(exec.timeout, 10min);
  EXPECT_THAT(exec.limits, ElementsAre("disk"));
  EXPECT_THAT(config.handlers[1].tenants, ElementsAre("acme", "globex"));
  EXPECT_TRUE(config.handlers[0].tenants.empty());  // for all
}

TEST(Config, AHandlerThatCannotWorkIsRefused) {
  struct Row {
    std::string text;
    std::string says;
  };
  for (const Row& row : std::vector<Row>{
           {"handlers = 5", "must be a table"},
           {"[handlers]\nx = 5", "must be a table"},
           {"[handlers.x]\nargv = [\"/a\"]", "kind is missing"},
           {"[handlers.x]\nkind = \"webhook\"", "must be exec or email"},
           {"[handlers.x]\nkind = \"exec\"", "argv is missing"},
           {"[handlers.x]\nkind = \"exec\"\nargv = [\"report\"]", "absolute path"},
           {"[handlers.x]\nkind = \"exec\"\nargv = []", "absolute path"},
           {"[handlers.x]\nkind = \"exec\"\nargv = \"/a\"", "a list of texts"},
           {"[handlers.x]\nkind = \"exec\"\nargv = [\"/a\"]\ntimout = \"5s\"",
            "line 4: unknown key \"timout\" of handler \"x\"; did you mean timeout?"},
           {"[handlers.x]\nkind = \"exec\"\nargv = [\"/a\"]\nzzzzzz = 1",
            "allowed are kind, tenants, argv, cwd, user,"},
           {"[handlers.x]\nkind = \"exec\"\nargv = [\"/a\"]\nsmtp = \"smtp://x\"", "unknown key \"smtp\""},
           {"[handlers.x]\nkind = \"exec\"\nargv = [\"/a\"]\nenv.A = \"b\"", "unknown key \"env.A\""},
           {"[handlers.x]\nkind = \"exec\"\nargv = [\"/a\"]\ntimeout = 5", "a duration"},
           {"[handlers.x]\nkind = \"exec\"\nargv = [\"/a\"]\ntenants = []", "without it the handler is for all"},
           {"[handlers.x]\nkind = \"exec\"\nargv = [\"/a\"]\ntenants = [\"a b\"]", "names of tenants"},
           {"[handlers.x]\nkind = \"exec\"\nargv = [\"/a\"]\ntenants = \"all\"", "names of tenants"},
           {"[handlers.x]\nkind = \"email\"\nsmtp = \"http://x\"", "smtp://HOST:PORT"},
           {"[handlers.x]\nkind = \"email\"\nsmtp = \"smtp://a:b@x\"", "without a user"},
           {"[handlers.x]\nkind = \"email\"\nsmtp = \"smtp://x\"", "from is missing"},
           {"[handlers.x]\nkind = \"email\"\nsmtp = \"smtp://x\"\nstarttls = \"maybe\"", "try, require or never"},
           {"[handlers.\"a b\"]\nkind = \"exec\"\nargv = [\"/a\"]", "type"}}) {
    SCOPED_TRACE(row.text);
    EXPECT_THAT(refusal_of({.file = row.text}), HasSubstr(row.says));
  }
}

TEST(Config, TheExampleFilesCanBeRead) {
  const std::string root = CARILLON_SOURCE_FOLDER;
  std::ifstream file(root + "/.env.example");
  ASSERT_TRUE(file);
  Environment environment;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    environment.emplace(line.substr(0, line.find('=')), line.substr(line.find('=') + 1));
  }
  const LoadedConfig loaded = value_of(load_config({}, environment, std::nullopt));
  EXPECT_THAT(loaded.warnings, IsEmpty());
}

}  // namespace
}  // namespace carillon::daemon
