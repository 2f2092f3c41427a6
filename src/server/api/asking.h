// A question to the engine whose answer is waited for, but not for ever: one that stands must not hold those who ask
// how it is.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "engine/round/node.h"

namespace carillon::server {

// Nothing: no answer in time. `operation` may then still run, so it must own what it uses but for the node.
template <typename Answer>
std::optional<Result<Answer>> ask_within(Node& node, std::chrono::milliseconds patience,
                                         std::function<Result<Answer>(Round&)> operation) {
  auto promise = std::make_shared<std::promise<Result<Answer>>>();
  std::future<Result<Answer>> future = promise->get_future();
  node.post<Answer>(std::move(operation), [promise](Result<Answer> answer) { promise->set_value(std::move(answer)); });
  if (future.wait_for(patience) != std::future_status::ready) return std::nullopt;
  return future.get();
}

}  // namespace carillon::server
