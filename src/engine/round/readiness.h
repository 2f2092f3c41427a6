// How far a node is: what it has read, and whether jobs may start.
#pragma once

#include "engine/pulls/adopted_leases.h"
#include "engine/ready/loader.h"

namespace carillon {

class Readiness {
 public:
  Readiness(const Loader& loader, const AdoptedLeases& adopted) : loader_(loader), adopted_(adopted) {}

  // All by which calls and claims are judged has been read.
  bool knows_rules() const { return loader_.has_rules() && adopted_.are_known(); }
  // All that is due is in memory.
  bool is_loaded() const { return loader_.is_done(); }

  bool is_open() const { return open_; }
  bool is_draining() const { return draining_; }
  void open() { open_ = true; }
  void begin_drain() {
    open_ = false;
    draining_ = true;
  }

 private:
  const Loader& loader_;
  const AdoptedLeases& adopted_;
  bool open_ = false;
  bool draining_ = false;
};

}  // namespace carillon
