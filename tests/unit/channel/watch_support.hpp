// Values of a watch that check how they are used.
#pragma once

#include <rota/channel/watch.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>

namespace rota::channel {

/// Not trivially copyable. Copies throw on demand; copies and destructors must run outside of all locks.
struct fussy {
  explicit fussy(int n) : value(n), there(n) { ++alive; }
  fussy(const fussy& other) : value(other.value), there(other.there) {
    core::demand_unguarded();
    if (throws) throw std::runtime_error("no copy");
    ++alive;
  }
  fussy(fussy&& other) noexcept : value(other.value), there(other.there) {
    core::demand_unguarded();
    ++alive;
  }
  fussy& operator=(const fussy&) = default;
  ~fussy() {
    core::demand_unguarded();
    --alive;
  }

  int value;
  int there;  // equals the first value
  static inline std::atomic<int> alive = 0;
  static inline bool throws = false;
};
inline int number_of(const fussy& f) { return f.value; }
inline int number_of(int n) { return n; }

using both = ::testing::Types<int, fussy>;  // stored in words, and in nodes

/// Seven words that must stay consistent.
struct several {
  std::uint64_t of[7] = {};
};
struct several_node : several {
  several_node() = default;
  several_node(const several_node& other) : several(other) {}
  several_node& operator=(const several_node&) = default;
  ~several_node() {}  // NOLINT(modernize-use-equals-default): so that it lies in a node
};
static_assert(detail::lies_in_words<several> && !detail::lies_in_words<several_node>);

using whole = ::testing::Types<several, several_node>;

}  // namespace rota::channel
