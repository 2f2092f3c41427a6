// Tables for a terminal: columns that fit its width, in characters as they are shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/json.h"

namespace carillon {

enum class Colour : std::uint8_t { none, bold, red, green, yellow, blue, grey };

// How many columns of a terminal the text takes: accents none, ideographs and most pictures two.
std::size_t shown_width(std::string_view text);

// At most `width` columns, with an ellipsis where something was cut.
std::string cut_to_width(std::string_view text, std::size_t width);

// One line in which nothing can act on the terminal: control and direction characters, and bytes that are not UTF-8,
// are replaced.
std::string harmless(std::string_view text);

struct Cell {
  std::string text;
  Colour colour = Colour::none;
};

struct TableColumn {
  std::string title;
  bool may_be_cut = true;
};

struct TableStyle {
  std::size_t width = 80;
  bool colours = false;
};

// Cells are made harmless. If all do not fit, the widest columns that may be cut are.
std::string render_table(const std::vector<TableColumn>& columns, const std::vector<std::vector<Cell>>& rows,
                         const TableStyle& style);

// The style of standard output.
TableStyle terminal_style();

// A column of a list of objects.
struct FieldColumn {
  std::string title;
  Cell (*show)(const JsonValue& item) = nullptr;
  bool may_be_cut = true;
};
std::string render_items(const std::vector<JsonValue>& items, const std::vector<FieldColumn>& columns);

// An object, one line per member.
std::string render_object(const JsonValue& object, const std::vector<std::string>& leave_out = {});

// A value as a person reads it: - for nothing, times without milliseconds, all else as it is.
std::string shown_value(const JsonValue& value);
Cell state_cell(std::string_view state);
// How the last occurrence ended: success, dlq, …; "": none has.
Cell outcome_cell(const std::string& outcome);

}  // namespace carillon
