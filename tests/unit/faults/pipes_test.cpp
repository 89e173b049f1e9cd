// A write of many system calls to a pipe shares the worker with other tasks. Each system call moves one byte,
// as if the pipe were drained as fast as it is filled: no call has to wait.
#include "task/header.hpp"
#include "unit/faults/failing_files.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/process.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

namespace rota::test::pipes_test {
namespace {

/// Each byte takes one system call.
constexpr std::array<std::byte, 200> bytes{};

class failing_pipes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!calls::can_fail) GTEST_SKIP() << "a sanitizer stands in the same place";
    calls::reset();
  }
  void TearDown() override { calls::reset(); }

  static void run(task<> body) {
    runtime rt(with_workers(1));
    test::join_on_worker(rt.spawn(std::move(body)));
  }
};

struct ends {
  process::pipe_reader reader;
  process::pipe_writer writer;

  /// Returns the number of bytes in the pipe, which must not be empty.
  task<std::size_t> take() {
    std::array<std::byte, 2 * bytes.size()> into{};
    const auto got = co_await reader.read(into);
    co_return got.value_or(0);
  }
};

ends make_pipe() {
  auto made = process::pipe();
  EXPECT_TRUE(made.has_value());
  calls::shorten(1);
  return {std::move(made->first), std::move(made->second)};
}

task<> set_flag(bool& flag) {
  flag = true;
  co_return;
}

task<> writes_beside_another() {
  ends pipe = make_pipe();
  bool other_ran = false;
  co_await yield();
  auto other = spawn(set_flag(other_ran));
  const auto put = co_await pipe.writer.write_all(bytes);
  EXPECT_EQ(put.value_or(0), bytes.size());
  EXPECT_TRUE(other_ran) << "the write has not given its turn up";
  const std::size_t got = co_await pipe.take();
  EXPECT_EQ(got, bytes.size()) << "each byte was written once";
  co_await other;
}

TEST_F(failing_pipes, a_write_to_a_pipe_gives_its_turn_up_when_the_budget_is_spent) {
  run(writes_beside_another());
}

/// Yields after the first system call.
task<> write_slowly(ends& pipe, bool& began, std::error_code& why) {
  co_await yield();
  began = true;
  core::current_task()->budget = 2;
  const auto put = co_await pipe.writer.write_all(bytes);
  why = put.has_value() ? std::error_code() : put.error();
}

task<> cancels_a_write_that_has_given_its_turn_up() {
  ends pipe = make_pipe();
  bool began = false;
  std::error_code why;
  auto writes = spawn(write_slowly(pipe, began, why));
  while (!began) co_await yield();
  writes.cancel();
  const outcome<void> how = co_await writes.result();
  EXPECT_TRUE(how.is_cancelled());
  const std::size_t got = co_await pipe.take();
  EXPECT_EQ(got, 1U) << "one system call was made";
}

TEST_F(failing_pipes, a_write_to_a_pipe_is_cancelled_between_two_system_calls) {
  run(cancels_a_write_that_has_given_its_turn_up());
}

task<> closes_a_write_that_has_given_its_turn_up() {
  ends pipe = make_pipe();
  bool began = false;
  std::error_code why;
  auto writes = spawn(write_slowly(pipe, began, why));
  while (!began) co_await yield();
  pipe.writer.close();
  co_await writes;
  EXPECT_EQ(why, std::errc::bad_file_descriptor);
}

TEST_F(failing_pipes, a_write_to_a_pipe_that_is_closed_between_two_system_calls_ends) {
  run(closes_a_write_that_has_given_its_turn_up());
}

/// The write makes one system call and yields; then the value wins, which is ready.
task<> selects_past_a_write() {
  ends pipe = make_pipe();
  auto [tx, rx] = channel::oneshot<int>();
  EXPECT_EQ(std::move(tx).send(1), channel::send_status::sent);
  co_await yield();
  core::current_task()->budget = 2;
  auto first = co_await channel::select_in_order(pipe.writer.write_all(bytes), rx.recv());
  EXPECT_EQ(first.index(), 1U);
  const std::size_t got = co_await pipe.take();
  EXPECT_EQ(got, 1U) << "one system call was made";
}

TEST_F(failing_pipes, a_write_to_a_pipe_that_has_given_its_turn_up_may_lose_a_select) {
  run(selects_past_a_write());
}

}  // namespace
}  // namespace rota::test::pipes_test
