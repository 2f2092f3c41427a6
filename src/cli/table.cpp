#include "cli/table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/utf8.h"
#include "cli/terminal.h"

namespace carillon {

namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::string_view kReplacement = "\uFFFD";
constexpr std::size_t kColumnMin = 8;
constexpr std::size_t kGap = 2;
constexpr std::size_t kWidthDefault = 80;

struct CodeRange {
  char32_t first;
  char32_t last;
};

// Shown over the character before, or not at all.
constexpr std::array kNoWidth{CodeRange{0x0300, 0x036F}, CodeRange{0x0483, 0x0489}, CodeRange{0x0591, 0x05BD},
                              CodeRange{0x0610, 0x061A}, CodeRange{0x064B, 0x065F}, CodeRange{0x0E34, 0x0E3A},
                              CodeRange{0x0E47, 0x0E4E}, CodeRange{0x1AB0, 0x1AFF}, CodeRange{0x1DC0, 0x1DFF},
                              CodeRange{0x200B, 0x200D}, CodeRange{0x20D0, 0x20FF}, CodeRange{0xFE00, 0xFE0F},
                              CodeRange{0xFE20, 0xFE2F}, CodeRange{0xFEFF, 0xFEFF}, CodeRange{0xE0100, 0xE01EF}};
constexpr std::array kDoubleWidth{CodeRange{0x1100, 0x115F},   CodeRange{0x231A, 0x231B},   CodeRange{0x2E80, 0x303E},
                                  CodeRange{0x3041, 0x33FF},   CodeRange{0x3400, 0x4DBF},   CodeRange{0x4E00, 0x9FFF},
                                  CodeRange{0xA000, 0xA4CF},   CodeRange{0xA960, 0xA97F},   CodeRange{0xAC00, 0xD7A3},
                                  CodeRange{0xF900, 0xFAFF},   CodeRange{0xFE30, 0xFE6F},   CodeRange{0xFF00, 0xFF60},
                                  CodeRange{0xFFE0, 0xFFE6},   CodeRange{0x1F300, 0x1F64F}, CodeRange{0x1F680, 0x1F6FF},
                                  CodeRange{0x1F900, 0x1F9FF}, CodeRange{0x20000, 0x3FFFD}};
template <std::size_t kCount>
bool is_in(char32_t code, const std::array<CodeRange, kCount>& ranges) {
  return std::ranges::any_of(ranges,
                             [code](const CodeRange& range) { return code >= range.first && code <= range.last; });
}

std::size_t width_of(const Utf8Character& decoded) {
  if (!decoded.valid) return 1;
  if (is_in(decoded.code, kNoWidth)) return 0;
  return is_in(decoded.code, kDoubleWidth) ? 2 : 1;
}

std::string_view escape_of(Colour colour) {
  switch (colour) {
    case Colour::none: return "";
    case Colour::bold: return "1";
    case Colour::red: return "31";
    case Colour::green: return "32";
    case Colour::yellow: return "33";
    case Colour::blue: return "34";
    case Colour::grey: return "90";
  }
  return "";
}

// Takes from the widest column that may be cut until all fit, or nothing can be taken any more.
void shrink(std::vector<std::size_t>& widths, const std::vector<TableColumn>& columns, std::size_t available) {
  const auto least = [&](std::size_t i) { return std::max(kColumnMin, shown_width(columns[i].title)); };
  for (;;) {
    const std::size_t total =
        std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + kGap * (widths.size() - 1);
    if (total <= available) return;
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!columns[i].may_be_cut || widths[i] <= least(i)) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

bool is_instant(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00.000Z";
  return text.size() == kShape.size() && std::ranges::equal(text, kShape, [](char c, char shape) {
           return shape == '0' ? c >= '0' && c <= '9' : c == shape;
         });
}

}  // namespace

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Utf8Character decoded = first_character(text);
    width += width_of(decoded);
    text.remove_prefix(decoded.bytes);
  }
  return width;
}

std::string cut_to_width(std::string_view text, std::size_t width) {
  if (shown_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::string out;
  std::size_t used = 1;  // of the ellipsis
  while (!text.empty()) {
    const Utf8Character decoded = first_character(text);
    used += width_of(decoded);
    if (used > width) break;
    out += text.substr(0, decoded.bytes);
    text.remove_prefix(decoded.bytes);
  }
  return out.append(kEllipsis);
}

std::string harmless(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Character decoded = first_character(text);
    if (decoded.valid && !acts_on_terminal(decoded.code)) {
      out += text.substr(0, decoded.bytes);
    } else if (decoded.valid && (decoded.code == '\n' || decoded.code == '\t' || decoded.code == '\r')) {
      out += ' ';
    } else {
      out += kReplacement;
    }
    text.remove_prefix(decoded.bytes);
  }
  return out;
}

