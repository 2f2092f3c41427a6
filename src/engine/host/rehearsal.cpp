#include "engine/host/rehearsal.h"

#include <fmt/format.h>

#include <utility>

#include "core/time/instant.h"

namespace carillon {

namespace {

std::unexpected<Error> has_ended() { return failed(ErrorCode::unavailable, "the engine has ended"); }

}  // namespace

Rehearsal::~Rehearsal() {
  close();
  if (is_moving_) end(has_ended());
}

void Rehearsal::move(const Move& move, Done done) {
  {
    const std::scoped_lock lock(mutex_);
    if (!is_closed_) {
      asked_.push_back({.move = move, .done = std::move(done)});
      return;
    }
  }
  done(has_ended());
}

void Rehearsal::close() {
  std::deque<Asked> refused;
  {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
    refused = std::exchange(asked_, {});
  }
  for (const Asked& asked : refused) asked.done(has_ended());
}

bool Rehearsal::is_closed() {
  const std::scoped_lock lock(mutex_);
  return is_closed_;
}

bool Rehearsal::begin_next() {
  Asked asked;
  {
    const std::scoped_lock lock(mutex_);
    if (asked_.empty()) return false;
    asked = std::move(asked_.front());
    asked_.pop_front();
  }
  clock_.hold();
  is_moving_ = true;
  jump_ = asked.move.jump;
  done_ = std::move(asked.done);
  const Instant now = clock_.wall();
  const Duration* const by = std::get_if<Duration>(&asked.move.to);
  target_ = by != nullptr ? add_clamped(now, *by) : std::get<Instant>(asked.move.to);
  if (target_ >= now) return true;
  end(failed(ErrorCode::conflict, fmt::format("the clock only goes forward: it is {} now, and was to go to {}",
                                              format_instant(now), format_instant(target_))));
  return true;
}

void Rehearsal::end(const Result<Instant>& answer) {
  is_moving_ = false;
  clock_.run();
  std::exchange(done_, nullptr)(answer);
}

Duration Rehearsal::after_step(Node& node, Duration sleep) {
  if (!is_moving_) {
    if (!begin_next()) return sleep;
    if (!is_moving_) return Duration::zero();  // refused; another may wait
    node.look_now();
    return Duration::zero();
  }
  if (is_closed()) {
    end(has_ended());
    return sleep;
  }
  if (!node.is_settled(sleep)) return sleep;
  const Instant now = clock_.wall();
  if (clock_.has_come_to(target_)) {
    end(now);
    return Duration::zero();
  }
  Instant next = target_;
  if (!jump_) {
    const auto due = node.next_due(now);
    if (!due) return sleep;  // the store will answer again
    if (*due) next = std::min(next, up_to_millisecond(**due));
  }
  clock_.move_to(next);
  node.look_now();
  return Duration::zero();
}

}  // namespace carillon
