// The raw limit: whole life cycles written straight against SQLite, in the shape of the store's tables, by hand.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

class RawSqlite {
 public:
  explicit RawSqlite(const std::string& path);
  ~RawSqlite();
  RawSqlite(const RawSqlite&) = delete;
  RawSqlite& operator=(const RawSqlite&) = delete;

  // Each in one transaction of `count` rows: new jobs, then lease the oldest with their payloads, then archive these.
  void enqueue(int count, const std::string& payload);
  void claim(int count);
  void settle();
  std::int64_t bytes_read() const { return bytes_read_; }

 private:
  struct Statements;
  std::unique_ptr<Statements> statements_;
  std::int64_t next_id_ = 0;
  std::int64_t oldest_ = 0;   // next to lease
  std::int64_t settled_ = 0;  // leased from here to oldest_
  std::int64_t bytes_read_ = 0;
};
