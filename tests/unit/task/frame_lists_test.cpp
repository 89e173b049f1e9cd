// Free frames: a thread's own lists, the depot between threads, and what returns to the heap.
#include "base/frame_allocator.hpp"
#include "unit/task/counting_new.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <thread>
#include <vector>

namespace rota::base::frame_lists_test {
namespace {

using test::allocations;

std::vector<void*> take(std::size_t count, std::size_t bytes) {
  std::vector<void*> frames;
  frames.reserve(count);
  allocations::reset();
  for (std::size_t i = 0; i < count; ++i) frames.push_back(allocate_frame(bytes));
  return frames;
}

void give(const std::vector<void*>& frames, std::size_t bytes) {
  for (void* const frame : frames) free_frame(frame, bytes);
}

class frame_lists_of_a_thread : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ROTA_DETAIL_INLINE_FRAMES) GTEST_SKIP() << "a sanitizer's build keeps no free frames";
    trim_frames();
  }
};

TEST_F(frame_lists_of_a_thread, the_last_frame_freed_is_the_next_one_taken) {
  const std::vector<void*> frames = take(3, 640);
  give(frames, 640);
  const std::vector<void*> again = take(3, 640 - 31);
  EXPECT_EQ(allocations::made(), 0U);
  EXPECT_EQ(again[0], frames[2]);
  EXPECT_EQ(again[2], frames[0]);
  give(again, 640);
}

TEST_F(frame_lists_of_a_thread, large_frames_come_from_the_heap) {
  const std::vector<void*> frames = take(3, 2049);
  EXPECT_EQ(allocations::made(), 3U);
  allocations::reset();
  give(frames, 2049);
  EXPECT_EQ(allocations::freed(), 3U);
}

// A class of 1600 bytes: a thread keeps 40, a batch is 20, and the depot has room for four.
TEST_F(frame_lists_of_a_thread, frames_freed_by_one_thread_are_reused_by_another_in_batches) {
  const std::vector<void*> frames = take(200, 1600);
  std::size_t freed_by_it = 0;
  std::thread([&] {
    allocations::reset();
    give(frames, 1600);
    freed_by_it = allocations::freed();
  }).join();
  EXPECT_EQ(freed_by_it, 200U - 40 - 80) << "40 are its own until it ends, 80 are in the depot";
  const std::vector<void*> again = take(81, 1600);
  EXPECT_EQ(allocations::made(), 1U);
  give(again, 1600);
}

TEST_F(frame_lists_of_a_thread, trim_frames_returns_the_depot_to_the_heap) {
  const std::vector<void*> frames = take(200, 1504);
  std::thread([&] { give(frames, 1504); }).join();
  allocations::reset();
  trim_frames();
  EXPECT_EQ(allocations::freed(), 4U * 22);
  const std::vector<void*> again = take(1, 1504);
  EXPECT_EQ(allocations::made(), 1U);
  give(again, 1504);
}

TEST_F(frame_lists_of_a_thread, without_lists_all_frames_come_from_the_heap) {
  std::size_t made = 0;
  std::size_t freed = 0;
  std::thread([&] {
    forgo_frame_lists();
    const std::vector<void*> frames = take(5, 320);
    made = allocations::made();
    allocations::reset();
    give(frames, 320);
    freed = allocations::freed();
  }).join();
  EXPECT_EQ(made, 5U);
  EXPECT_EQ(freed, 5U);
}

}  // namespace
}  // namespace rota::base::frame_lists_test
