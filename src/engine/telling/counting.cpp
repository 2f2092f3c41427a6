#include "engine/telling/counting.h"

namespace carillon {

void add(Counters& totals, const Counters& counts) {
  totals.picked += counts.picked;
  totals.succeeded += counts.succeeded;
  totals.failed += counts.failed;
  totals.deferred += counts.deferred;
  totals.dlq += counts.dlq;
  totals.stalled += counts.stalled;
  totals.abandoned += counts.abandoned;
  totals.rate_limited += counts.rate_limited;
  totals.missed += counts.missed;
  totals.late += counts.late;
  totals.finalized += counts.finalized;
  totals.store_failures += counts.store_failures;
  totals.swept += counts.swept;
  totals.repaired += counts.repaired;
}

}  // namespace carillon
