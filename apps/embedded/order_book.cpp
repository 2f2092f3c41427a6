#include "order_book.h"

#include <memory>
#include <stdexcept>

OrderBook::OrderBook(const std::string& path) {
  if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) throw std::runtime_error("cannot open " + path);
  // AUTOINCREMENT: an id that came again would be taken for the job that had it before.
  run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
      "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, shipped INTEGER DEFAULT 0);"
      "CREATE TABLE IF NOT EXISTS outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, payload TEXT);");
}

OrderBook::~OrderBook() { sqlite3_close(database_); }

void OrderBook::place(const std::string& item) {
  run("BEGIN IMMEDIATE; INSERT INTO orders (item) VALUES (" + quoted(item) +
      ");"
      "INSERT INTO outbox (type, payload) VALUES ('order.ship', json_object('order', last_insert_rowid())); COMMIT;");
}

void OrderBook::ship(std::int64_t order) {
  run("UPDATE orders SET shipped = shipped + 1 WHERE shipped = 0 AND id = " + std::to_string(order) + ";");
}

std::vector<OutboxRow> OrderBook::outbox() {
  std::vector<OutboxRow> rows;
  sqlite3_exec(
      database_, "SELECT id, type, payload FROM outbox ORDER BY id;",
      [](void* into, int, char** values, char**) {
        static_cast<std::vector<OutboxRow>*>(into)->push_back(
            {.id = std::stoll(values[0]), .type = values[1], .payload = values[2]});
        return 0;
      },
      &rows, nullptr);
  return rows;
}

void OrderBook::remove(const OutboxRow& row) { run("DELETE FROM outbox WHERE id = " + std::to_string(row.id) + ";"); }

void OrderBook::run(const std::string& sql) {
  if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error(std::string("the order book: ") + sqlite3_errmsg(database_));
  }
}

std::int64_t OrderBook::number(const std::string& sql) {
  std::int64_t result = 0;
  sqlite3_exec(
      database_, sql.c_str(),
      [](void* into, int, char** values, char**) {
        *static_cast<std::int64_t*>(into) = std::stoll(values[0]);
        return 0;
      },
      &result, nullptr);
  return result;
}

std::string OrderBook::quoted(const std::string& text) {
  const std::unique_ptr<char, decltype(&sqlite3_free)> copy(sqlite3_mprintf("%Q", text.c_str()), sqlite3_free);
  return copy.get();
}
