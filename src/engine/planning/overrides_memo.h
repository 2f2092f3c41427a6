// What subjects say otherwise than their schedule, read from how it is stored. Subjects that are due at the same time
// mostly say the same (a due time, a zone), so a text is read once and then known.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "core/schedules/subject.h"

namespace carillon {

class OverridesMemo {
 public:
  // `enabled` is no part of the text.
  Result<SubjectOverrides> read(std::string_view text) {
    if (text.empty()) return SubjectOverrides{};
    if (const auto known = known_.find(text); known != known_.end()) return known->second;
    auto overrides = read_overrides(text);
    // A payload is mostly the subject's own: nobody else would ask for it.
    if (overrides && !overrides->payload) {
      if (known_.size() == kTextsMax) known_.clear();
      known_.emplace(text, *overrides);
    }
    return overrides;
  }

 private:
  static constexpr std::size_t kTextsMax = 1000;
  struct TextHash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard library's name
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::unordered_map<std::string, SubjectOverrides, TextHash, std::equal_to<>> known_;
};

}  // namespace carillon
