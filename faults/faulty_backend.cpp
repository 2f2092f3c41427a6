#include "faults/faulty_backend.h"

#include "base/check.h"

namespace carillon {

namespace {

class FaultyBackend final : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> backend, FaultyCommits& commits)
      : backend_(std::move(backend)), commits_(commits) {}

  Transaction& begin() override { return backend_->begin(); }

  Result<void> commit() override {
    switch (commits_.take()) {
      case CommitFault::none: return backend_->commit();
      case CommitFault::unavailable: return refuse(ErrorCode::unavailable, "the store was not reached");
      case CommitFault::conflict: return refuse(ErrorCode::conflict, "another writer was first");
      case CommitFault::full: return refuse(ErrorCode::store_full, "there is no space");
      case CommitFault::answer_lost:
        TRY(backend_->commit());
        return failed(ErrorCode::unavailable, "the answer was lost");
    }
    UNREACHABLE();
  }

  void roll_back() override { backend_->roll_back(); }
  JobId highest_id() override { return backend_->highest_id(); }
  StoreReader& reader() override { return backend_->reader(); }

 private:
  std::unexpected<Error> refuse(ErrorCode code, const char* message) {
    backend_->roll_back();
    return failed(code, message);
  }

  const std::unique_ptr<Backend> backend_;
  FaultyCommits& commits_;
};

}  // namespace

void FaultyCommits::next(CommitFault fault) {
  const std::scoped_lock lock(mutex_);
  said_.push_back(fault);
}

void FaultyCommits::decide_by(std::function<CommitFault()> decide) {
  const std::scoped_lock lock(mutex_);
  decide_ = std::move(decide);
}

CommitFault FaultyCommits::take() {
  const std::scoped_lock lock(mutex_);
  CommitFault fault = CommitFault::none;
  if (!said_.empty()) {
    fault = said_.front();
    said_.pop_front();
  } else if (decide_) {
    fault = decide_();
  }
  if (fault != CommitFault::none) ++injected_;
  return fault;
}

std::uint64_t FaultyCommits::injected() const {
  const std::scoped_lock lock(mutex_);
  return injected_;
}

std::unique_ptr<Backend> make_faulty(std::unique_ptr<Backend> backend, FaultyCommits& commits) {
  return std::make_unique<FaultyBackend>(std::move(backend), commits);
}

}  // namespace carillon
