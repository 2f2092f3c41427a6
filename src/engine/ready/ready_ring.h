// Turns in a circle: the front is next; who has had its turn goes to the back, and who comes anew stands there too.
// The items carry the links, so that leaving from the middle costs nothing.
#pragma once

#include "base/check.h"

namespace carillon {

template <typename Item>
struct RingLinks {
  Item* before = nullptr;
  Item* after = nullptr;  // null: in no ring
};

// Item has a member `links`. The items must stay where they are while they stand in a ring.
template <typename Item>
class ReadyRing {
 public:
  bool empty() const { return front_ == nullptr; }
  Item& front() const { return *front_; }
  static bool contains(const Item& item) { return item.links.after != nullptr; }

  void push_back(Item& item) {
    CHECK(!contains(item));
    if (front_ == nullptr) {
      item.links = {.before = &item, .after = &item};
      front_ = &item;
      return;
    }
    Item* const last = front_->links.before;
    item.links = {.before = last, .after = front_};
    last->links.after = &item;
    front_->links.before = &item;
  }

  void erase(Item& item) {
    CHECK(contains(item));
    Item* const after = item.links.after;
    Item* const before = item.links.before;
    if (front_ == &item) front_ = after == &item ? nullptr : after;
    before->links.after = after;
    after->links.before = before;
    item.links = {};
  }

  // Whoever stands in it already comes first now.
  void bring_forward(Item& item) {
    if (front_ == &item) return;
    erase(item);
    push_back(item);
    front_ = &item;
  }

  // The front goes to the back.
  void rotate() { front_ = front_->links.after; }

 private:
  Item* front_ = nullptr;
};

}  // namespace carillon
