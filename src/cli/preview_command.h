// `carillon preview`: the next times of a trigger, offline.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"
#include "core/instant.h"

namespace carillon {

// As given on the command line; empty means not given.
struct PreviewRequest {
  std::string trigger;  // cron:…, rrule:…, every:…, daily:…, weekly:…, once:… or @file.json
  std::string timezone;
  std::string from;
  std::string start;
  std::string dst_gap;
  std::string dst_overlap;
  std::size_t count = 10;
  bool json = false;
};

// The text to print.
Result<std::string> run_preview(const PreviewRequest& request, Instant now);

}  // namespace carillon
