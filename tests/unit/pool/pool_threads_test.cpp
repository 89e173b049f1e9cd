// The niceness of the pool's threads while they run a work.
#include "unit/pool/pool_support.hpp"

#include <sys/resource.h>

#include <vector>

namespace pool_threads_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

int niceness_here() { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); }

TEST(pool_threads, have_the_niceness_of_what_they_run) {
  if (geteuid() != 0) GTEST_SKIP() << "a niceness can only be taken back with a privilege";
  thread_pool p({.max_threads = 1, .nice = 2});
  std::vector<int> seen;
  auto outer = p.submit(
      [&] {
        seen.push_back(niceness_here());
        auto inner = p.submit([&] { seen.push_back(niceness_here()); }, {.nice = 7});
        inner.wait();  // runs it on this thread
        seen.push_back(niceness_here());
      },
      {.nice = 5});
  outer.wait();
  p.submit([&] { seen.push_back(niceness_here()); }).wait();
  EXPECT_EQ(seen, (std::vector{5, 7, 5, 2}));
}

TEST(pool_threads, a_helping_waiter_keeps_its_own_niceness) {
  thread_pool p({.max_threads = 1});
  const blocker busy(p);
  const int usual = niceness_here();
  int seen = -100;
  auto w = p.submit([&] { seen = niceness_here(); }, {.nice = usual + 3});
  w.wait(help);
  EXPECT_EQ(seen, usual);
}

}  // namespace
}  // namespace pool_threads_test
