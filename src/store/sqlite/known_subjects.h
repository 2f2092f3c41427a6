// Subjects that a transaction has come by: their numbers, and their rows as they now are. Planning asks for each of a
// thousand a few times, and asks here instead of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/plan_store.h"
#include "store/rows.h"

namespace carillon {

class KnownSubjects {
 public:
  std::optional<std::int64_t> id(ScheduleId schedule, std::string_view subject) const {
    const Entry* const entry = find(schedule, subject);
    return entry ? std::optional(entry->id) : std::nullopt;
  }
  // Nothing if only its number is known. Valid until the next change.
  const SubjectRow* row(ScheduleId schedule, std::string_view subject) const {
    const Entry* const entry = find(schedule, subject);
    return entry && entry->row ? &*entry->row : nullptr;
  }

  void note_id(ScheduleId schedule, std::string_view subject, std::int64_t id) {
    entries_.try_emplace(SubjectKey{schedule, std::string(subject)}, Entry{.id = id, .row = {}});
  }
  void note(std::int64_t id, const SubjectRow& row) {
    const auto known = entries_.find(Name{row.schedule, row.subject});
    if (known != entries_.end()) {
      known->second.row = row;
    } else {
      entries_.emplace(SubjectKey{row.schedule, row.subject}, Entry{.id = id, .row = row});
    }
  }
  void forget(ScheduleId schedule, std::string_view subject) {
    if (const auto known = entries_.find(Name{schedule, subject}); known != entries_.end()) entries_.erase(known);
  }
  // With its memory: an import may have come by many.
  void clear() {
    if (!entries_.empty()) entries_ = {};
  }

 private:
  struct Entry {
    std::int64_t id = 0;
    std::optional<SubjectRow> row;
  };
  // Found without copying a name.
  struct Name {
    ScheduleId schedule;
    std::string_view subject;
    bool operator==(const Name&) const = default;
  };
  struct NameHash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard library's name
    std::size_t operator()(const Name& name) const {
      return std::hash<std::string_view>()(name.subject) + static_cast<std::size_t>(name.schedule.value);
    }
    std::size_t operator()(const SubjectKey& key) const { return operator()(Name{key.schedule, key.subject}); }
  };
  struct SameName {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard library's name
    bool operator()(const SubjectKey& a, const SubjectKey& b) const { return a == b; }
    bool operator()(const SubjectKey& a, const Name& b) const {
      return a.schedule == b.schedule && a.subject == b.subject;
    }
    bool operator()(const Name& a, const SubjectKey& b) const { return operator()(b, a); }
  };

  const Entry* find(ScheduleId schedule, std::string_view subject) const {
    const auto known = entries_.find(Name{schedule, subject});
    return known == entries_.end() ? nullptr : &known->second;
  }

  std::unordered_map<SubjectKey, Entry, NameHash, SameName> entries_;
};

}  // namespace carillon
