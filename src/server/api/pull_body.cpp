#include "server/api/pull_body.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "core/jobs/job.h"
#include "core/jobs/job_fields.h"
#include "server/api/outcome_body.h"

namespace carillon::server {

namespace {

constexpr std::int64_t kLeaseLimitMax = 1000;
constexpr Duration kWaitMax = std::chrono::seconds(60);
constexpr std::size_t kSettleMax = 1000;
constexpr std::int64_t kTokenMax = INT64_MAX;

constexpr auto kLeaseFields = field_names("worker", "queues", "types", "limit", "lease", "wait", "fields");
constexpr auto kItemsField = field_names("items");
constexpr auto kWordFields = field_names("id", "token", "complete", "fail", "defer", "release");
constexpr auto kBeatFields = field_names("token", "progress");
constexpr auto kExtendFields = field_names("id", "token");
constexpr auto kEffectFields = field_names("job", "token");
constexpr auto kEffectDoneFields = field_names("job", "token", "result");

// Of a call the token stands among the rest, of an item of many beside it.
std::vector<std::string_view> with_token(JsonFields::Names fields) {
  std::vector<std::string_view> names{"token"};
  names.insert(names.end(), fields.begin(), fields.end());
  return names;
}

// What a worker says at the end of an attempt, by the name of the call: complete, fail, defer, release.
class WordReader {
 public:
  WordReader(const PullSender& sender, std::string_view text) : sender_(&sender), text_(text) {}

  Result<PullWord> read_call(std::string_view call, const Json& json) {
    TRY(check_object(json, ""));
    const std::vector<std::string_view> names = with_token(outcome_fields(call));
    TRY_ASSIGN(const JsonFields fields, JsonFields::of(text_, json, "", names));
    if (!fields.has("token")) return fields.missing("token", "the number that came with the lease");
    TRY_ASSIGN(const std::int64_t token, fields.integer("token", {0, kTokenMax}));
    TRY_ASSIGN(PullWord word, read_word(call, fields));
    word.token = token;
    return word;
  }

  Result<PullWord> read_item(std::string_view call, const Json& json, const std::string& path) {
    TRY(check_object(json, path));
    TRY_ASSIGN(const JsonFields fields, JsonFields::of(text_, json, path, outcome_fields(call)));
    return read_word(call, fields);
  }

 private:
  Result<void> check_object(const Json& json, const std::string& path) const {
    if (json.type != JsonType::object) return json_error(text_, json.offset, path, "expected an object");
    return {};
  }

  Result<PullWord> read_word(std::string_view call, const JsonFields& fields) const {
    PullWord word{.tenants = engine_list(sender_->tenants), .speaks_for_all = sender_->is_of_all_tenants};
    TRY_ASSIGN(word.outcome,
               read_outcome(call, text_, fields,
                            {.tenant = {}, .created_by = sender_->actor, .defaults = &sender_->defaults}));
    word.release = call == "release";
    return word;
  }

  const PullSender* sender_;
  std::string_view text_;
};

Result<std::vector<const Json*>> read_items(std::string_view text, const Json& json) {
  if (json.type != JsonType::object) return json_error(text, json.offset, "", "expected {\"items\": [...]}");
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, json, "", kItemsField));
  TRY_ASSIGN(const Json* const list, fields.required("items", JsonType::array));
  if (list->items.size() > kSettleMax) {
    return invalid_field(
        "items", fmt::format("items has {} entries; at most {} fit into one call", list->items.size(), kSettleMax));
  }
  std::vector<const Json*> items;
  for (const Json& item : list->items) items.push_back(&item);
  return items;
}

// What a worker wants of its jobs: all, unless it says so.
Result<ItemFields> read_item_fields(std::string_view text, const JsonFields& fields) {
  constexpr std::string_view kName = "fields";
  TRY_ASSIGN(const Json* const list, fields.optional(kName, JsonType::array));
  if (list == nullptr) return ItemFields::all();
  const auto refuse = [&](const Json& value, std::string_view what) {
    return json_error(text, value.offset, std::string(kName),
                      fmt::format("{}; allowed are {}", what, fmt::join(ItemFields::names(), ", ")));
  };
  if (list->items.empty()) return refuse(*list, "names nothing");
  ItemFields chosen;
  for (const Json& item : list->items) {
    if (item.type != JsonType::string) return refuse(item, "expected names of fields");
    if (!chosen.add(item.text)) return refuse(item, fmt::format("a leased job has no field {}", quoted(item.text)));
  }
  return chosen;
}

}  // namespace

std::vector<std::string> engine_list(const TenantSet& tenants) {
  CHECK(!tenants.is_nobody());
  return tenants.names();
}

