// The stores that the contract is run over. A new one needs an entry here, and nothing else.
#include "contract/store_contract.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace carillon::test {

const std::vector<BackendParam>& backends() {
  static const std::vector<BackendParam> all{
      {.name = "memory",
       .open_backend = [](const StoreClock& clock,
                          const std::filesystem::path&) { return make_memory_backend(clock); }},
      {.name = "sqlite",
       .open_backend =
           [](const StoreClock& clock, const std::filesystem::path& folder) {
             auto opened = open_sqlite_backend({.path = folder / "store.db", .upkeep_thread = false}, clock);
             if (!opened) ADD_FAILURE() << opened.error().message;
             return opened ? *std::move(opened) : nullptr;
           },
       .outlives_close = true,
       .model_cases = 60},
  };
  return all;
}

namespace {

RUN_OVER_EVERY_STORE(StoreContract);

}  // namespace

}  // namespace carillon::test
