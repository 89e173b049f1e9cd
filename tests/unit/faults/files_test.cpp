// Files: system calls that fail, are interrupted or do less than asked. In threads, not on a ring.
#include "support/scratch_folder.hpp"
#include "unit/faults/failing_files.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/fs/directory.hpp>
#include <rota/fs/file.hpp>
#include <rota/fs/paths.hpp>
#include <rota/fs/temporary.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/copy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <source_location>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace rota::files_test {
namespace {

namespace call = test::call;
using test::calls;

template <class T>
T demand(io::result<T> got) {
  if (!got.has_value()) throw std::system_error(got.error());
  if constexpr (!std::is_void_v<T>) return std::move(*got);
}
/// With `error` 0, expects success.
template <class T>
task<> expect_error(task<io::result<T>> work,
                    int error,
                    std::source_location where = std::source_location::current()) {
  const io::result<T> got = co_await std::move(work);
  EXPECT_EQ(got.has_value() ? 0 : got.error().value(), error) << "line " << where.line();
}
template <class T>
task<> expect_value(task<io::result<T>> work,
                    std::type_identity_t<T> value,
                    std::source_location where = std::source_location::current()) {
  const io::result<T> got = co_await std::move(work);
  EXPECT_TRUE(got.has_value() && *got == value) << "line " << where.line();
}

class failing_files : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!calls::can_fail) GTEST_SKIP() << "a sanitizer makes these calls itself";
    calls::reset();
  }
  void TearDown() override { calls::reset(); }

  /// Runs `body` on a runtime without a ring in each pass.
  template <class F>
  static void by_threads(F body) {
    runtime_options o = test::with_workers(2);
    o.backend = io_backend::epoll;
    runtime rt(o);
    rt.block_on(std::move(body));
    calls::reset();
  }
  [[nodiscard]] std::string at(std::string_view name) const { return folder.at(name); }
  static std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  const std::string text = [] {
    std::string made(5000, '\0');
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<char>(i * 31 + i / 251);
    return made;
  }();
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text)); }

  test::scratch_folder folder;
};

TEST_F(failing_files, short_reads_and_writes_of_every_length_are_continued) {
  for (const std::size_t most : {1U, 2U, 7U, 64U}) {
    by_threads([&]() -> task<> {
      fs::file f = demand(co_await fs::file::create(at("f")));
      calls::shorten(most);
      demand(co_await f.write_all_at(bytes(), 0));
      demand(co_await f.write_all_at(bytes().first(100), 4900));
      fs::file in = demand(co_await fs::file::open(at("f")));
      std::vector<std::byte> got(100);
      demand(co_await in.read_exact_at(got, 4900));
      EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes().begin()));
      calls::fail(call::read_in_memory, EAGAIN, 0, 1'000'000);
      std::vector<std::byte> all;
      co_await expect_value(io::read_to_end(in, all, 1'000'000), 5000U);
      EXPECT_TRUE(std::equal(all.begin(), all.begin() + 4900, bytes().begin()));
      co_await expect_value(fs::copy(at("f"), at("g")), 5000U);
    });
    EXPECT_TRUE(content_of(at("g")) == content_of(at("f"))) << most;
  }
}

TEST_F(failing_files, interrupted_calls_are_made_again) {
  by_threads([&]() -> task<> {
    calls::fail(call::open_at, EINTR, 0, 5);
    calls::fail(call::write_at, EINTR, 0, 5);
    calls::fail(call::sync_file, EINTR, 0, 5);
    calls::fail(call::read_in_memory, EINTR, 0, 5);
    fs::file f = demand(co_await fs::file::create_new(at("f")));
    demand(co_await f.write_all_at(bytes(), 0));
    demand(co_await f.sync_all());
    std::vector<std::byte> got(5000);
    demand(co_await f.read_exact_at(got, 0));
    calls::fail(call::read_in_memory, EAGAIN, 0, 1);
    calls::fail(call::read_at, EINTR, 0, 5);
    demand(co_await f.read_exact_at(got, 0));
    EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes().begin()));
    for (const test::failing_call* each : {&call::open_at, &call::write_at, &call::sync_file, &call::read_at})
      EXPECT_EQ(calls::failed(*each), 5U);
  });
}

TEST_F(failing_files, error_of_one_operation_does_not_affect_the_next) {
  for (const int error : {EIO, ENOSPC, EDQUOT, ENOMEM, ESTALE}) {
    by_threads([&]() -> task<> {
      fs::file f = demand(co_await fs::file::create_new(at("f" + std::to_string(error))));
      calls::fail(call::write_at, error);
      co_await expect_error(f.write(bytes()), error);
      EXPECT_EQ(f.position(), 0U);
      calls::fail(call::write_at, error);
      co_await expect_error(f.write_all_at(bytes(), 0), error);
      demand(co_await f.write_all_at(bytes(), 0));
      calls::fail(call::sync_file, error);
      co_await expect_error(f.sync_data(), error);
      demand(co_await f.sync_data());
      std::array<std::byte, 10> some;
      calls::fail(call::read_in_memory, EAGAIN);
      calls::fail(call::read_at, error);
      co_await expect_error(f.read(some), error);
      EXPECT_EQ(f.position(), 0U);
      co_await expect_value(f.read(some), 10U);
      calls::fail(call::open_at, error);
      co_await expect_error(fs::file::open(at("f")), error);
    });
  }
}

/// Fails the first in-place read or the one that looks for the end, or shortens one, where they are possible.
TEST_F(failing_files, a_small_file_that_is_not_in_memory_as_a_whole_is_read_by_a_thread) {
  folder.write("f", text);
  by_threads([&]() -> task<> {
    for (const std::uint64_t nth : {0U, 1U}) {
      calls::fail(call::read_in_memory, EAGAIN, nth);
      co_await expect_value(fs::read_to_string(at("f")), text);
      calls::reset();
    }
    for (const std::size_t most : {1U, 4096U, 4999U}) {
      calls::shorten(most);
      co_await expect_value(fs::read_to_string(at("f")), text);
      calls::reset();
    }
  });
}

