#pragma once

#include <latch>

namespace rota::gate {

/// Holds a handler until the test opens it.
class door {
 public:
  void open() { opened_.count_down(); }
  void pass() {
    entered_.count_down();
    opened_.wait();
  }
  void wait_for_somebody() { entered_.wait(); }

 private:
  std::latch entered_{1};
  std::latch opened_{1};
};

}  // namespace rota::gate