std::string render_table(const std::vector<TableColumn>& columns, const std::vector<std::vector<Cell>>& rows,
                         const TableStyle& style) {
  std::vector<std::vector<Cell>> shown = rows;
  std::vector<std::size_t> widths;
  for (const TableColumn& column : columns) widths.push_back(shown_width(column.title));
  for (auto& row : shown) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      row[i].text = harmless(row[i].text);
      widths[i] = std::max(widths[i], shown_width(row[i].text));
    }
  }
  shrink(widths, columns, style.width);

  const auto line = [&](const std::vector<Cell>& cells) {
    std::string out;
    std::size_t owed = 0;  // spaces that are written only if something follows
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string text = columns[i].may_be_cut ? cut_to_width(cells[i].text, widths[i]) : cells[i].text;
      if (!text.empty()) {
        out.append(owed, ' ');
        owed = 0;
        const std::string_view escape = style.colours ? escape_of(cells[i].colour) : std::string_view();
        out += escape.empty() ? text : fmt::format("\033[{}m{}\033[0m", escape, text);
      }
      owed += widths[i] - std::min(widths[i], shown_width(text)) + kGap;
    }
    return out + "\n";
  };
  std::vector<Cell> header;
  for (const TableColumn& column : columns) header.push_back({.text = column.title, .colour = Colour::bold});
  std::string out = line(header);
  for (const auto& row : shown) out += line(row);
  return out;
}

TableStyle terminal_style() {
  TableStyle style{.width = kWidthDefault, .colours = wants_colour()};
  winsize size{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the call is what it is.
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = size.ws_col;
    return style;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read at the start, before there is a second thread.
  if (const char* const columns = std::getenv("COLUMNS")) {
    std::size_t width = 0;
    const char* const end = columns + std::strlen(columns);
    if (std::from_chars(columns, end, width).ptr == end && width > 0) style.width = width;
  }
  return style;
}

std::string render_items(const std::vector<JsonValue>& items, const std::vector<FieldColumn>& columns) {
  std::vector<TableColumn> shown;
  for (const FieldColumn& column : columns) shown.push_back({.title = column.title, .may_be_cut = column.may_be_cut});
  std::vector<std::vector<Cell>> rows;
  for (const JsonValue& item : items) {
    std::vector<Cell> row;
    for (const FieldColumn& column : columns) row.push_back(column.show(item));
    rows.push_back(std::move(row));
  }
  return render_table(shown, rows, terminal_style());
}

std::string render_object(const JsonValue& object, const std::vector<std::string>& leave_out) {
  const TableStyle style = terminal_style();
  std::size_t widest = 0;
  for (const std::string& key : object.keys()) widest = std::max(widest, shown_width(harmless(key)));
  std::string out;
  for (const std::string& key : object.keys()) {
    if (std::ranges::find(leave_out, key) != leave_out.end()) continue;
    const std::string name = harmless(key);
    const std::string value = harmless(shown_value(object.at(key)));
    const std::string padding(widest - shown_width(name) + kGap, ' ');
    const Colour colour = key == "state" ? state_cell(value).colour : Colour::none;
    const std::string_view escape = style.colours ? escape_of(colour) : std::string_view();
    out += style.colours ? fmt::format("\033[1m{}\033[0m", name) : name;
    out += padding + (escape.empty() ? value : fmt::format("\033[{}m{}\033[0m", escape, value)) + "\n";
  }
  return out;
}

std::string shown_value(const JsonValue& value) {
  if (value.is_null()) return "-";
  if (!value.is_string()) return std::string(value.raw());
  std::string text = value.as_string();
  if (is_instant(text)) {
    text[10] = ' ';
    text.replace(19, 5, "Z");
  }
  return text.empty() ? "\"\"" : text;
}

Cell outcome_cell(const std::string& outcome) {
  if (outcome.empty()) return {.text = "-", .colour = Colour::none};
  if (outcome == "success") return {.text = outcome, .colour = Colour::green};
  return {.text = outcome, .colour = outcome == "dlq" ? Colour::red : Colour::yellow};
}

Cell state_cell(std::string_view state) {
  Colour colour = Colour::none;
  if (state == "done") colour = Colour::green;
  if (state == "processing" || state == "running") colour = Colour::blue;
  if (state == "dlq" || state == "missed" || state == "cutoff_reached") colour = Colour::red;
  if (state == "skipped" || state == "cancelled" || state == "stopped") colour = Colour::grey;
  return {.text = std::string(state), .colour = colour};
}

}  // namespace carillon
