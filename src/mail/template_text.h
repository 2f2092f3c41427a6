// Text with places for what a job carries: "Hello {{payload.user.name}}, this is {{job.id}}".
//
// {{payload}} is the payload, {{payload.a.0.b}} a member of it: names, and numbers for the items of lists. Of the job:
// id, tenant, queue, type, attempt, run_at, schedule, subject, slot. There is no logic, and nothing is looked up twice:
// a value is never read as a template.
//
// In HTML values are escaped. {{{payload.a}}} puts one in as it is; only where the template's writer may say so.
#pragma once

#include <carillon/job_context.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace carillon::mail {

// What a template may name. Both outlive it.
class TemplateScope {
 public:
  TemplateScope(const RunningJob& job, const JsonValue& payload) : job_(&job), payload_(&payload) {}
  const RunningJob& job() const { return *job_; }
  const JsonValue& payload() const { return *payload_; }

 private:
  const RunningJob* job_;
  const JsonValue* payload_;
};

class TemplateText {
 public:
  enum class Escape : std::uint8_t { none, html };

  TemplateText() = default;
  // Whether it may contain {{{…}}}.
  enum class Raw : std::uint8_t { refused, allowed };
  // Errors: invalid_configuration, for what is not closed, or names what no job has.
  static Result<TemplateText> parse(std::string_view text, Raw raw = Raw::refused);

  // Texts as they are, numbers, lists and objects as JSON. Errors: invalid_configuration, if the job lacks a value.
  Result<std::string> render(const TemplateScope& scope, Escape escape = Escape::none) const;

  bool empty() const { return pieces_.empty(); }
  // Nothing but one {{…}}.
  bool is_one_field() const { return pieces_.size() == 1 && !pieces_.front().path.empty(); }
  // The value of that one field; null if the job lacks it. A field of the job itself is null too.
  JsonValue field(const TemplateScope& scope) const;

 private:
  struct Piece {
    std::string text;               // if there is no path
    std::vector<std::string> path;  // "payload" or "job" first
    bool raw = false;               // never escaped
  };
  static Result<Piece> parse_field(std::string_view name);
  static Result<std::string> value(const Piece& piece, const TemplateScope& scope);

  std::vector<Piece> pieces_;
};

}  // namespace carillon::mail