Result<LeaseBody> read_lease_request(std::string_view text, const PullSender& sender) {
  TRY_ASSIGN(const Json json, parse_json_object(text));
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, json, "", kLeaseFields));
  LeaseBody body;
  PullRequest& request = body.request;
  request.filter.tenants = engine_list(sender.tenants);
  TRY_ASSIGN(request.worker, fields.string("worker"));
  TRY(check_name("worker", request.worker));
  TRY_ASSIGN(request.filter.queues, read_texts_field(fields, "queues"));
  TRY_ASSIGN(request.filter.types, read_texts_field(fields, "types"));
  if (fields.has("limit")) {
    TRY_ASSIGN(const std::int64_t limit, fields.integer("limit", {1, kLeaseLimitMax}));
    request.limit = static_cast<std::size_t>(limit);
  }
  TRY_ASSIGN(request.lease, read_duration_field(text, fields, "lease"));
  if (request.lease && (*request.lease < kLeaseMin || *request.lease > kLeaseMax)) {
    return fields.fail(*json.find("lease"), "lease",
                       fmt::format("{} is not between {} and {}", format_duration(*request.lease),
                                   format_duration(kLeaseMin), format_duration(kLeaseMax)));
  }
  TRY_ASSIGN(const auto wait, read_duration_field(text, fields, "wait"));
  if (wait && *wait > kWaitMax) {
    return fields.fail(*json.find("wait"), "wait", fmt::format("{} is longer than 60s", format_duration(*wait)));
  }
  request.wait = wait.value_or(Duration::zero());
  TRY_ASSIGN(body.fields, read_item_fields(text, fields));
  return body;
}

Result<PullWord> read_word(std::string_view kind, std::string_view text, const PullSender& sender) {
  const std::string_view body = text.empty() ? std::string_view("{}") : text;
  TRY_ASSIGN(const Json json, parse_sent_json(body));
  return WordReader(sender, body).read_call(kind, json);
}

Result<PullWords> read_words(std::string_view text, const PullSender& sender) {
  TRY_ASSIGN(const Json json, parse_sent_json(text));
  TRY_ASSIGN(const std::vector<const Json*> items, read_items(text, json));
  WordReader reader(sender, text);
  PullWords read;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string path = fmt::format("items[{}]", i);
    if (items[i]->type != JsonType::object) return json_error(text, items[i]->offset, path, "expected an object");
    TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, *items[i], path, kWordFields));
    TRY_ASSIGN(const std::string id, fields.string("id"));
    TRY_ASSIGN(const std::int64_t token, fields.integer("token", {0, kTokenMax}));
    std::optional<PullWord> word;
    for (const std::string_view kind : {"complete", "fail", "defer", "release"}) {
      const Json* const said = fields.optional(kind);
      if (said == nullptr) continue;
      if (word) return fields.fail(*said, kind, "an item says one of complete, fail, defer, release");
      TRY_ASSIGN(word, reader.read_item(kind, *said, fields.path_of(kind)));
    }
    if (!word) return fields.missing("complete", "one of complete, fail, defer, release");
    word->job = parse_job_id(id).value_or(JobId{});
    word->token = token;
    read.ids.push_back(id);
    read.words.push_back(*std::move(word));
  }
  return read;
}

Result<PullBeat> read_beat(std::string_view text, const PullSender& sender) {
  PullBeat one{.tenants = engine_list(sender.tenants)};
  TRY_ASSIGN(const Json json, parse_json_object(text));
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, json, "", kBeatFields));
  TRY_ASSIGN(one.token, fields.integer("token", {0, kTokenMax}));
  if (const Json* const progress = fields.optional("progress")) one.progress = json_slice(text, *progress);
  return one;
}

Result<PullBeats> read_beats(std::string_view text, const PullSender& sender) {
  TRY_ASSIGN(const Json json, parse_sent_json(text));
  TRY_ASSIGN(const std::vector<const Json*> items, read_items(text, json));
  PullBeats read;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string path = fmt::format("items[{}]", i);
    if (items[i]->type != JsonType::object) return json_error(text, items[i]->offset, path, "expected an object");
    TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, *items[i], path, kExtendFields));
    PullBeat one{.tenants = engine_list(sender.tenants)};
    TRY_ASSIGN(const std::string id, fields.string("id"));
    TRY_ASSIGN(one.token, fields.integer("token", {0, kTokenMax}));
    one.job = parse_job_id(id).value_or(JobId{});
    read.ids.push_back(id);
    read.beats.push_back(std::move(one));
  }
  return read;
}

Result<EffectBody> read_effect(std::string_view text, EffectCall what) {
  TRY_ASSIGN(const Json json, parse_json_object(text));
  const bool is_done = what == EffectCall::done;
  const JsonFields::Names names = is_done ? JsonFields::Names(kEffectDoneFields) : kEffectFields;
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, json, "", names));
  EffectBody body;
  TRY_ASSIGN(const Json* const id, fields.required("job", JsonType::string));
  const auto job = parse_job_id(id->text);
  if (!job) return fields.fail(*id, "job", fmt::format("{} is not the id of a job", quoted(id->text)));
  body.job = *job;
  TRY_ASSIGN(body.token, fields.integer("token", {0, kTokenMax}));
  if (is_done) {
    if (const Json* const result = fields.optional("result")) body.result = json_slice(text, *result);
  }
  return body;
}

}  // namespace carillon::server
