#include "bench/lease_workers.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/check.h"
#include "bench/measuring.h"

namespace carillon {

namespace {

constexpr int kBatch = 1000;

std::string batch_request(const LoopbackTarget& target) {
  std::string body = R"({"jobs":[)";
  for (int i = 0; i < kBatch; ++i) {
    if (i > 0) body += ',';
    body += fmt::format(R"({{"type":"bench","payload":{}}})", bench_payload());
  }
  return http_request(target, "POST", "/v1/tenants/default/jobs/batch", body + "]}");
}

// The text between `before` and the next `end`, and moves `text` past it. Empty if there is none.
std::string_view next_between(std::string_view& text, std::string_view before, char end) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + before.size());
  const std::string_view found = text.substr(0, text.find(end));
  text.remove_prefix(found.size());
  return found;
}

// The report that completes each job of a lease's answer. "" if there was none.
std::string words_for(std::string_view leased, int& count) {
  std::string body = R"({"items":[)";
  count = 0;
  for (;; ++count) {
    const std::string_view id = next_between(leased, R"("id":")", '"');
    if (id.empty()) return body + "]}";
    const std::string_view token = next_between(leased, R"("token":)", ',');
    if (count > 0) body += ',';
    body.append(R"({"id":")").append(id).append(R"(","token":)").append(token).append(R"(,"complete":{}})");
  }
}

}  // namespace

double make_batches(const LoopbackTarget& target, int clients, int batches) {
  const std::string request = batch_request(target);
  std::atomic<int> left = batches;
  const double seconds = seconds_of([&] {
    std::vector<std::jthread> threads;
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([&] {
        LoopbackClient client(target);
        while (left.fetch_sub(1) > 0) client.ask(request, 201);
      });
    }
  });
  return batches * kBatch / seconds;
}

void fill(const LoopbackTarget& target, int count) { make_batches(target, 1, count / kBatch); }

double drain(const LoopbackTarget& target, const LeaseWorkers& workers, int count) {
  std::atomic<int> done = 0;
  const double seconds = seconds_of([&] {
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers.workers; ++i) {
      threads.emplace_back([&, i] {
        LoopbackClient client(target);
        const std::string lease =
            http_request(target, "POST", "/v1/tenants/default/leases",
                         fmt::format(R"({{"worker":"bench-{}","limit":{},"types":["bench"]{}{}}})", i, workers.at_once,
                                     workers.fields.empty() ? "" : R"(,"fields":)", workers.fields));
        for (;;) {
          int leased = 0;
          const std::string words = words_for(client.ask(lease, 200), leased);
          if (leased == 0) return;
          const std::string_view settled = client.post("/v1/tenants/default/leases/settle", words, 200);
          CHECK(!settled.contains(R"("error")"));
          done += leased;
        }
      });
    }
  });
  if (done != count) {
    give_up({.code = ErrorCode::unavailable, .message = fmt::format("{} jobs were drained, not {}", done, count)});
  }
  return count / seconds;
}

}  // namespace carillon
