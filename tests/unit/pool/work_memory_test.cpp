// The memory of a pool after a peak: it is freed, stored results are still found, and ids continue.
#include "unit/pool/pool_support.hpp"

#include "pool/absence.hpp"
#include "pool/pool_core.hpp"

#include <unistd.h>
#include <fstream>
#include <optional>
#include <unordered_set>

namespace work_memory_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif

namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

constexpr int peak = 100'000;
/// What stays: the kept segments, and the slots in the caches of this thread and of the pool's thread.
constexpr std::uint32_t small = pool::detail::slots::kept_segments + 2 * 128U;

pool::detail::slots& memory_of(thread_pool& p) {
  pool::detail::slots* found = nullptr;
  p.submit([&found] { found = &pool::detail::work_here()->pool->memory; }).wait();
  return *found;
}

/// A pool with one thread that is busy until let_go(), and `peak` queued works.
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

/// Returns the resident pages of this process.
std::size_t resident_pages() {
  std::ifstream in("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  in >> all >> resident;
  return resident;
}

TEST(work_memory, goes_back_to_the_system) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer has memory of its own beside it";
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::size_t segment_bytes = pool::detail::slots::segment_slots * sizeof(pool::detail::work_core);
  if (segment_bytes % page != 0) GTEST_SKIP() << "pages of " << page << " bytes";
  thread_pool p({.max_threads = 1});
  std::atomic<int> ran = 0;
  std::size_t at_peak = 0;
  {
    crowd many(p, ran);
    at_peak = resident_pages();
    many.let_go();
    p.wait_idle();
  }
  const std::size_t given = peak / pool::detail::slots::segment_slots - small;
  EXPECT_LE(resident_pages() + given * segment_bytes / page / 2, at_peak) << "half of it, at least";
}

TEST(work_memory, segment_without_whole_pages_is_not_returned) {
  using pool::detail::has_whole_pages;
  EXPECT_TRUE(has_whole_pages(24'576, 24'576, 4'096));
  EXPECT_FALSE(has_whole_pages(24'576, 24'576, 16'384)) << "neither end is at a page's";
  EXPECT_FALSE(has_whole_pages(49'152, 24'576, 16'384)) << "the next segment begins in the last page";
  EXPECT_FALSE(has_whole_pages(4'096, 65'536, 65'536)) << "the segment before ends in the first page";
  EXPECT_TRUE(has_whole_pages(65'536, 65'536, 65'536));
}

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

TEST(work_memory, id_stays_known_but_finds_no_job_after_its_memory_is_freed) {
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

TEST(work_memory, result_kept_by_a_handle_stays_valid_after_a_peak) {
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
