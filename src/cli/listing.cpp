#include "cli/listing.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"

namespace carillon {

Printout print_list(const Session& session, const Session::Page& page, const std::vector<FieldColumn>& columns,
                    std::string_view nothing) {
  if (session.json()) {
    JsonArray items;
    for (const JsonValue& item : page.items) items.raw(item.raw());
    JsonObject out;
    out.raw("items", items.str()).raw("next_cursor", page.next_cursor ? json_string(*page.next_cursor) : "null");
    return {.text = out.str() + "\n"};
  }
  // A search that found nothing yet may have been cut short: there is a cursor to go on from.
  if (page.items.empty() && !page.next_cursor) return {.text = fmt::format("{}\n", nothing)};
  std::string out = page.items.empty() ? fmt::format("{} so far\n", nothing) : render_items(page.items, columns);
  if (page.next_cursor) out += fmt::format("more: --cursor {}, or --all\n", harmless(*page.next_cursor));
  return {.text = std::move(out)};
}

Printout print_object(const Session& session, const JsonValue& object, const std::vector<std::string>& leave_out) {
  if (session.json()) return {.text = std::string(object.raw()) + "\n"};
  return {.text = render_object(object, leave_out)};
}

Printout print_done(const Session& session, const JsonValue& answer, std::string_view sentence) {
  if (session.json()) return {.text = answer.is_null() ? "{}\n" : std::string(answer.raw()) + "\n"};
  return {.text = harmless(sentence) + "\n"};
}

}  // namespace carillon
