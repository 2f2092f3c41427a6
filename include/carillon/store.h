// Where jobs are kept. One process has a SQLite file at a time.
#pragma once

#include <carillon/error.h>

#include <memory>
#include <string_view>

namespace carillon {

class Store;

struct CloseStore {
  void operator()(Store* store) const;
};
using StorePtr = std::unique_ptr<Store, CloseStore>;

// `sqlite:PATH`, made if it is not there, or `memory:`, which is gone with the process.
Result<StorePtr> open_store(std::string_view url);

}  // namespace carillon
