#include "server/api/event_hub.h"

#include <pthread.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/hole.h"
#include "server/api/event_text.h"

namespace carillon::server {

namespace {

constexpr std::size_t kTakenAtOnce = 2'048;                  // events, from one round to the next
constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;  // told to a stream in one turn
constexpr std::size_t kPieceEntries = 4'096;                 // looked at in one turn
constexpr std::size_t kWriteCost = std::size_t{4} << 10U;    // of the round's bytes: a write has a price of its own
constexpr std::size_t kLookCost = 16;                        // and so has an entry that is looked at
constexpr auto kReadPause = std::chrono::milliseconds(50);   // until those who must read first are looked at again
constexpr auto kIdle = std::chrono::seconds(60);

}  // namespace

EventHub::EventHub(const Options& options)
    : options_(options), ring_(options.ring_events), backlog_(options.backlog_bytes), thread_([this] { work(); }) {
  pthread_setname_np(thread_.native_handle(), "events");
}

// NOLINTNEXTLINE(bugprone-exception-escape): without memory to stop with, there is nothing to go on with
EventHub::~EventHub() { stop(); }

// ---- The engine's thread -------------------------------------------------------------------------------------------

void EventHub::hear(const Event& event) {
  const auto* const changed = std::get_if<JobChanged>(&event.body);
  const bool is_awaited = changed != nullptr && is_final(changed->state) && waiters_.ended(changed->job);
  if (listening_ == 0) {
    if (is_awaited) wake();
    return;
  }
  if (reopened(Hole::events_on_driver)) {
    if (is_awaited) wake();
    return tell_on_driver(event);
  }
  if (!ring_.push(event)) overflowed_ = true;
  wake();
}

void EventHub::wake() {
  if (asleep_.exchange(false)) bell_.ring();
}

void EventHub::tell_on_driver(const Event& event) {
  const std::string text = stream_text(event);
  const std::scoped_lock lock(mutex_);
  std::erase_if(listeners_, [&](const Listener& listener) {
    return listener.audience->may_see(tenant_of(event)) && !listener.stream->write(text);
  });
  listening_ = listeners_.size();
}

// ---- Who listens ---------------------------------------------------------------------------------------------------

EventHub::Room EventHub::add(const Caller& caller, const Open& open) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return Room::all_taken;
  if (!reopened(Hole::events_on_driver)) {
    const auto of_key = std::ranges::count(listeners_, caller.id, &Listener::key);
    const bool key_has_enough = std::cmp_greater_equal(of_key, options_.streams_of_key);
    if (key_has_enough || listeners_.size() >= options_.streams_max) {
      forget_gone();
      const auto left = std::ranges::count(listeners_, caller.id, &Listener::key);
      if (std::cmp_greater_equal(left, options_.streams_of_key)) return Room::key_has_enough;
      if (listeners_.size() >= options_.streams_max) return Room::all_taken;
    }
  }
  std::shared_ptr<Stream> stream = open();
  if (!stream) return Room::found;
  listeners_.push_back(
      {.stream = stream, .key = caller.id, .audience = audience_of(caller.tenants), .at = backlog_.end()});
  listening_ = listeners_.size();
  // From here on nothing is missed.
  stream->write(": events follow\n\n");
  return Room::found;
}

std::shared_ptr<EventHub::Audience> EventHub::audience_of(const TenantSet& tenants) {
  const auto found = std::ranges::find_if(
      audiences_, [&](const std::shared_ptr<Audience>& audience) { return audience->tenants == tenants; });
  if (found != audiences_.end()) return *found;
  audiences_.push_back(std::make_shared<Audience>(Audience{.tenants = tenants, .piece = {}}));
  return audiences_.back();
}

void EventHub::forget_listener(std::size_t index) {
  std::swap(listeners_[index], listeners_.back());
  const std::shared_ptr<Audience> audience = std::move(listeners_.back().audience);
  listeners_.pop_back();
  listening_ = listeners_.size();
  if (std::ranges::find(listeners_, audience, &Listener::audience) == listeners_.end())
    std::erase(audiences_, audience);
}

void EventHub::forget_gone() {
  for (std::size_t i = listeners_.size(); i-- > 0;) {
    if (listeners_[i].stream->is_over()) forget_listener(i);
  }
}

void EventHub::keep_alive() {
  keep_alive_ = true;
  wake();
}

void EventHub::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  for (const Listener& listener : listeners_) listener.stream->end();
  listeners_.clear();
  audiences_.clear();
  listening_ = 0;
}

