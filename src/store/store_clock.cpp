#include "base/clock.h"
#include "store/store.h"

namespace carillon {

namespace {

class SystemStoreClock final : public StoreClock {
 public:
  BootTime boot() const override { return boot_now(); }

 protected:
  Instant exact_wall() const override { return system_now(); }
};

}  // namespace

const StoreClock& system_store_clock() {
  static const SystemStoreClock clock;
  return clock;
}

}  // namespace carillon
