// The memory of a pool after a peak: it is given back, what was kept is found, and ids go on.
#include "unit/pool/pool_support.hpp"

#include "pool/absence.hpp"
#include "pool/pool_core.hpp"

#include <optional>
#include <unordered_set>

namespace work_memory_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

constexpr int peak = 100'000;
/// What stays: the segments that are kept, and those of the slots that this thread and that of the pool keep.
constexpr std::uint32_t small = pool::detail::slots::kept_segments + 2 * 128U;

pool::detail::slots& memory_of(thread_pool& p) {
  pool::detail::slots* found = nullptr;
  p.submit([&found] { found = &pool::detail::work_here()->pool->memory; }).wait();
  return *found;
}

/// A pool whose one thread is busy until let_go(), with `peak` works behind.
class crowd {
 public:
  explicit crowd(thread_pool& p, std::atomic<int>& ran) : busy_(p) {
    for (int i = 0; i != peak; ++i) {
      const work<void> w = p.submit([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
      if (i % 1'000 == 0) some.push_back(w.id());
    }
  }
  void let_go() { busy_.let_go(); }
  std::vector<work_id> some;

 private:
  blocker busy_;
};

TEST(work_memory, is_given_back_after_a_peak) {
  thread_pool p({.max_threads = 1});
  pool::detail::slots& memory = memory_of(p);
  std::atomic<int> ran = 0;
  for (int round = 1; round <= 3; ++round) {
    {
      crowd many(p, ran);
      EXPECT_GE(memory.segments_held(), peak / pool::detail::slots::segment_slots);
      many.let_go();
      p.wait_idle();
    }
    EXPECT_EQ(ran, round * peak);
    EXPECT_LE(memory.segments_held(), small);
  }
}

TEST(work_memory, an_id_stays_known_and_leads_nowhere_when_its_memory_is_given_back) {
  thread_pool p({.max_threads = 1});
  std::atomic<int> ran = 0;
  std::unordered_set<std::uint64_t> ids;
  for (int round = 0; round != 2; ++round) {
    std::vector<work_id> old;
    {
      crowd many(p, ran);
      old = many.some;
      many.let_go();
      p.wait_idle();
    }
    for (const work_id id : old) {
      EXPECT_TRUE(ids.insert(id.value).second) << "an id is given out once";
      EXPECT_FALSE(p.wait(id)) << "it is over, and forgotten";
      EXPECT_FALSE(p.cancel(id));
    }
    EXPECT_EQ(p.submit([] { return 5; }, {.after = old}).fetch().value(), 5) << "each was given out";
  }
  expect_idle(p);
}

TEST(work_memory, what_is_kept_by_a_handle_stays_where_it_is) {
  thread_pool p({.max_threads = 1});
  pool::detail::slots& memory = memory_of(p);
  std::atomic<int> ran = 0;
  std::vector<work<int>> kept;
  {
    const blocker busy(p);
    for (int i = 0; i != peak; ++i) {
      auto w = p.submit([i, &ran] {
        ran.fetch_add(1, std::memory_order_relaxed);
        return i;
      });
      if (i % 10'000 == 0) kept.push_back(std::move(w));
    }
  }
  p.wait_idle();
  EXPECT_LE(memory.segments_held(), small + kept.size());
  for (int i = 0; i != static_cast<int>(kept.size()); ++i)
    EXPECT_EQ(kept[static_cast<std::size_t>(i)].fetch().value(), i * 10'000);
}

}  // namespace
}  // namespace work_memory_test