void EventHub::stop() {
  close();
  if (!thread_.joinable()) return;
  stopping_ = true;
  bell_.ring();
  thread_.join();
}

// ---- The hub's thread ----------------------------------------------------------------------------------------------

void EventHub::work() {
  while (!stopping_) {
    asleep_ = true;  // before it looks: whatever comes from now on rings
    waiters_.call_ended();
    const bool took = take_events();
    const Served served = serve();
    if (took || served.is_behind) {
      // Events that come meanwhile are told together.
      std::this_thread::sleep_for(options_.round_time);
    } else {
      bell_.sleep(served.waits ? kReadPause : kIdle);
    }
  }
}

bool EventHub::take_events() {
  Audiences audiences;
  {
    const std::scoped_lock lock(mutex_);
    audiences = audiences_;
  }
  std::vector<EventBacklog::Told> told;
  bool any = false;
  for (std::size_t i = 0; i < kTakenAtOnce; ++i) {
    const std::optional<Event> event = ring_.pop();
    if (!event) break;
    any = true;
    last_at_ = event->at;
    const std::string_view tenant = tenant_of(*event);
    if (std::ranges::none_of(audiences, [&](const auto& audience) { return audience->may_see(tenant); })) continue;
    told.push_back({.text = stream_text(*event), .tenant = std::string(tenant)});
  }
  audiences.clear();
  if (overflowed_.exchange(false)) told.push_back({.text = lost_text(last_at_), .tenant = {}, .to_all = true});
  if (keep_alive_.exchange(false)) told.push_back({.text = std::string(kStillHere), .tenant = {}, .to_all = true});
  const std::scoped_lock lock(mutex_);
  for (EventBacklog::Told& one : told) backlog_.add(std::move(one));
  return any;
}

EventHub::Served EventHub::serve() {
  const std::scoped_lock lock(mutex_);
  Served served;
  std::size_t room = options_.round_bytes;
  // Who has nothing to read, one after the other: all of them is all.
  for (std::size_t quiet = 0; quiet < listeners_.size();) {
    if (next_ >= listeners_.size()) next_ = 0;
    const Turn turn = serve(listeners_[next_], room);
    if (turn == Turn::over) {
      forget_listener(next_);
      continue;
    }
    ++next_;
    if (turn == Turn::waits) served.waits = true;
    quiet = turn == Turn::written ? 0 : quiet + 1;
    if (room == 0) {
      served.is_behind = true;
      break;
    }
  }
  std::uint64_t read_by_all = backlog_.end();
  for (const Listener& listener : listeners_) read_by_all = std::min(read_by_all, listener.at);
  backlog_.forget_before(read_by_all);
  return served;
}

EventHub::Turn EventHub::serve(Listener& listener, std::size_t& room) {
  Stream& stream = *listener.stream;
  if (stream.is_over()) return Turn::over;
  if (listener.at == backlog_.end()) return Turn::quiet;
  const bool is_full = stream.unsent() >= unsent_share();
  std::string text;
  if (listener.at < backlog_.first()) {
    if (is_full) {
      stream.cut();
      return Turn::over;
    }
    text = lost_text(last_at_);
    listener.at = backlog_.first();
  }
  if (is_full) return Turn::waits;
  const EventBacklog::Piece& piece = piece_for(listener);
  const std::size_t looked_at = piece.to - listener.at;
  listener.at = piece.to;
  text += piece.text;
  const std::size_t cost = looked_at * kLookCost + (text.empty() ? 0 : text.size() + kWriteCost);
  room -= std::min(room, cost);
  return stream.write(std::move(text)) ? Turn::written : Turn::over;
}

const EventBacklog::Piece& EventHub::piece_for(const Listener& listener) {
  Audience& audience = *listener.audience;
  EventBacklog::Piece& piece = audience.piece;
  // One that ended where the backlog did may be longer by now.
  const bool is_known = piece.from == listener.at && piece.to > piece.from && piece.to < backlog_.end();
  if (!is_known) {
    piece = backlog_.read(listener.at, {.bytes = kPieceBytes, .entries = kPieceEntries},
                          [&](std::string_view tenant) { return audience.may_see(tenant); });
  }
  return piece;
}

std::size_t EventHub::unsent_share() const {
  return std::min(options_.unsent_of_stream, options_.unsent_bytes / std::max<std::size_t>(listeners_.size(), 1));
}

}  // namespace carillon::server
