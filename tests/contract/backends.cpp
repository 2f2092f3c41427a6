// The stores that the contract is run over. A new one needs an entry here, and nothing else.
#include "contract/store_contract.h"
#include "store/memory/memory_store.h"

namespace carillon::test {

const std::vector<BackendParam>& backends() {
  static const std::vector<BackendParam> all{
      {.name = "memory",
       .open = [](const StoreClock& clock, const std::filesystem::path&) { return make_memory_store(clock); }},
  };
  return all;
}

namespace {

std::string name_of(const testing::TestParamInfo<BackendParam>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, testing::ValuesIn(backends()), name_of);

}  // namespace

}  // namespace carillon::test
