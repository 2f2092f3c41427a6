// A map whose changes can be taken back.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace carillon {

// How to undo what was done, newest last.
class UndoLog {
 public:
  void add(std::function<void()> undo) { undos_.push_back(std::move(undo)); }
  std::size_t size() const { return undos_.size(); }
  void roll_back_to(std::size_t size) {
    while (undos_.size() > size) {
      undos_.back()();
      undos_.pop_back();
    }
  }
  void clear() { undos_.clear(); }

 private:
  std::vector<std::function<void()>> undos_;
};

template <typename Key, typename Value>
class JournaledMap {
 public:
  explicit JournaledMap(UndoLog& undo) : undo_(undo) {}
  JournaledMap(const JournaledMap&) = delete;
  JournaledMap& operator=(const JournaledMap&) = delete;
  ~JournaledMap() = default;

  std::optional<Value> get(const Key& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? std::nullopt : std::optional(found->second);
  }
  void put(const Key& key, const Value& value) {
    remember(key);
    rows_.insert_or_assign(key, value);
  }
  void erase(const Key& key) {
    remember(key);
    rows_.erase(key);
  }
  const std::map<Key, Value>& rows() const { return rows_; }

 private:
  void remember(const Key& key) {
    undo_.add([this, key, before = get(key)] {
      if (before) {
        rows_.insert_or_assign(key, *before);
      } else {
        rows_.erase(key);
      }
    });
  }

  UndoLog& undo_;
  std::map<Key, Value> rows_;
};

}  // namespace carillon
