// Keys, the audit trail, and signing in.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/hole.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job.h"
#include "core/jobs/job_fields.h"
#include "engine/commands/documents.h"
#include "server/api/audit_word.h"
#include "server/api/query_fields.h"
#include "server/api/services.h"
#include "server/api/sign_in_trail.h"

namespace carillon::server {

namespace {

constexpr std::int64_t kPageDefault = 50;

// ---- Keys ---------------------------------------------------------------------------------------------------------

// All of them is said in words: neither a field that is missing nor an empty list gives a key more than it names.
Result<TenantSet> read_key_tenants(const JsonFields& fields, Scope scope) {
  constexpr std::string_view kField = "tenants";
  const Json* const given = fields.optional(kField);
  if (given == nullptr) {
    if (scope == Scope::admin) return TenantSet::all();
    return fields.missing(kField, "the tenants that the key is for: a list of names, or \"all\"");
  }
  if (given->type == JsonType::string && given->text == "all") return TenantSet::all();
  if (given->type != JsonType::array) return fields.fail(*given, kField, "expected a list of names, or \"all\"");
  if (scope == Scope::admin) return fields.fail(*given, kField, "an admin key is for all tenants: \"all\"");
  TRY_ASSIGN(std::vector<std::string> names, read_texts_field(fields, kField));
  if (names.empty()) return fields.fail(*given, kField, "no tenant is named; all of them are \"all\"");
  for (const std::string& tenant : names) TRY(check_name(kField, tenant));
  return TenantSet::of(std::move(names));
}

Result<ApiKey> read_key_request(const RouteCall& call, ApiKey key) {
  const std::string& text = call.request.body;
  TRY_ASSIGN(const Json json, parse_json_object(text));
  static constexpr auto kFields = field_names("name", "scope", "tenants", "expires_at");
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, json, "", kFields));
  TRY_ASSIGN(key.name, fields.string("name"));
  TRY(check_name("name", key.name));
  TRY_ASSIGN(const Json* const scope, fields.required("scope", JsonType::string));
  const auto known = scope_from(scope->text);
  if (!known) {
    return fields.fail(*scope, "scope", fmt::format("{} is none of read, worker, tenant, admin", quoted(scope->text)));
  }
  key.scope = *known;
  TRY_ASSIGN(key.tenants, read_key_tenants(fields, key.scope));
  TRY_ASSIGN(key.expires_at, read_instant_field(text, fields, "expires_at"));
  return key;
}

DocumentKey api_key_document(const std::string& id) {
  return {.tenant = {}, .kind = std::string(kKeyKind), .name = id};
}

// Writes under all tenants of a key, so that the deletion of one comes wholly before or after it.
Result<std::vector<std::shared_ptr<void>>> enter_tenants(Services& services, const ApiKey& key) {
  std::vector<std::shared_ptr<void>> held;
  for (const std::string& tenant : key.tenants.names()) {
    Tenants::Entered entered = services.tenants.enter(tenant);
    if (entered.fate != Tenants::Fate::there) {
      return invalid_configuration(
          fmt::format("tenants: there is no tenant {}; PUT /v1/tenants/{{tenant}} makes one", quoted(tenant)));
    }
    held.push_back(std::move(entered.held));
  }
  return held;
}

Result<HttpResponse> make_api_key(Services& services, const RouteCall& call) {
  NewKey made = make_key("", Scope::read, services.now());
  TRY_ASSIGN(made.key, read_key_request(call, made.key));
  const auto revoked = [] { return refusal(401, "unauthorized", "the key was revoked while the call was under way"); };
  const auto entered = enter_tenants(services, made.key);
  // Who is not known any more is told that, whatever is wrong with the new key.
  if (!entered && !services.keys.find(call.caller.id)) return revoked();
  if (!entered) return std::unexpected(entered.error());
  const ApiKey& key = made.key;
  command::PutWhileThere put{.put = {.key = api_key_document(key.id),
                                     .body = write_key(key),
                                     .word = word_of(call.caller, "", "key.make", key.id)},
                             .needed = std::nullopt};
  // What a key makes after it was revoked would outlast it.
  if (!reopened(Hole::session_outlives_key)) put.needed = api_key_document(call.caller.id);
  TRY_ASSIGN(const bool is_put, services.host.commands().ask(std::move(put), [&](const Result<bool>& stored) {
    if (stored && *stored) services.keys.put(key);
  }));
  if (!is_put) return revoked();
  JsonObject answer;
  answer.text("id", key.id).text("key", made.text);
  return json_answer(201, answer.str());
}

