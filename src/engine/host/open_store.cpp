#include <carillon/store.h>
#include <fmt/format.h>

#include "base/error.h"
#include "engine/host/open_store.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace carillon {

Result<std::unique_ptr<Store>> open_store_with(std::string_view url, const StoreClock& clock) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (url == "memory:") return make_memory_store(clock);
  if (url.starts_with(kSqlite) && url.size() > kSqlite.size()) {
    return open_sqlite({.path = std::string(url.substr(kSqlite.size()))}, clock);
  }
  return invalid_request(fmt::format("cannot open store {}: it must be sqlite:PATH or memory:", quoted(url)));
}

Result<StorePtr> open_store(std::string_view url) {
  TRY_ASSIGN(std::unique_ptr<Store> store, open_store_with(url, system_store_clock()));
  return StorePtr(store.release());
}

void CloseStore::operator()(Store* store) const { delete store; }  // NOLINT(cppcoreguidelines-owning-memory)

}  // namespace carillon
