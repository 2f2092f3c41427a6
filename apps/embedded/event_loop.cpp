#include "event_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

EventLoop::EventLoop() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
EventLoop::~EventLoop() { close(wake_); }

void EventLoop::post(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    posted_.push_back(std::move(work));
  }
  eventfd_write(wake_, 1);
}

void EventLoop::run() {
  while (!quit_) {
    pollfd waiting{.fd = wake_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, -1) < 0) continue;
    eventfd_t rings = 0;
    eventfd_read(wake_, &rings);
    std::deque<std::function<void()>> work;
    {
      const std::scoped_lock lock(mutex_);
      work.swap(posted_);
    }
    for (const auto& one : work) one();
  }
}
