#include "store/batcher.h"

#include <pthread.h>

namespace carillon {

Batcher::Batcher(Store& store, const Options& options)
    : store_(store), options_(options), writer_([this] { write_batches(); }) {
  pthread_setname_np(writer_.native_handle(), "writer");
}

Batcher::~Batcher() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  submitted_.notify_all();
  writer_.join();
}

Batcher::Totals Batcher::totals() const {
  const std::scoped_lock lock(mutex_);
  return totals_;
}

void Batcher::add(std::unique_ptr<Write> write, std::size_t bytes) {
  bool was_idle = false;
  {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [&] { return waiting_.size() < options_.waiting_max; });
    was_idle = waiting_.empty();
    waiting_.push_back({.write = std::move(write), .bytes = bytes});
  }
  // The writer looks again by itself after each batch: only one that sleeps has to be woken.
  if (was_idle) submitted_.notify_one();
}

std::vector<std::unique_ptr<Batcher::Write>> Batcher::take_batch() {
  std::vector<std::unique_ptr<Write>> batch;
  std::size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < options_.items_max) {
    Waiting& next = waiting_.front();
    if (!batch.empty() && bytes + next.bytes > options_.bytes_max) break;
    bytes += next.bytes;
    batch.push_back(std::move(next.write));
    waiting_.pop_front();
  }
  return batch;
}

void Batcher::write_batches() {
  std::unique_lock lock(mutex_);
  while (true) {
    submitted_.wait(lock, [&] { return !waiting_.empty() || stopping_; });
    if (waiting_.empty()) return;
    const std::vector<std::unique_ptr<Write>> batch = take_batch();
    ++totals_.commits;
    totals_.writes += batch.size();
    taken_.notify_all();
    lock.unlock();
    const Result<void> committed = store_.atomically([&] {
      for (const auto& write : batch) write->run(store_);
    });
    for (const auto& write : batch) write->finish(committed);
    lock.lock();
  }
}

}  // namespace carillon
