// A map whose changes can be taken back.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace carillon {

// What was changed, in order, newest last: each table knows how to take its own last change back.
class UndoLog {
 public:
  class Table {
   public:
    Table() = default;
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;
    virtual ~Table() = default;

   private:
    friend class UndoLog;
    virtual void undo_last() = 0;
    virtual void forget() = 0;
  };

  void add(Table& table) { changed_.push_back(&table); }
  std::size_t size() const { return changed_.size(); }
  void roll_back_to(std::size_t size) {
    while (changed_.size() > size) {
      changed_.back()->undo_last();
      changed_.pop_back();
    }
  }
  void clear() {
    for (Table* const table : changed_) table->forget();
    changed_.clear();
  }

 private:
  std::vector<Table*> changed_;
};

template <typename Key, typename Value>
class JournaledMap final : public UndoLog::Table {
 public:
  // Told of every change, also of those that are taken back; null stands for a row that is not there.
  using Watch = std::function<void(const Value* before, const Value* after)>;

  explicit JournaledMap(UndoLog& undo, Watch watch = {}) : undo_(undo), watch_(std::move(watch)) {}
  JournaledMap(const JournaledMap&) = delete;
  JournaledMap& operator=(const JournaledMap&) = delete;
  ~JournaledMap() override = default;

  const Value* find(const Key& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : &found->second;
  }
  std::optional<Value> get(const Key& key) const {
    const Value* const found = find(key);
    return found ? std::optional(*found) : std::nullopt;
  }
  void put(const Key& key, const Value& value) {
    const auto [row, is_new] = rows_.try_emplace(key, value);
    if (watch_) watch_(is_new ? nullptr : &row->second, &value);
    undo_.add(*this);
    if (is_new) {
      befores_.emplace_back(key, std::nullopt);
    } else {
      befores_.emplace_back(key, std::exchange(row->second, value));
    }
  }
  void erase(const Key& key) {
    const auto row = rows_.find(key);
    if (row == rows_.end()) return;
    if (watch_) watch_(&row->second, nullptr);
    undo_.add(*this);
    befores_.emplace_back(key, std::move(row->second));
    rows_.erase(row);
  }
  const std::map<Key, Value>& rows() const { return rows_; }

 private:
  void undo_last() override {
    auto& [key, before] = befores_.back();
    const auto row = rows_.find(key);
    if (watch_) watch_(row == rows_.end() ? nullptr : &row->second, before ? &*before : nullptr);
    if (before) {
      rows_.insert_or_assign(key, *std::move(before));
    } else {
      rows_.erase(key);
    }
    befores_.pop_back();
  }
  void forget() override { befores_.clear(); }

  UndoLog& undo_;
  const Watch watch_;
  std::map<Key, Value> rows_;
  std::vector<std::pair<Key, std::optional<Value>>> befores_;  // of the changes that can be taken back
};

}  // namespace carillon
