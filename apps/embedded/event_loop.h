// A host's own loop: one thread that sleeps in poll() and runs what others have posted, in order.
#pragma once

#include <deque>
#include <functional>
#include <mutex>

class EventLoop {
 public:
  EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  // From any thread.
  void post(std::function<void()> work);

  // Until quit().
  void run();
  // From the loop's own thread.
  void quit() { quit_ = true; }

 private:
  int wake_;  // an eventfd; a real loop polls its sockets beside it
  bool quit_ = false;
  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;
};
