// Group commit: any thread hands in a write and gets its own answer after the commit that holds it.
//
//   Batcher batcher(store, {});
//   auto answer = batcher.submit([&](Store& s) { return std::move(s.jobs().enqueue(one).front()); });
//   answer.get();   // durable
//
// One thread writes. While it commits, others queue up, and all that waits then goes into the next transaction: an idle
// store commits at once, a busy one pays one fsync for many. A write that is refused fails alone. If the commit fails,
// every write in it gets that failure.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "store/store.h"

namespace carillon {

class Batcher {
 public:
  struct Options {
    std::size_t items_max = 1000;       // in one transaction
    std::size_t bytes_max = 8U << 20;   // in one transaction, as submitted; a larger write goes alone
    std::size_t waiting_max = 100'000;  // beyond it, submitting waits
  };

  // The store must outlive the batcher.
  Batcher(Store& store, const Options& options);
  explicit Batcher(Store& store) : Batcher(store, Options{}) {}
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;
  // Everything that was submitted is written first.
  ~Batcher();

  // `use_case` is called with the store on the writer's thread and returns a Result. `done` is called there too, after
  // the commit, with that result or the commit's failure. Neither may submit. `bytes`: about how much it writes.
  template <typename UseCase, typename Done>
  void submit(UseCase use_case, Done done, std::size_t bytes = 0) {
    using Answer = std::invoke_result_t<UseCase, Store&>;
    add(std::make_unique<WriteOf<Answer, UseCase, Done>>(std::move(use_case), std::move(done)), bytes);
  }

  template <typename UseCase>
  auto submit(UseCase use_case, std::size_t bytes = 0) -> std::future<std::invoke_result_t<UseCase, Store&>> {
    using Answer = std::invoke_result_t<UseCase, Store&>;
    std::promise<Answer> promise;
    auto future = promise.get_future();
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the promise moves into the write, which owns it
    submit(
        std::move(use_case),
        [promise = std::move(promise)](Answer answer) mutable { promise.set_value(std::move(answer)); }, bytes);
    return future;
  }

  struct Totals {
    std::uint64_t commits = 0;
    std::uint64_t writes = 0;
  };
  Totals totals() const;

 private:
  class Write {
   public:
    Write() = default;
    Write(const Write&) = delete;
    Write& operator=(const Write&) = delete;
    virtual ~Write() = default;
    virtual void run(Store& store) = 0;
    virtual void finish(const Result<void>& committed) = 0;
  };

  template <typename Answer, typename UseCase, typename Done>
  class WriteOf final : public Write {
   public:
    WriteOf(UseCase use_case, Done done) : use_case_(std::move(use_case)), done_(std::move(done)) {}
    void run(Store& store) override { answer_.emplace(use_case_(store)); }
    void finish(const Result<void>& committed) override {
      if (committed) {
        done_(*std::move(answer_));
      } else {
        done_(Answer(std::unexpected(committed.error())));
      }
    }

   private:
    UseCase use_case_;
    Done done_;
    std::optional<Answer> answer_;
  };

  struct Waiting {
    std::unique_ptr<Write> write;
    std::size_t bytes = 0;
  };

  void add(std::unique_ptr<Write> write, std::size_t bytes);
  void write_batches();
  // The head of what waits, within the bounds of one transaction.
  std::vector<std::unique_ptr<Write>> take_batch();

  Store& store_;
  const Options options_;

  mutable std::mutex mutex_;
  std::condition_variable submitted_;
  std::condition_variable taken_;
  std::deque<Waiting> waiting_;
  bool stopping_ = false;
  Totals totals_;

  std::thread writer_;
};

}  // namespace carillon
