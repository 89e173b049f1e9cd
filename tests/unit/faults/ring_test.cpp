// Kernels that make no ring, lack an operation, or accept no submissions for a while.
#include "support/scratch_folder.hpp"
#include "unit/faults/failing_ring.hpp"
#include "unit/runtime/runtime_support.hpp"

#include "driver/io_driver.hpp"

#include <rota/error.hpp>
#include <rota/fs/file.hpp>
#include <rota/fs/paths.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <linux/io_uring.h>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace rota::ring_test {
namespace {

namespace call = test::call;
using test::calls;

runtime_options with_ring(io_backend backend = io_backend::uring) {
  runtime_options o = test::with_workers(2);
  o.backend = backend;
  return o;
}

class failing_ring : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!calls::can_fail) GTEST_SKIP() << "a sanitizer may stand in the same place";
    if (!driver::ring::make({}).has_value()) GTEST_SKIP() << "no io_uring here";
    calls::reset();
  }
  void TearDown() override {
    calls::reset();
    test::lack_ring_call(-1);
  }

  test::scratch_folder folder;
};

std::error_code why_no_ring() {
  try {
    const runtime refused(with_ring());
  } catch (const std::system_error& e) {
    return e.code();
  }
  return {};
}

TEST_F(failing_ring, runtime_that_requires_a_ring_throws_if_it_cannot_be_made) {
  for (const int error : {ENOSYS, EPERM, ENOMEM, EMFILE}) {
    const std::size_t files = test::open_files();
    calls::fail(call::make_ring, error, 0, 2);
    EXPECT_EQ(why_no_ring(), std::error_code(error, std::generic_category()));
    EXPECT_EQ(calls::failed(call::make_ring), 1U);
    EXPECT_EQ(test::open_files(), files) << "nothing has begun";
    calls::reset();
  }
}

/// A kernel that does not know one of the flags returns EINVAL, and is asked again without them.
TEST_F(failing_ring, ring_is_made_with_fewer_flags_if_the_kernel_refuses_one) {
  calls::fail(call::make_ring, EINVAL);
  const runtime rt(with_ring());
  EXPECT_EQ(rt.stats().io_backend, io_backend::uring);
  EXPECT_EQ(calls::made(call::make_ring), 2U);
}

TEST_F(failing_ring, ring_is_not_made_for_the_epoll_backend) {
  const runtime rt(with_ring(io_backend::epoll));
  EXPECT_EQ(rt.stats().io_backend, io_backend::epoll);
  EXPECT_EQ(calls::made(call::make_ring), 0U);
}

TEST_F(failing_ring, ring_without_a_required_operation_is_unsupported) {
  for (const int needed : {int{IORING_OP_READ},
                           int{IORING_OP_WRITE},
                           int{IORING_OP_READV},
                           int{IORING_OP_WRITEV},
                           int{IORING_OP_FSYNC},
                           int{IORING_OP_ASYNC_CANCEL}}) {
    const std::size_t files = test::open_files();
    test::lack_ring_call(needed);
    EXPECT_EQ(why_no_ring(), make_error_code(errc::unsupported)) << needed;
    EXPECT_EQ(test::open_files(), files);
  }
}

task<> make_and_rename(std::string folder) {
  const auto made = co_await fs::create_dir(folder + "/one");
  EXPECT_TRUE(made.has_value());
  const auto renamed = co_await fs::rename(folder + "/one", folder + "/other");
  EXPECT_TRUE(renamed.has_value());
  const auto is_there = co_await fs::exists(folder + "/other");
  EXPECT_TRUE(is_there.value_or(false));
  const auto again = co_await fs::rename(folder + "/one", folder + "/other");
  EXPECT_TRUE(!again.has_value() && again.error() == std::errc::no_such_file_or_directory);
  const auto removed = co_await fs::remove_dir(folder + "/other");
  EXPECT_TRUE(removed.has_value());
}

