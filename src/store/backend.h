// What a backend brings: transactions, one at a time, and a reader. TransactionalStore makes a store of it.
#pragma once

#include "base/error.h"
#include "core/jobs/job_id.h"
#include "store/store_reader.h"
#include "store/transaction.h"

namespace carillon {

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // Begins the one transaction. Its failure, if it cannot begin, is told by `commit`.
  virtual Transaction& begin() = 0;
  // Durable when it answers. On failure everything since `begin` is undone, or its fate is unknown: `unavailable`.
  virtual Result<void> commit() = 0;
  virtual void roll_back() = 0;

  // The highest id that is stored.
  virtual JobId highest_id() = 0;
  virtual StoreReader& reader() = 0;
};

}  // namespace carillon
