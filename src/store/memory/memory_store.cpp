#include "store/memory/memory_store.h"

#include "store/memory/memory_reader.h"
#include "store/memory/memory_transaction.h"
#include "store/transactional_store.h"

namespace carillon {

namespace {

class MemoryBackend final : public Backend {
 public:
  explicit MemoryBackend(const StoreClock& clock) : reader_(tables_, writing_, clock) {}

  Transaction& begin() override {
    writing_.lock();
    transaction_.begin();
    return transaction_;
  }
  Result<void> commit() override {
    auto committed = transaction_.commit();
    writing_.unlock();
    return committed;
  }
  void roll_back() override {
    transaction_.roll_back();
    writing_.unlock();
  }
  JobId highest_id() override { return {}; }
  StoreReader& reader() override { return reader_; }

 private:
  std::mutex writing_;
  MemoryTables tables_;
  MemoryTransaction transaction_{tables_};
  MemoryReader reader_;
};

}  // namespace

std::unique_ptr<Backend> make_memory_backend(const StoreClock& clock) { return std::make_unique<MemoryBackend>(clock); }

std::unique_ptr<Store> make_memory_store(const StoreClock& clock) {
  return make_store(make_memory_backend(clock), clock);
}

}  // namespace carillon