TEST_F(failing_ring, ring_without_an_optional_operation_leaves_it_to_a_thread) {
  runtime whole(with_ring());
  whole.block_on(make_and_rename(folder.root()));
  const std::uint64_t with_all = whole.stats().io.operations;
  for (const auto& [lacking, times] : {std::pair{int{IORING_OP_RENAMEAT}, 2U},
                                       {int{IORING_OP_MKDIRAT}, 1U},
                                       {int{IORING_OP_UNLINKAT}, 1U},
                                       {int{IORING_OP_STATX}, 1U}}) {
    test::lack_ring_call(lacking);
    runtime rt(with_ring());
    EXPECT_EQ(rt.stats().io_backend, io_backend::uring);
    rt.block_on(make_and_rename(folder.root()));
    EXPECT_EQ(rt.stats().io.operations, with_all - times) << lacking;
  }
}

/// Each task writes its own part of the file, and reads it back.
task<bool> write_and_read(fs::file& at, std::uint64_t part) {
  std::array<std::byte, 512> bytes;
  bytes.fill(static_cast<std::byte>(part));
  const auto written = co_await at.write_all_at(bytes, part * bytes.size());
  std::array<std::byte, 512> back{};
  // The sync makes the operations use the ring: a read in place does not.
  const auto synced = co_await at.sync_data();
  const auto got = co_await at.read_exact_at(back, part * bytes.size());
  const bool is_same = back == bytes;
  co_return written.has_value() && synced.has_value() && got.has_value() && is_same;
}

task<> many(std::string path, std::uint64_t count) {
  fs::file at = (co_await fs::file::create_new(path)).value();
  std::vector<join_handle<bool>> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(spawn(write_and_read(at, i)));
  for (auto& each : all) {
    const bool is_right = co_await each;
    EXPECT_TRUE(is_right);
  }
}

/// EBUSY: overflowed completions must be fetched first. EAGAIN, ENOMEM: no memory. EINTR: a signal.
TEST_F(failing_ring, refused_submission_is_retried_and_counted) {
  for (const int error : {EBUSY, EAGAIN, ENOMEM, EINTR}) {
    calls::reset();
    runtime rt(with_ring());
    calls::fail(call::submit_to_ring, error, 1, 8);
    rt.block_on(many(folder.at(std::to_string(error)), 100));
    EXPECT_EQ(calls::failed(call::submit_to_ring), 8U);
    EXPECT_EQ(rt.stats().io.refused, 8U) << "each time it is counted";
    EXPECT_EQ(rt.stats().alive_tasks, 0U);
  }
}

struct ended_count {
  unsigned count = 0;
  waker make_waker() noexcept { return {this, &vtable}; }
  static void wake(void* self) noexcept { ++static_cast<ended_count*>(self)->count; }
  static void* clone(void* self) noexcept { return self; }
  static void drop(void*) noexcept {}
  static constexpr waker_vtable vtable{wake, wake, clone, drop};
};

/// A queue of four is always full, and the kernel often refuses to empty it; the rest waits in the line.
TEST_F(failing_ring, full_queue_loses_no_operation_when_submissions_are_refused) {
  constexpr unsigned count = 1'000;
  driver::io_driver by;
  ASSERT_FALSE(by.open(io_backend::uring, {.entries = 4, .completions = 8, .most_in_flight = 8}));
  ended_count ended;
  std::vector<driver::operation*> all;
  calls::fail(call::submit_to_ring, EBUSY, 10, 8);
  for (unsigned i = 0; i < count; ++i) {
    all.push_back(by.completions()->take());
    ASSERT_NE(all.back(), nullptr);
    base::sys::prepare_nothing(all.back()->request);
    by.completions()->start(*all.back(), ended.make_waker());
  }
  std::array<driver::event, 64> found;
  while (ended.count < count)
    by.dispatch(found.data(), by.wait(base::never, found.data(), static_cast<unsigned>(found.size())));
  EXPECT_EQ(ended.count, count);
  EXPECT_EQ(calls::failed(call::submit_to_ring), 8U);
  for (driver::operation* const each : all) {
    EXPECT_EQ(each->result(), 0);
    by.completions()->give_back(*each);
  }
  EXPECT_EQ(by.in_flight(), 0U);
}

}  // namespace
}  // namespace rota::ring_test
