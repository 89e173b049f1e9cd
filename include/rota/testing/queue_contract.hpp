// Does a queue of one's own keep what a pool asks of it? For tests, with any framework.
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
  std::uint32_t steps = 20'000;  // calls in random order, beside those that are always the same
  bool by_priority = true;       // false: it gives out works in an order of its own, and that is meant
};

struct queue_report {
  std::vector<std::string>
      faults;  // a sentence for each kind of fault, with the first example; empty: all is well
};

/// All faults, a line each.
[[nodiscard]] ROTA_API std::string to_string(const queue_report& report);

/// Tries what pool::queue_of_works asks: that works come out once, as they were put in, by get(), steal() and discard(), the larger
/// priority first and the lowest lost, for all ints; that an empty queue gives nothing and one that is not gives something; that
/// size() is right, that an emptied queue can be filled again, that two queues have nothing in common, and that nothing throws.
///
/// Threads       The caller's; the queues are used by nobody else.
/// Ordering      The same seed makes the same calls.
/// Failure       report.faults. Throws std::bad_alloc, and what the queue's constructor throws. A queue that does not return hangs.
/// Cost          A few thousand calls, and `steps`; some hundred works are in at once.
/// Example       examples/custom_queue.cpp
[[nodiscard]] ROTA_API queue_report check_queue(const pool::custom_queue& kind,
                                                const queue_contract& how = {});

template <pool::queue_of_works Q>
[[nodiscard]] queue_report check_queue(const queue_contract& how = {}) {
  return check_queue(pool::custom_queue::of<Q>(), how);
}

}  // namespace rota::testing
