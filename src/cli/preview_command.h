// `carillon preview`: the next times of a trigger, offline.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "core/time/instant.h"

namespace carillon {

// As given on the command line.
struct PreviewRequest {
  std::string trigger;  // daily:08:00 and the like, or @file.json
  std::optional<std::string> timezone;
  std::optional<std::string> from;
  std::optional<std::string> start;
  std::optional<std::string> dst_gap;
  std::optional<std::string> dst_overlap;
  std::string count = "10";
  bool json = false;
};

// The text to print.
Result<std::string> run_preview(const PreviewRequest& request, Instant now);

}  // namespace carillon
