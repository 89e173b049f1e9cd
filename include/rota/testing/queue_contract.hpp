// check_queue() tests whether a custom queue fulfils the contract of a pool. It works with any test
// framework.
//
//   const auto report = rota::testing::check_queue<my_queue>();
//   EXPECT_TRUE(report.faults.empty()) << to_string(report);
#pragma once

#include <rota/detail/config.hpp>
#include <rota/pool/custom_queue.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rota::testing {

struct queue_contract {
  std::uint64_t seed = 1;
  std::uint32_t steps = 20'000;  // calls in random order, in addition to a fixed set of calls
  bool by_priority = true;       // false: the queue returns works in an order of its own on purpose
};

struct queue_report {
  std::vector<std::string>
      faults;  // one sentence for each kind of fault, with the first example; empty: no fault
};

/// Returns all faults, one on each line.
[[nodiscard]] ROTA_API std::string to_string(const queue_report& report);

/// Tests the contract of pool::queue_of_works. Each work comes out once, unchanged, by get(), steal() or
/// discard(); the largest priority comes out first and the lowest is discarded first, for all ints. An empty
/// queue returns nothing, and a non-empty queue returns something. size() is right, an emptied queue can be
/// filled again, two queues share nothing, and nothing throws.
///
/// Threads       The caller's. No other thread uses the queues.
/// Ordering      The same seed makes the same calls.
/// Failure       report.faults. Throws std::bad_alloc, and exceptions of the constructor of the queue. A
///               queue that does not return hangs the test.
/// Cost          A few thousand calls, and `steps`; at most some hundred works are in the queue at once.
/// Example       examples/custom_queue.cpp
[[nodiscard]] ROTA_API queue_report check_queue(const pool::custom_queue& kind,
                                                const queue_contract& how = {});

template <pool::queue_of_works Q>
[[nodiscard]] queue_report check_queue(const queue_contract& how = {}) {
  return check_queue(pool::custom_queue::of<Q>(), how);
}

}  // namespace rota::testing
