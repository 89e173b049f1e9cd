// Reading, writing, replacing and copying whole files.
#include "unit/fs/fs_support.hpp"

#include <rota/fs/whole_file.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace rota::fs::whole_file_test {
namespace {

using test::as_bytes_of;
using test::as_text;
using test::content_of;
using test::fails;
using test::gives;
using test::must;
using test::numbered;

class fs_whole : public test::fs_test {
 protected:
  [[nodiscard]] std::size_t names() const { return test::entries_of(folder.root().c_str()); }
};

unsigned mode_of(const std::string& path) {
  struct stat s{};
  EXPECT_EQ(::stat(path.c_str(), &s), 0);
  return s.st_mode & 07777U;
}

TEST_F(fs_whole, written_content_is_read_back) {
  const std::string large = numbered(3'000'000);
  run_it([&]() -> task<void> {
    must(co_await fs::write(at("t"), "text"));
    co_await gives(read_to_string(at("t")), "text");
    must(co_await fs::write(at("t"), as_bytes_of("")));
    co_await gives(read_to_string(at("t")), "");
    must(co_await append(at("t"), "one "));
    must(co_await append(at("t"), as_bytes_of("two")));
    co_await gives(read_to_string(at("t")), "one two");
    must(co_await append(at("new"), "n"));
    co_await gives(read_to_string(at("new")), "n");
    must(co_await fs::write(at("large"), as_bytes_of(large)));
    const std::vector<std::byte> got = must(co_await fs::read(at("large")));
    EXPECT_TRUE(as_text(got) == large);
    const std::string proc = must(co_await read_to_string("/proc/self/status"));
    EXPECT_TRUE(proc.starts_with("Name:")) << "which says that it has no bytes";
    co_await gives(read_to_string("/dev/null"), "");
  });
}

TEST_F(fs_whole, read_limit_is_exact) {
  folder.write("f", "0123456789");
  run_it([&]() -> task<void> {
    co_await gives(read_to_string(at("f"), 10), "0123456789");
    const auto longer = co_await read_to_string(at("f"), 9);
    EXPECT_EQ(longer.error(), errc::too_long);
    const auto without_end = co_await fs::read("/dev/zero", 1'000'000);
    EXPECT_EQ(without_end.error(), errc::too_long);
    const auto some = co_await fs::read("/proc/self/status", 3);
    EXPECT_EQ(some.error(), errc::too_long);
  });
}

TEST_F(fs_whole, errors_of_reads_writes_and_copies_are_returned) {
  run_it([&]() -> task<void> {
    co_await fails(fs::read(at("g")), ENOENT);
    co_await fails(fs::read(folder.root()), EISDIR);
    co_await fails(fs::write(folder.root(), "x"), EISDIR);
    co_await fails(fs::write("/dev/full", "x"), ENOSPC);
    co_await fails(append(at("d/f"), "x"), ENOENT);
    const std::string bad("x\0y", 3);
    co_await fails(fs::read(bad), EINVAL);
    co_await fails(fs::write(bad, "x"), EINVAL);
    co_await fails(append(bad, "x"), EINVAL);
    co_await fails(write_atomically(bad, "x"), EINVAL);
    co_await fails(fs::copy(bad, at("x")), EINVAL);
    co_await fails(fs::copy(at("x"), bad), EINVAL);
  });
}

TEST_F(fs_whole, replaced_file_keeps_its_mode_and_leaves_no_temporary_file) {
  folder.write("f", "before");
  ::chmod(at("f").c_str(), 0640);
  const mode_t before = ::umask(027);
  run_it([&]() -> task<void> {
    must(co_await write_atomically(at("f"), "after"));
    must(co_await write_atomically(at("new"), "new"));
    atomic_options how;
    how.mode = 0604;
    how.synced = false;
    must(co_await write_atomically(at("f2"), as_bytes_of("with a mode"), how));
    how.mode = 010000;
    co_await fails(write_atomically(at("f3"), as_bytes_of("x"), how), EINVAL);
    must(co_await write_atomically(at(std::string(255, 'l')), "a long name"));
  });
  ::umask(before);
  EXPECT_EQ(content_of(at("f")), "after");
  EXPECT_EQ(mode_of(at("f")), 0640U);
  EXPECT_EQ(mode_of(at("new")), 0640U);
  EXPECT_EQ(mode_of(at("f2")), 0604U);
  EXPECT_EQ(names(), 4U);
}

// The new file may have another owner. A requested mode is set after the last write, which clears these bits.
TEST_F(fs_whole, replaced_file_keeps_setuid_and_setgid_bits_only_if_asked) {
  folder.write("old", "before");
  ::chmod(at("old").c_str(), 06755);
  run_it([&]() -> task<void> {
    must(co_await write_atomically(at("old"), "after"));
    atomic_options how;
    how.mode = 06711;
    must(co_await write_atomically(at("new"), as_bytes_of("asked"), how));
  });
  EXPECT_EQ(mode_of(at("old")), 0755U);
  EXPECT_EQ(mode_of(at("new")), 06711U);
}

TEST_F(fs_whole, failed_replacement_leaves_the_target_unchanged) {
  folder.write("d/inside", "x");
  folder.write("target", "t");
  std::filesystem::create_symlink("target", at("s"));
  run_it([&]() -> task<void> {
    co_await fails(write_atomically(at("d"), "x"), EISDIR);
    co_await fails(write_atomically(at("x/y"), "x"), ENOENT);
    co_await fails(write_atomically(at("."), "x"), EINVAL);
    co_await fails(write_atomically(at("d/.."), "x"), EINVAL);
    co_await fails(write_atomically("/", "x"), EINVAL);
    co_await fails(write_atomically("", "x"), EINVAL);
    must(co_await write_atomically(at("s"), "a file now"));
  });
  EXPECT_EQ(content_of(at("target")), "t");
  EXPECT_EQ(content_of(at("s")), "a file now");
  EXPECT_FALSE(std::filesystem::is_symlink(at("s")));
  EXPECT_EQ(names(), 3U);
}

/// A concurrent reader sees the old or the new content. A cancellation leaves one of them, and no other file.
TEST_F(fs_whole, a_replacement_is_never_seen_in_part) {
  const std::string a(100'000, 'a');
  const std::string b(100'000, 'b');
  folder.write("f", a);
  runtime rt(test::with_workers(2));
  std::atomic<bool> done{false};
  const auto looks = [&]() -> task<void> {
    while (!done) {
      const std::string seen = must(co_await read_to_string(at("f")));
      EXPECT_TRUE(seen == a || seen == b) << seen.size();
    }
  };
  join_handle<void> reader = rt.spawn(looks);
  for (int i = 0; i < 200; ++i) {
    const auto replaces = [&](const std::string& by) -> task<void> {
      atomic_options how;
      how.synced = false;
      static_cast<void>(co_await write_atomically(at("f"), as_bytes_of(by), how));
    };
    join_handle<void> h = rt.spawn([&] { return replaces(i % 2 == 0 ? b : a); });
    if (i % 3 != 0) std::this_thread::yield();
    if (i % 4 != 0) h.cancel();
    rt.block_on([&]() -> task<void> { static_cast<void>(co_await h.result()); });
  }
  done = true;
  reader.join();
  EXPECT_EQ(names(), 1U);
}

TEST_F(fs_whole, a_copy_has_the_bytes_and_the_permissions) {
  const std::string bytes = numbered(1'000'000);
  folder.write("f", bytes);
  ::chmod(at("f").c_str(), 04751);
  folder.write("old", std::string(2'000'000, 'o'));
  folder.write("empty", "");
  run_it([&]() -> task<void> {
    co_await gives(fs::copy(at("f"), at("g")), bytes.size());
    co_await gives(fs::copy(at("f"), at("old")), bytes.size());
    co_await gives(fs::copy(at("empty"), at("e")), 0U);
    const std::uint64_t of_proc = must(co_await fs::copy("/proc/self/status", at("proc")));
    EXPECT_GT(of_proc, 100U) << "another file system, and one that says nothing of its size";
  });
  EXPECT_TRUE(content_of(at("g")) == bytes);
  EXPECT_TRUE(content_of(at("old")) == bytes);
  EXPECT_EQ(mode_of(at("g")), 0751U);
  EXPECT_EQ(content_of(at("proc")).substr(0, 5), "Name:");
}

TEST_F(fs_whole, a_file_is_not_copied_onto_itself_under_any_name) {
  folder.write("f", "content");
  std::filesystem::create_hard_link(at("f"), at("h"));
  std::filesystem::create_symlink("f", at("s"));
  ::mkfifo(at("fifo").c_str(), 0600);
  run_it([&]() -> task<void> {
    co_await fails(fs::copy(at("f"), at("f")), EINVAL);
    co_await fails(fs::copy(at("f"), at("h")), EINVAL);
    co_await fails(fs::copy(at("s"), at("f")), EINVAL);
    co_await fails(fs::copy(at("fifo"), at("x")), EINVAL);
    co_await fails(fs::copy(folder.root(), at("x")), EISDIR);
    co_await fails(fs::copy(at("f"), folder.root()), EISDIR);
    co_await fails(fs::copy(at("f"), "/dev/full"), ENOSPC);
  });
  EXPECT_EQ(content_of(at("f")), "content");
  EXPECT_FALSE(std::filesystem::exists(at("x")));
}

/// open(2) would wait for the other side, and could not be cancelled.
TEST_F(fs_whole, a_fifo_without_another_side_is_not_waited_for) {
  folder.write("f", "content");
  ::mkfifo(at("fifo").c_str(), 0600);
  run_it([&]() -> task<void> {
    co_await gives(read_to_string(at("fifo")), "");
    co_await fails(fs::write(at("fifo"), "x"), ENXIO);
    co_await fails(append(at("fifo"), "x"), ENXIO);
    co_await fails(fs::copy(at("f"), at("fifo")), ENXIO);
    const file reads = must(co_await open_options().read().custom_flags(O_NONBLOCK).open(at("fifo")));
    co_await fails(fs::copy(at("f"), at("fifo")), EINVAL);
  });
}

/// Holds a lease until the kernel asks for it back. An open(2) with O_NONBLOCK fails with EAGAIN meanwhile.
class lease {
 public:
  explicit lease(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (::fcntl(fd_, F_SETLEASE, F_RDLCK) != 0) return;
    holds_ = std::thread([this] {
      while (::fcntl(fd_, F_GETLEASE) == F_RDLCK) std::this_thread::yield();
      ::fcntl(fd_, F_SETLEASE, F_UNLCK);
    });
  }
  lease(const lease&) = delete;
  lease& operator=(const lease&) = delete;
  ~lease() {
    if (holds_.joinable()) holds_.join();
    ::close(fd_);
  }
  [[nodiscard]] bool is_held() const { return holds_.joinable(); }

 private:
  int fd_;
  std::thread holds_;
};

TEST_F(fs_whole, write_waits_until_a_file_lease_is_released) {
  folder.write("f", "content");
  folder.write("g", "more");
  auto* const before = ::signal(SIGIO, SIG_IGN);
  bool are_there = true;
  run_it([&]() -> task<void> {
    {
      const lease held(at("f"));
      are_there = held.is_held();
      if (!are_there) co_return;
      must(co_await append(at("f"), "!"));
    }
    const lease held(at("f"));
    EXPECT_TRUE(held.is_held());
    const std::uint64_t copied = must(co_await fs::copy(at("g"), at("f")));
    EXPECT_EQ(copied, 4U);
  });
  ::signal(SIGIO, before);
  if (!are_there) GTEST_SKIP() << "no leases here";
  EXPECT_EQ(content_of(at("f")), "more");
}

TEST_F(fs_whole, fifo_is_read_to_its_end_and_written_as_space_allows) {
  const std::string bytes = numbered(1'000'000);
  ::mkfifo(at("fifo").c_str(), 0600);
  run_it([&]() -> task<void> {
    // Keeps both sides open, so that the writer and the reader may start in any order.
    file both = must(co_await open_options().read().write().custom_flags(O_NONBLOCK).open(at("fifo")));
    std::atomic<bool> written{false};
    const auto writes = [&]() -> task<void> {
      must(co_await fs::write(at("fifo"), as_bytes_of(bytes)));
      written = true;
    };
    const auto ends = [&]() -> task<void> {
      while (!written) co_await yield();
      must(co_await std::move(both).close());
    };
    const auto reads = [&]() -> task<void> {
      const std::string got = must(co_await read_to_string(at("fifo")));
      EXPECT_TRUE(got == bytes);
    };
    co_await when_all(writes(), ends(), reads());
  });
}

TEST_F(fs_whole, wait_for_a_fifo_can_be_cancelled) {
  ::mkfifo(at("fifo").c_str(), 0600);
  run_it([&]() -> task<void> {
    const file both = must(co_await open_options().read().write().custom_flags(O_NONBLOCK).open(at("fifo")));
    const auto read_in_time = co_await timeout(std::chrono::milliseconds(1), read_to_string(at("fifo")));
    EXPECT_FALSE(read_in_time.has_value());
    const auto written_in_time =
        co_await timeout(std::chrono::milliseconds(1), fs::write(at("fifo"), std::string(1'000'000, 'x')));
    EXPECT_FALSE(written_in_time.has_value());
  });
}

TEST_F(fs_whole, sparse_file_is_read_as_zeroes_and_the_limit_bounds_memory) {
  run_it([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    must(co_await f.set_len(std::uint64_t{1} << 42U));
    const auto limited = co_await fs::read(at("f"), 1000);
    EXPECT_EQ(limited.error(), errc::too_long);
    must(co_await f.set_len(100'000));
    const std::string zeroes = must(co_await read_to_string(at("f")));
    EXPECT_TRUE(zeroes == std::string(100'000, '\0'));
  });
}

}  // namespace
}  // namespace rota::fs::whole_file_test
