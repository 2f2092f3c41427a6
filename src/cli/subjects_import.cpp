#include "cli/subjects_import.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <vector>

#include "base/json_writer.h"
#include "cli/listing.h"
#include "cli/progress.h"

namespace carillon {

namespace {

constexpr std::size_t kChunkBytesMax = std::size_t{8} << 20;
constexpr std::size_t kLineBytesMax = std::size_t{4} << 20;
constexpr std::size_t kExportPagesMax = 1'000'000;
constexpr std::chrono::milliseconds kImportTimeout = std::chrono::minutes(5);

// Lines of a file, as many as go into one call.
struct Chunk {
  std::string text;
  std::vector<std::size_t> numbers;  // of its lines in the file: empty ones are left out
};

class LineReader {
 public:
  LineReader(std::istream& stream, std::string name) : stream_(stream), name_(std::move(name)) {}
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  ~LineReader() = default;

  // Nothing: there are no more.
  CliResult<std::optional<Chunk>> next(std::size_t lines_max) {
    Chunk chunk;
    std::string line;
    while (chunk.numbers.size() < lines_max && chunk.text.size() < kChunkBytesMax && std::getline(stream_, line)) {
      ++line_;
      bytes_ += line.size() + 1;
      if (line.size() > kLineBytesMax) {
        return cli_error(ExitCode::usage, fmt::format("{} line {} is longer than 4 MiB", name_, line_));
      }
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      chunk.text += line;
      chunk.text += '\n';
      chunk.numbers.push_back(line_);
    }
    if (stream_.bad()) return cli_error(ExitCode::failed, fmt::format("cannot read {}", name_));
    if (chunk.numbers.empty()) return std::nullopt;
    return chunk;
  }

  const std::string& name() const { return name_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::istream& stream_;
  const std::string name_;
  std::size_t line_ = 0;
  std::size_t bytes_ = 0;
};

struct Imported {
  std::int64_t created = 0;
  std::int64_t updated = 0;
  std::int64_t unchanged = 0;
  std::size_t last_line = 0;  // of the file; 0: none was imported
};

std::string counts_text(const Imported& imported) {
  return fmt::format("{} created, {} updated, {} unchanged", imported.created, imported.updated, imported.unchanged);
}

// What the server says about a line of the chunk, about that line of the file.
CliError refused(const Session& session, const ApiRequest& call, const ApiResponse& response, const Chunk& chunk,
                 const LineReader& reader) {
  CliError error = session.refusal(call, response);
  const auto body = JsonValue::parse(response.body);
  const std::int64_t line = body ? body->at("error").at("details").at("line").as_int() : 0;
  if (line >= 1 && static_cast<std::size_t>(line) <= chunk.numbers.size()) {
    error.message =
        fmt::format("{} line {}: {}", reader.name(), chunk.numbers[static_cast<std::size_t>(line) - 1], error.message);
  }
  return error;
}

// An error, and how far it got: who repeats the rest must know where that begins.
CliError so_far(CliError error, const Imported& imported) {
  error.message += imported.last_line == 0
                       ? "; nothing was imported"
                       : fmt::format("; lines 1 to {} were imported: {}", imported.last_line, counts_text(imported));
  return error;
}

// Into `imported`, which says how far it got if it fails.
CliResult<void> import_all(Session& session, const SubjectsImport& request, LineReader& reader, std::size_t file_bytes,
                           Imported& imported) {
  ApiRequest call{.method = "POST",
                  .path = session.tenant_path({"schedules", request.schedule, "subjects", "import"}),
                  .type = "application/x-ndjson",
                  .timeout = kImportTimeout};
  ProgressBar bar("import KiB");
  while (true) {
    TRY_ASSIGN(auto chunk, reader.next(static_cast<std::size_t>(request.chunk_lines)));
    if (!chunk) return {};
    call.body = std::move(chunk->text);
    TRY_ASSIGN(const ApiResponse response, session.api().send(call));
    if (response.status != 200) return std::unexpected(refused(session, call, response, *chunk, reader));
    TRY_ASSIGN(const JsonValue answer, as_cli(JsonValue::parse(response.body)));
    imported.created += answer.at("created").as_int();
    imported.updated += answer.at("updated").as_int();
    imported.unchanged += answer.at("unchanged").as_int();
    imported.last_line = chunk->numbers.back();
    bar.show({.done = static_cast<std::int64_t>(reader.bytes() >> 10U),
              .total = static_cast<std::int64_t>(file_bytes >> 10U)});
  }
}

}  // namespace

CliResult<Printout> import_subjects(Session& session, const SubjectsImport& request) {
  const bool from_stdin = request.file == "-";
  std::ifstream file;
  std::size_t file_bytes = 0;  // not known
  if (!from_stdin) {
    std::error_code error;
    if (std::filesystem::is_directory(request.file, error)) {
      return cli_error(ExitCode::failed, fmt::format("cannot read {}: it is a folder", carillon::quoted(request.file)));
    }
    file.open(request.file, std::ios::binary);
    if (!file) return cli_error(ExitCode::failed, fmt::format("cannot read {}", carillon::quoted(request.file)));
    if (const auto size = std::filesystem::file_size(request.file, error); !error) file_bytes = size;
  }
  LineReader reader(from_stdin ? std::cin : file, from_stdin ? "standard input" : carillon::quoted(request.file));
  Imported imported;
  if (auto done = import_all(session, request, reader, file_bytes, imported); !done) {
    return std::unexpected(so_far(std::move(done).error(), imported));
  }
  JsonObject answer;
  answer.integer("created", imported.created).integer("updated", imported.updated);
  answer.integer("unchanged", imported.unchanged);
  if (session.json()) return Printout{.text = answer.str() + "\n"};
  return Printout{.text = counts_text(imported) + "\n"};
}

CliResult<Printout> export_subjects(Session& session, const SubjectsExport& request) {
  const std::string path = session.tenant_path({"schedules", request.schedule, "subjects.ndjson"});
  TRY_ASSIGN(const JsonValue known, session.get(session.tenant_path({"schedules", request.schedule})));
  Progress progress{.done = 0, .total = known.at("subjects").as_int()};
  ProgressBar bar("export");
  const std::string first = request.without_cursors ? "?cursors=false" : "";
  std::string query = first;
  for (std::size_t page = 0; page < kExportPagesMax; ++page) {
    const ApiRequest call{.method = "GET", .path = path + query};
    TRY_ASSIGN(const ApiResponse response, session.api().send(call));
    if (response.status != 200) return std::unexpected(session.refusal(call, response));
    if (const ExitCode printed = print(response.body); printed != ExitCode::done) return Printout{.code = printed};
    if (response.next_cursor.empty()) return Printout{};
    progress.done += std::ranges::count(response.body, '\n');
    if (isatty(STDOUT_FILENO) == 0) bar.show(progress);  // not between the lines
    query = first + (first.empty() ? "?" : "&") + "cursor=" + response.next_cursor;
  }
  return cli_error(ExitCode::failed, "the export does not end");
}

}  // namespace carillon
