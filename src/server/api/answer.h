// What the API answers with.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json_writer.h"
#include "server/http/message.h"

namespace carillon::server {

HttpResponse json_answer(int status, std::string body);

// {"items": […], "next_cursor": …}; "": there are no more.
HttpResponse list_answer(const JsonArray& items, std::string_view next_cursor = {});

// {"error": {"code": …, "message": …, "details": …}}; `details` is a JSON object.
HttpResponse refusal(int status, std::string_view code, std::string_view message, std::string_view details = "{}");

// As an error of ours is told: status and code by its kind. `thing` names what was not found: "job", "schedule".
HttpResponse refusal(const Error& error, std::string_view thing);

}  // namespace carillon::server
