#include "base/clock.h"
#include "store/store.h"

namespace carillon {

namespace {

class SystemStoreClock final : public StoreClock {
 public:
  Instant wall() const override { return system_now(); }
  BootTime boot() const override { return boot_now(); }
};

}  // namespace

const StoreClock& system_store_clock() {
  static const SystemStoreClock clock;
  return clock;
}

}  // namespace carillon
