// The internals of groups: which waiters are told that a member has left.
#include "pool/pool_core.hpp"
#include "unit/pool/pool_support.hpp"

#include <new>

namespace rota::pool::detail::groups_test {
namespace {

using namespace rota::pool::test;

/// A pool_core without thread_pool.
class bare_pool {
 public:
  explicit bare_pool(pool_options how) : core_(new pool_core(std::move(how))) {}
  bare_pool(const bare_pool&) = delete;
  bare_pool& operator=(const bare_pool&) = delete;
  ~bare_pool() {
    static_cast<void>(core_->shut_down(0s));
    core_->let_go();
  }
  pool_core& operator*() { return *core_; }

  /// The caller owns a reference to the returned work.
  template <class F>
  work_core& submit(F f, const work_options& how) {
    const draft place = draw(*core_, call_body<F>::type, &how);
    ::new (place.body) call_body<F>(std::move(f));
    return enter(place, &how);
  }

 private:
  pool_core* core_;
};

void wait_for(work_core& w) {
  static_cast<void>(w.pool->wait(w, base::never));
  w.pool->drop(w);
}

// The end of a work raises the count of a group, and so wakes, only if a thread waits for that group.
TEST(groups, the_end_of_a_job_notifies_only_groups_that_have_a_waiter) {
  bare_pool p({.max_threads = 1});
  groups& all = (*p).circles;
  all.relate("high", "low");
  group_core& high = all.at("high");
  group_core& low = all.at("low");
  // relaxed: each end that is counted happens before the read.
  const auto told = [&] {
    return std::pair(high.left.load(base::order::relaxed), low.left.load(base::order::relaxed));
  };
  for (int i = 0; i < 3; ++i) wait_for(p.submit([] {}, {.group = "low"}));
  EXPECT_EQ(told(), std::pair(0U, 0U));

  gate go;
  work_core& held = p.submit([&] { go.pass(); }, {.group = "low"});
  sleeper waits([&] { EXPECT_TRUE(all.wait("high", base::never)); });
  waits.until_asleep();
  go.open();
  waits.join();
  EXPECT_EQ(told(), std::pair(1U, 0U));
  wait_for(held);

  wait_for(p.submit([] {}, {.group = "low"}));
  EXPECT_EQ(told(), std::pair(1U, 0U)) << "who waited has gone";
}

}  // namespace
}  // namespace rota::pool::detail::groups_test