Result<HttpResponse> list_keys(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  JsonArray items;
  for (const ApiKey& key : services.keys.all()) items.raw(to_json(key));
  return list_answer(items);
}

Result<HttpResponse> delete_key(Services& services, const RouteCall& call) {
  const std::string& id = call.params.front();
  if (!services.keys.find(id)) return failed(ErrorCode::not_found, fmt::format("there is no key {}", quoted(id)));
  if (id == call.caller.id) return failed(ErrorCode::conflict, "a key cannot delete itself: use another admin key");
  TRY(services.host.commands().ask(
      command::DeleteDocument{.key = api_key_document(id), .word = word_of(call.caller, "", "key.delete", id)},
      [&](const Result<void>& deleted) {
        if (deleted) services.keys.remove(id);
      }));
  return HttpResponse{.status = 204};
}

// ---- Audit --------------------------------------------------------------------------------------------------------

Result<HttpResponse> list_audit(Services& services, const RouteCall& call) {
  QueryFields fields(call.request);
  TRY_ASSIGN(const std::int64_t limit, fields.integer("limit", kPageDefault, 1, kPageMax));
  TRY_ASSIGN(const std::int64_t before, fields.integer("cursor", INT64_MAX, 0, INT64_MAX));
  TRY(fields.finish());
  TRY_ASSIGN(const std::vector<AuditRow> rows,
             services.queries().audit(call.reach.owner(), before, static_cast<std::size_t>(limit)));
  JsonArray items;
  for (const AuditRow& row : rows) {
    JsonObject item;
    item.text("at", format_instant(row.at))
        .text("actor", row.actor)
        .text("action", row.action)
        .text("target", row.target);
    item.raw("detail", row.detail.json());
    items.raw(item.str());
  }
  const std::string next = std::ssize(rows) == limit ? std::to_string(rows.back().sequence) : std::string();
  return list_answer(items, next);
}

// ---- Signing in ---------------------------------------------------------------------------------------------------

HttpHeader session_header(const Services& services, std::string_view cookie, std::chrono::seconds length) {
  return {.name = "set-cookie",
          .value = fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{}", services.session_cookie(),
                               cookie, length.count(), services.behind_proxy ? "; Secure" : "")};
}

HttpResponse not_our_page(std::string_view what) {
  return refusal(403, "forbidden",
                 fmt::format("{} needs the header Origin with the address of this server, as browsers send it", what));
}

// Not for pages of other sites: they would sign people in as somebody else, who then reads what they do.
Result<HttpResponse> login(Services& services, const RouteCall& call) {
  if (!is_from_own_page(call.request.headers)) return not_our_page("signing in");
  if (!is_json(call.request.headers)) return invalid_request("signing in needs Content-Type: application/json");
  const std::string& text = call.request.body;
  TRY_ASSIGN(const Json json, parse_json_object(text));
  static constexpr auto kFields = field_names("token", "key");
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, json, "", kFields));
  TRY_ASSIGN(const Json* const token, fields.optional("token", JsonType::string));
  TRY_ASSIGN(const Json* const key, fields.optional("key", JsonType::string));
  if (token == nullptr && key == nullptr) return invalid_request("signing in needs token or key");
  const Instant now = Services::real_now();
  std::optional<Caller> caller;
  if (token != nullptr) {
    if (const auto id = services.sessions.use_login(token->text, now))
      caller = services.keys.caller(*id, services.now());
  }
  if (!caller && key != nullptr) caller = services.keys.check(key->text, services.now());
  const SignInBy by = token != nullptr ? SignInBy::link : SignInBy::key;
  if (!caller) {
    note_failed_sign_in(services, by, call.request.peer);
    return refusal(401, "unauthorized", "the login link was used or is too old, or the key is not known");
  }
  if (const auto wait = services.sessions.wait_to_begin(caller->id, now)) {
    HttpResponse response =
        refusal(429, "too_many_sign_ins",
                fmt::format("a key may sign in {} times in a minute; try again later", Sessions::kBeginsMax));
    response.headers.push_back({.name = "retry-after", .value = fmt::format("{}", wait->count())});
    return response;
  }
  note_sign_in(services, *caller, by, call.request.peer);
  const Sessions::Begun begun = services.sessions.begin(*caller, now);
  JsonObject answer;
  answer.text("csrf_token", begun.csrf);
  HttpResponse response = json_answer(200, answer.str());
  response.headers.push_back(session_header(services, begun.cookie, Sessions::kLength));
  return response;
}

