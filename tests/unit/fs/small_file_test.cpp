// Small files that are read as a whole and are cached already: read in the task's own thread.
#include "base/sys/files.hpp"
#include "unit/fs/fs_support.hpp"

#include <rota/detail/fs_descriptor.hpp>
#include <rota/error.hpp>
#include <rota/fs/whole_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <span>
#include <string>
#include <thread>

namespace rota::fs::small_file_test {
namespace {

namespace sys = base::sys;
using test::must;
using test::numbered;

/// Returns true if the file can be read in place, which depends on the file system and the kernel.
bool is_for_the_place(const std::string& path) {
  std::uint64_t size = 0;
  const sys::result<int> opened = sys::open_cached(path.c_str(), size);
  if (!opened.has_value()) return false;
  const detail::descriptor file(*opened);
  return test::can_be_read_in_place(file.get());
}

class fs_small : public test::fs_test {
 protected:
  void SetUp() override {
    folder.write("f", numbered(5000));
    if (!is_for_the_place(at("f"))) GTEST_SKIP() << "this file system, or this kernel, cannot be asked";
  }
};

/// The first use of a link updates its access time, which may wait. This link's time is in the future.
TEST_F(fs_small, cached_files_are_read_without_a_blocking_thread) {
  folder.write("most", numbered(65'536));
  std::filesystem::create_symlink("most", at("link"));
  const std::array<timespec, 2> used_and_changed{timespec{.tv_sec = 2'000'000'000, .tv_nsec = 0},
                                                 timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("link").c_str(), used_and_changed.data(), AT_SYMLINK_NOFOLLOW), 0);
  const std::size_t files = test::files_alone();
  {
    runtime rt(test::with_workers(1));
    rt.spawn([&]() -> task<void> {
        for (int i = 0; i < 1000; ++i) {
          const std::string small = must(co_await read_to_string(at("f"), 5000));
          EXPECT_TRUE(small == numbered(5000));
        }
        const std::string most = must(co_await read_to_string(at("link")));
        EXPECT_TRUE(most == numbered(65'536));
      }).join();
    EXPECT_EQ(rt.stats().blocking_threads, 1U) << "a thread was begun";
  }
  EXPECT_EQ(test::files_alone(), files);
}

/// Empty files, too large ones, other types and missing ones: the same result as without the attempt.
TEST_F(fs_small, other_files_give_the_same_result_on_a_blocking_thread) {
  folder.write("none", "");
  folder.write("large", numbered(65'537));
  std::filesystem::create_symlink("nowhere", at("link"));
  run_it([&]() -> task<void> {
    const std::string none = must(co_await read_to_string(at("none")));
    EXPECT_EQ(none, "");
    const std::string large = must(co_await read_to_string(at("large")));
    EXPECT_TRUE(large == numbered(65'537));
    const auto longer = co_await read_to_string(at("f"), 4999);
    EXPECT_EQ(longer.error(), errc::too_long);
    co_await test::fails(fs::read(folder.root()), EISDIR);
    co_await test::fails(fs::read(at("link")), ENOENT);
    co_await test::fails(fs::read(at("f") + "/x"), ENOTDIR);
  });
}

TEST_F(fs_small, only_regular_files_are_opened) {
  std::uint64_t size = 0;
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  for (const std::string& each : {at("fifo"),
                                  folder.root(),
                                  std::string("/dev/null"),
                                  std::string("/dev/tty"),
                                  std::string("/proc/self/status"),
                                  at("not_there")}) {
    const sys::result<int> opened = sys::open_cached(each.c_str(), size);
    EXPECT_FALSE(opened.has_value()) << each;
  }
}

/// The reported size may be outdated: the result is the content at one moment.
TEST_F(fs_small, file_that_grows_and_shrinks_meanwhile_is_read_consistently) {
  const std::string all = numbered(20'000);
  std::atomic<bool> over = false;
  std::thread writer([&] {
    const detail::descriptor file(must(sys::open_file(AT_FDCWD, at("f").c_str(), O_WRONLY, 0)));
    for (std::size_t round = 0; !over; ++round) {
      must(sys::set_length(file.get(), round % 3 * 4096));
      for (std::size_t from = round % 3 * 4096; from < all.size(); from += 1000)
        must(sys::write_at(
            file.get(),
            std::as_bytes(std::span(all)).subspan(from, std::min<std::size_t>(1000, all.size() - from)),
            from));
    }
  });
  runtime rt(test::with_workers(2));
  rt.block_on([&]() -> task<void> {
    for (int i = 0; i < 2000; ++i) {
      const std::string got = must(co_await read_to_string(at("f")));
      EXPECT_TRUE(all.starts_with(got)) << got.size();
    }
  });
  over = true;
  writer.join();
}

}  // namespace
}  // namespace rota::fs::small_file_test
