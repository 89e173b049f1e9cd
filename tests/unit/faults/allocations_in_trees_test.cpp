// Directories and walks without memory: the caller gets bad_alloc, and a repeated call continues.
#include "support/scratch_folder.hpp"
#include "unit/faults/allocation_support.hpp"

#include <rota/fs/directory.hpp>
#include <rota/fs/walk.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rota::fs::allocations_in_trees_test {
namespace {

using test::memory;

/// The nth allocation fails once. Awaits `next()` to the end; counts each failure and calls again.
template <class Entry, class Next>
task<std::size_t> all_of(std::vector<Entry>& into, const Next& next, std::size_t nth) {
  std::size_t failed = 0;
  memory::fail_after(nth, 1);
  for (;;) {
    std::optional<Entry> each;
    bool again = false;
    try {
      auto asking = next();
      each = co_await std::move(asking);
    } catch (const std::bad_alloc&) {
      again = true;
    }
    if (again) {
      failed += memory::stop_failing();
      continue;
    }
    if (!each) break;
    into.push_back(std::move(*each));
  }
  co_return failed + memory::stop_failing();
}

constexpr std::size_t enough = 4096;

TEST(allocations_in_trees, a_walk_gives_everything_once) {
  const test::scratch_folder folder;
  for (int i = 0; i < 12; ++i)
    folder.write(
        "t/d" + std::to_string(i % 3) + "/a_name_that_is_long_enough_for_the_heap/" + std::to_string(i), "");
  runtime rt(test::short_of_memory());
  walk_options how;
  how.sorted = true;
  const auto paths = [&](std::size_t nth, std::size_t& failed) {
    std::vector<walk_entry> got;
    got.reserve(enough);
    walk through(folder.at("t"), how);
    const auto next = [&] { return through.next(); };
    failed = rt.block_on(all_of(got, next, nth));
    std::vector<std::string> all;
    for (const walk_entry& each : got)
      all.push_back(each.path + (each.error ? " " + each.error.message() : ""));
    return all;
  };
  std::size_t failed = 0;
  const auto expected = paths(1'000'000, failed);
  EXPECT_EQ(expected.size(), 1U + 3U + 3U + 12U);
  test::until_clean([&](std::size_t nth) {
    const auto got = paths(nth, failed);
    EXPECT_EQ(got, expected);
    return failed;
  });
}

TEST(allocations_in_trees, skipped_directories_stay_skipped_after_a_failure) {
  const test::scratch_folder folder;
  for (int i = 0; i < 8; ++i) folder.write("t/d" + std::to_string(i) + "/sub/x", "");
  runtime rt(test::short_of_memory());
  walk_options how;
  how.sorted = true;
  test::until_clean([&](std::size_t nth) {
    std::vector<walk_entry> got;
    got.reserve(enough);
    walk through(folder.at("t"), how);
    const auto next = [&]() -> task<std::optional<walk_entry>> {
      auto asking = through.next();
      auto each = co_await std::move(asking);
      if (each && each->depth == 1) through.skip();
      co_return each;
    };
    const std::size_t failed = rt.block_on(all_of(got, next, nth));
    EXPECT_EQ(got.size(), 1U + 8U);
    return failed;
  });
}

TEST(allocations_in_trees, a_directory_gives_every_name_once) {
  const test::scratch_folder folder;
  for (int i = 0; i < 60; ++i)
    folder.write("d/a_name_that_is_long_enough_for_the_heap_" + std::to_string(100 + i), "");
  runtime rt(test::short_of_memory());
  test::until_clean([&](std::size_t nth) {
    std::vector<dir_entry> got;
    got.reserve(enough);
    auto opened = rt.block_on(read_dir(folder.at("d")));
    const auto next = [&]() -> task<std::optional<dir_entry>> {
      auto asking = opened->next();
      auto each = co_await std::move(asking);
      EXPECT_TRUE(each.has_value());
      co_return std::move(*each);
    };
    const std::size_t failed = rt.block_on(all_of(got, next, nth));
    std::sort(got.begin(), got.end(), [](const dir_entry& a, const dir_entry& b) { return a.name < b.name; });
    EXPECT_EQ(got.size(), 60U);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i].name.ends_with(std::to_string(100 + i))) << got[i].name;
    return failed;
  });
}

}  // namespace
}  // namespace rota::fs::allocations_in_trees_test