// Needs no token: a page that has been loaded anew has none, and one of another site cannot send our Origin.
Result<HttpResponse> logout(Services& services, const RouteCall& call) {
  if (!is_from_own_page(call.request.headers)) return not_our_page("signing out");
  if (const auto cookie = cookie_of(call.request.headers, services.session_cookie())) {
    const auto session = services.sessions.find(*cookie, Services::real_now());
    services.sessions.end(*cookie);
    const auto caller = session ? services.keys.caller(session->key, services.now()) : std::nullopt;
    if (caller) note_sign_out(services, *caller);
  }
  HttpResponse response{.status = 204};
  response.headers.push_back(session_header(services, "", std::chrono::hours(0)));
  return response;
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

}  // namespace

void add_admin_routes(RouteTable& table, Services& services) {
  const auto add = [&](Method method, std::string_view path, About about, Needs needs, std::string_view thing,
                       RouteDoc doc, Work work) {
    doc.group = "Administration";
    table.push_back({.method = method,
                     .path = path,
                     .about = about,
                     .needs = needs,
                     .doc = std::move(doc),
                     .call = [&services, thing, work](
                                 const RouteCall& call) { answer(call, thing, [&] { return work(services, call); }); },
                     .writes = method != Method::get && method != Method::remove});
  };
  add(Method::post, "/v1/keys", About::server, Needs::admin, "key",
      {.summary = "Make a key; it is shown once.",
       .body = "KeyRequest",
       .answers = {{201, "NewKey"}},
       .errors = {{422, "invalid_configuration"}}},
      make_api_key);
  add(Method::get, "/v1/keys", About::server, Needs::admin, "key",
      {.summary = "Keys, without their secrets.", .answers = {{200, "KeyList"}}}, list_keys);
  add(Method::remove, "/v1/keys/{id}", About::server, Needs::admin, "key",
      {.summary = "Revoke a key, at once.", .answers = {{204, ""}}}, delete_key);
  add(Method::get, "/v1/tenants/{tenant}/audit", About::one_tenant, Needs::tenant, "audit",
      {.summary = "Who changed what, newest first.", .answers = {{200, "AuditList"}}, .query = {"limit", "cursor"}},
      list_audit);
  add(Method::get, "/v1/audit", About::server, Needs::admin, "audit",
      {.summary = "Who changed what that concerns all tenants.",
       .answers = {{200, "AuditList"}},
       .query = {"limit", "cursor"}},
      list_audit);
  add(Method::post, "/login", About::nothing, Needs::nothing, "session",
      {.summary = "Exchange a login link or a key for a session.",
       .body = "Login",
       .answers = {{200, "Session"}},
       .errors = {{401, "unauthorized"}, {403, "forbidden"}, {429, "too_many_sign_ins"}}},
      login);
  add(Method::post, "/logout", About::nothing, Needs::nothing, "session",
      {.summary = "End the session of the cookie.", .answers = {{204, ""}}, .errors = {{403, "forbidden"}}}, logout);
}

}  // namespace carillon::server
