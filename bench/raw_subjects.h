// The raw limit of planning: subjects inserted, found when they are due and made into jobs, straight against SQLite, in
// the shape of the store's tables, by hand.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

class RawSubjects {
 public:
  explicit RawSubjects(const std::string& path);
  ~RawSubjects();
  RawSubjects(const RawSubjects&) = delete;
  RawSubjects& operator=(const RawSubjects&) = delete;

  struct User {
    std::string name;
    std::string overrides;
    std::int64_t next_at = 0;
  };
  // In one transaction.
  void insert(std::span<const User> users);
  // In one transaction: up to `most` users that are due become jobs, and move on by a day. How many were.
  int plan(std::int64_t now, int most);

 private:
  struct Statements;
  std::unique_ptr<Statements> statements_;
  std::int64_t next_id_ = 0;
  std::array<std::int64_t, 1440> count_of_minute_{};  // of the day, inserted so far
};

// The number that a query over a file of the store answers with, on a connection of its own.
std::int64_t number_in(const std::string& path, const std::string& sql);
