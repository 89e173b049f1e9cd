// A test's way into a ring: its words, and the three phases of a steal one by one.
#pragma once

#include "queue/ring.hpp"

#include <cstdint>

namespace rota::queue {

struct ring_test_access {
  template <class Thief>
  static auto claim(Thief& thief, std::uint32_t most) {
    return thief.claim(most);
  }
  template <class Thief, class Claimed, class Owner>
  static auto copy(Thief& thief, Claimed claimed, Owner& mine) {
    return thief.copy(claimed, mine);
  }
  template <class Thief>
  static void release(Thief& thief) {
    thief.release();
  }
  template <class Ring>
  static ring_head head(const Ring& ring) {
    return ring_head::of(ring.head_.load(base::order::relaxed));
  }
  template <class Ring>
  static std::uint32_t tail(const Ring& ring) {
    return ring.tail_.load(base::order::relaxed);
  }
};

}  // namespace rota::queue
