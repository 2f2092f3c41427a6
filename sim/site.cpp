#include "sim/site.h"

#include <fmt/format.h>

#include <stdexcept>

#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/transactional_store.h"

namespace carillon::sim {

namespace {

constexpr const char* kPath = "/jobs.db";

}  // namespace

Site::Site(StoreKind kind, std::uint64_t seed, Clock& clock, Witness& witness)
    : kind_(kind), clock_(clock), witness_(witness) {
  if (kind_ == StoreKind::memory) {
    memory_ = make_memory_backend(clock_);
    inner_ = memory_.get();
  } else {
    vfs_ = std::make_unique<FaultVfs>(FaultVfsOptions{.name = "sim", .disk = DiskModel::in_memory, .seed = seed});
  }
}

Site::~Site() { crash(); }

// As a file is opened: the handlers of the process before are gone, and their leases with them. (invariant 11)
void Site::cut_leases() {
  Transaction& tx = inner_->begin();
  for (LeaseRow lease : tx.leases()) {
    const BootTime left = lease.in_process ? BootTime::zero() : lease.length;
    lease.timeout_at = clock_.boot() + (lease.timeout_at - lease.until) + Duration(1) + left;
    lease.until = clock_.boot() + left;
    tx.update_lease(lease);
  }
  [[maybe_unused]] const auto unheard = inner_->commit();
}

void Site::open_store() {
  if (store_) return;
  if (kind_ == StoreKind::memory) {
    cut_leases();
    store_ = make_store(make_witnessed(*inner_, witness_), clock_);
    return;
  }
  const auto open = [&] {
    return open_sqlite_backend({.path = kPath, .vfs = vfs_->name(), .upkeep_thread = false}, clock_);
  };
  auto backend = open();
  if (!backend && !vfs_->is_powered()) {
    // It failed while the file was being closed or opened: the machine starts once more.
    vfs_->power_on();
    backend = open();
  }
  if (!backend) throw std::runtime_error(fmt::format("cannot open the simulated file: {}", backend.error().message));
  inner_ = backend->get();
  store_ = make_store(make_witnessed(*std::move(backend), witness_), clock_);
}

void Site::close_store() {
  store_.reset();
  if (kind_ == StoreKind::sqlite) inner_ = nullptr;
}

void Site::start(const Node::Options& options, const SimRunner::Parts& parts) {
  open_store();
  runner_ = std::make_unique<SimRunner>(parts);
  node_ = std::make_unique<Node>(*store_, clock_, options);
  client_ = std::make_unique<NodeClient>(*node_);
  node_->set_runner(*runner_);
  runner_->connect(*node_);
  node_->open();
}

void Site::crash() {
  client_.reset();
  node_.reset();
  runner_.reset();
  close_store();
}

void Site::lose_power() {
  if (!vfs_) return crash();
  vfs_->power_off();
  crash();
  vfs_->power_on();
}

void Site::lose_power_soon(std::uint64_t calls) {
  if (vfs_) vfs_->power_off_at(calls);
}

bool Site::has_power() const { return !vfs_ || vfs_->is_powered(); }

}  // namespace carillon::sim
