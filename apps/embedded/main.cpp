// A shop that has its own loop and its own database, and leaves what is to be done later to Carillon.
//
//   embedded                  places an order, ships all that are not, and ends
//   embedded --crash          ends at the worst moment: the job is stored, its outbox row not yet removed
//
// Handlers run on the shop's own thread, so that they use the order book without a lock. The step from an order to its
// job is an outbox: however often the shop crashes in between, there is exactly one job for each order.
#include <carillon/carillon.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "event_loop.h"
#include "order_book.h"

namespace {

constexpr int kCrashed = 9;

// Moves jobs from the outbox to Carillon. The row's id is the idempotency key: a row that was enqueued already, before
// a crash, gives the job that is there.
int relay(OrderBook& book, carillon::Client& client, bool crash) {
  int found_again = 0;
  for (const OutboxRow& row : book.outbox()) {
    const auto job = client.enqueue(
        {.type = row.type, .payload = row.payload, .idempotency_key = "outbox-" + std::to_string(row.id)});
    if (!job) {
      std::cerr << "embedded: " << job.error().message << '\n';  // the row stays; try again later
      break;
    }
    if (crash) std::_Exit(kCrashed);
    if (job->deduplicated) ++found_again;
    book.remove(row);
  }
  return found_again;
}

}  // namespace

int main(int argc, char** argv) {
  const bool crash = argc > 1 && std::string_view(argv[1]) == "--crash";
  EventLoop loop;
  OrderBook book("orders.db");
  auto store = carillon::open_store("sqlite:jobs.db");
  if (!store) {
    std::cerr << "embedded: " << store.error().message << '\n';  // another process has it, say
    return 1;
  }
  carillon::Engine engine{**store, {.executor = [&](std::function<void()> work) { loop.post(std::move(work)); }}};

  engine.handle("order.ship", [&](carillon::JobContext& ctx) -> carillon::Outcome {
    book.ship(ctx.payload().at("order").as_int());
    if (book.unshipped() == 0) loop.quit();
    return carillon::done();
  });
  engine.run_in_background();

  int found_again = 0;
  loop.post([&] {
    book.place("lamp");
    found_again = relay(book, engine.client(), crash);
  });
  loop.run();
  engine.stop();

  const auto jobs = engine.client().jobs({.type = "order.ship"}, {}, 100);
  std::cout << "orders " << book.count() << ", shipments " << book.shipments() << ", jobs " << jobs.value().jobs.size()
            << ", found again " << found_again << '\n';
  return 0;
}