/// Kernels without in-place reads, and kernels that return 0 although there are bytes.
TEST_F(failing_files, in_place_read_without_bytes_is_repeated_by_a_thread) {
  const unsigned in_place = folder.reads_in_memory() ? 0 : 1;
  folder.write("f", text);
  by_threads([&]() -> task<> {
    const fs::file f = demand(co_await fs::file::open(at("f")));
    std::array<std::byte, 10> some;
    for (const int error : {EOPNOTSUPP, ENOSYS, EAGAIN, EINVAL}) {
      calls::fail(call::read_in_memory, error);
      co_await expect_value(f.read_at(some, 0), 10U);
    }
    EXPECT_EQ(calls::failed(call::read_in_memory), 4U);
    EXPECT_EQ(calls::made(call::read_at), 4U);
    co_await expect_value(f.read_at(some, 5000), 0U);
    EXPECT_EQ(calls::made(call::read_at), 5U) << "an end is asked for twice";
    co_await expect_value(f.read_at(some, 1), 10U);
    EXPECT_EQ(calls::made(call::read_at), 5U + in_place) << "and bytes are not";
  });
}

TEST_F(failing_files, a_replacement_that_fails_anywhere_leaves_what_was_there) {
  folder.write("f", "before");
  by_threads([&]() -> task<> {
    const auto replace = [&] { return fs::write_atomically(at("f"), "after"); };
    for (std::uint64_t nth = 0; nth < 2; ++nth) {
      calls::fail(call::open_at, EMFILE, nth);
      co_await expect_error(replace(), EMFILE);
    }
    calls::fail(call::sync_file, EIO);
    co_await expect_error(replace(), EIO);
    calls::fail(call::rename_at, EACCES);
    co_await expect_error(replace(), EACCES);
    EXPECT_EQ(content_of(at("f")), "before");
    EXPECT_EQ(test::entries_of(folder.root().c_str()), 1U);
    calls::fail(call::open_at, EEXIST, 1, 5);  // the first names are taken
    co_await expect_error(replace(), 0);
    EXPECT_EQ(content_of(at("f")), "after");
    calls::fail(call::sync_file, EIO, 1);  // the sync of the directory
    co_await expect_error(replace(), EIO);
    calls::fail(call::sync_file, EINVAL, 1);  // a file system without a sync of directories
    co_await expect_error(replace(), 0);
  });
  EXPECT_EQ(test::entries_of(folder.root().c_str()), 1U);
}

TEST_F(failing_files, copy_continues_with_reads_and_writes_if_the_kernel_refuses) {
  folder.write("f", text);
  by_threads([&]() -> task<> {
    for (const int error : {EXDEV, EINVAL, EOPNOTSUPP, ENOSYS, EPERM}) {
      calls::fail(call::copy_range, error);
      co_await expect_value(fs::copy(at("f"), at("g")), 5000U);
      EXPECT_TRUE(content_of(at("g")) == text);
    }
    // Also when the failure comes in the middle.
    calls::shorten(50);
    calls::fail(call::copy_range, EXDEV, 10);
    co_await expect_value(fs::copy(at("f"), at("g")), 5000U);
    EXPECT_TRUE(content_of(at("g")) == text);
    fs::file from = demand(co_await fs::file::open(at("f")));
    fs::file to = demand(co_await fs::file::create(at("h")));
    calls::fail(call::copy_range, EXDEV, 10);
    co_await expect_value(io::copy(from, to), 5000U);
    EXPECT_TRUE(content_of(at("h")) == text);
    calls::fail(call::copy_range, EIO);
    co_await expect_error(fs::copy(at("f"), at("g")), EIO);
    calls::fail(call::copy_range, ENOSPC);
    co_await expect_error(io::copy(from, to), ENOSPC);
  });
}

TEST_F(failing_files, temp_file_is_unlinked_where_unnamed_files_are_unsupported) {
  by_threads([&]() -> task<> {
    for (const int error : {EOPNOTSUPP, EISDIR, EINVAL}) {
      calls::fail(call::open_at, error);
      const fs::file f = demand(co_await fs::temp_file(folder.root()));
      const fs::file_info info = demand(co_await f.metadata());
      EXPECT_EQ(info.links, 0U);
    }
    calls::fail(call::open_at, EACCES);
    co_await expect_error(fs::temp_file(folder.root()), EACCES);
  });
  EXPECT_TRUE(std::filesystem::is_empty(folder.root()));
}

TEST_F(failing_files, failed_tree_removal_keeps_the_remaining_entries) {
  for (int i = 0; i < 10; ++i) folder.write("t/a/" + std::to_string(i), "x");
  by_threads([&]() -> task<> {
    calls::fail(call::unlink_at, EACCES, 4);
    co_await expect_error(fs::remove_dir_all(at("t")), EACCES);
    EXPECT_EQ(test::entries_of(at("t/a").c_str()), 6U);
    calls::fail(call::open_at, EMFILE, 2);
    co_await expect_error(fs::remove_dir_all(at("t")), EMFILE);
    calls::fail(call::unlink_at, ENOENT, 0, 1);  // so its directory does not become empty
    co_await expect_error(fs::remove_dir_all(at("t")), ENOTEMPTY);
    demand(co_await fs::remove_dir_all(at("t")));
  });
  EXPECT_TRUE(std::filesystem::is_empty(folder.root()));
}

}  // namespace
}  // namespace rota::files_test
