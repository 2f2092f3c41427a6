// The host's own database: orders, and an outbox of the jobs that follow from them.
//
// An order and its outbox row are one transaction, so neither is there without the other. Only the host's thread uses
// it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <vector>

struct OutboxRow {
  std::int64_t id = 0;  // never used twice
  std::string type;
  std::string payload;
};

class OrderBook {
 public:
  explicit OrderBook(const std::string& path);
  OrderBook(const OrderBook&) = delete;
  OrderBook& operator=(const OrderBook&) = delete;
  ~OrderBook();

  void place(const std::string& item);
  // Does nothing the second time: an attempt may come twice.
  void ship(std::int64_t order);
  std::int64_t count() { return number("SELECT count(*) FROM orders"); }
  std::int64_t unshipped() { return number("SELECT count(*) FROM orders WHERE shipped = 0"); }
  std::int64_t shipments() { return number("SELECT coalesce(sum(shipped), 0) FROM orders"); }

  std::vector<OutboxRow> outbox();
  void remove(const OutboxRow& row);

 private:
  void run(const std::string& sql);
  std::int64_t number(const std::string& sql);
  std::string quoted(const std::string& text);

  sqlite3* database_ = nullptr;
};
