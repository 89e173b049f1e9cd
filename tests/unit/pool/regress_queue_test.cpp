// Custom queues that break their contract, below a pool: accepted works run nevertheless.
#include "unit/pool/pool_support.hpp"
#include "unit/pool/user_queues.hpp"

namespace regress_queue_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

struct throws_at_thieves : sorted_deque {
  maybe_work steal() {
    if (size() != 0) throw std::runtime_error("not now");
    return std::nullopt;
  }
};
struct hides_from_thieves : sorted_deque {
  static maybe_work steal() { return std::nullopt; }
};

// While a pool has one thread works go to that thread's queue. A thread that comes later can only steal them.
template <class Q>
void run_behind_a_busy_thread() {
  thread_pool p({.max_threads = 2, .custom = custom_queue::of<Q>()});
  const blocker busy(p);
  EXPECT_EQ(p.submit([] { return 7; }).fetch().value(), 7);
}

TEST(regress_queue, jobs_run_if_steal_of_a_custom_queue_throws) {
  run_behind_a_busy_thread<throws_at_thieves>();
}
TEST(regress_queue, jobs_run_if_steal_of_a_custom_queue_returns_nothing) {
  run_behind_a_busy_thread<hides_from_thieves>();
}

}  // namespace
}  // namespace regress_queue_test
