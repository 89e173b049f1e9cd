// finish(): the last written bytes arrive although the peer has sent bytes that are never read.
#include "support/sanitized.hpp"
#include "unit/net/net_support.hpp"

#include <rota/net/unix_stream.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>

#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rota::test::finish_test {
namespace {

using net::finish_outcome;
using net::result;
using net::tcp_stream;
using net::unix_stream;

/// Reads to the end. Returns the error, if there is one.
template <class Stream>
task<std::error_code> read_to_the_end(Stream& from, std::string& into) {
  std::array<std::byte, 100> buffer;
  for (;;) {
    const result<std::size_t> got = co_await from.read(buffer);
    if (!got.has_value()) co_return got.error();
    if (*got == 0) co_return std::error_code();
    into += text_of(std::span(buffer).first(*got));
  }
}

/// A peer that writes more than the other side reads. Returns what it then reads up to the end.
template <class Stream>
task<std::string> talks_much_and_listens(Stream peer) {
  const std::vector<std::byte> much(100'000);
  const result<std::size_t> sent = co_await peer.write_all(much);
  EXPECT_TRUE(sent.has_value()) << sent.error().message();
  std::string heard;
  const std::error_code end = co_await read_to_the_end(peer, heard);
  EXPECT_FALSE(end) << end.message();
  co_return heard;
}

template <class Stream>
task<> answers_and_finishes(Stream near, Stream far) {
  auto peer = spawn(talks_much_and_listens(std::move(far)));
  const result<void> has_come = co_await near.readable();
  EXPECT_TRUE(has_come.has_value());
  const result<std::size_t> sent = co_await near.write_all(bytes_of("the last answer"));
  EXPECT_TRUE(sent.has_value());
  auto finishing = near.finish(30s);
  const result<finish_outcome> end = co_await std::move(finishing);
  EXPECT_EQ(demand(end), finish_outcome::end_of_stream);
  const std::string heard = co_await peer;
  EXPECT_EQ(heard, "the last answer");
  const result<std::size_t> after = co_await near.write(bytes_of("x"));
  EXPECT_TRUE(!after.has_value() && after.error() == errc::closed);
}

TEST(finish, delivers_the_last_answer_when_the_peer_has_sent_unread_input) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    co_await answers_and_finishes(std::move(near), std::move(far));
  });
  on_one_worker([]() -> task<> {
    auto [near, far] = demand(unix_stream::pair());
    co_await answers_and_finishes(std::move(near), std::move(far));
  });
}

// The destructor's documented behaviour, and the reason for finish().
TEST(finish, is_needed_since_a_destroyed_stream_with_unread_input_resets) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    const result<std::size_t> sent = co_await far.write_all(bytes_of("unread"));
    EXPECT_TRUE(sent.has_value());
    const result<void> has_come = co_await near.readable();
    EXPECT_TRUE(has_come.has_value());
    {
      const tcp_stream gone = std::move(near);
    }
    std::string heard;
    const std::error_code end = co_await read_to_the_end(far, heard);
    EXPECT_EQ(end, std::errc::connection_reset);
  });
}

TEST(finish, says_that_the_limit_was_reached_when_the_peer_goes_on) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    auto finishing = near.finish(10ms);
    const result<finish_outcome> end = co_await std::move(finishing);
    EXPECT_EQ(demand(end), finish_outcome::limit_reached);
    std::string heard;
    const std::error_code of_far = co_await read_to_the_end(far, heard);
    EXPECT_FALSE(of_far) << "the end was told";
    auto again = near.finish(10ms);
    const result<finish_outcome> refused = co_await std::move(again);
    EXPECT_TRUE(!refused.has_value() && refused.error() == errc::closed);
  });
}

TEST(finish, reports_a_reset_by_the_peer) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    auto finishing = spawn(near.finish(30s));
    std::array<std::byte, 1> one;
    const result<std::size_t> told = co_await far.read(one);
    EXPECT_EQ(told.value_or(9), 0U) << "it has shut writing down";
    demand(far.reset_on_close());
    {
      const tcp_stream gone = std::move(far);
    }
    const result<finish_outcome> end = co_await finishing;
    EXPECT_TRUE(!end.has_value() && end.error() == std::errc::connection_reset);
  });
}

TEST(finish, has_not_closed_when_it_is_cancelled) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    auto finishing = spawn(near.finish(30s));
    std::array<std::byte, 8> bytes;
    const result<std::size_t> told = co_await far.read(bytes);
    EXPECT_EQ(told.value_or(9), 0U);
    finishing.cancel();
    const auto end = co_await finishing.result();
    EXPECT_TRUE(end.is_cancelled());
    const result<std::size_t> sent = co_await far.write(bytes_of("late"));
    EXPECT_TRUE(sent.has_value());
    const result<std::size_t> got = co_await near.read(bytes);
    EXPECT_EQ(got.value_or(9), 4U) << "reading goes on";
  });
}

TEST(finish, of_an_empty_stream_is_an_error) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    const tcp_stream taken = std::move(near);
    auto finishing = near.finish(10ms);  // NOLINT(bugprone-use-after-move): that is what is tested
    const result<finish_outcome> end = co_await std::move(finishing);
    EXPECT_TRUE(!end.has_value() && end.error() == std::errc::bad_file_descriptor);
    near.discard_received();
    EXPECT_FALSE(near.is_of_this_process());
  });
}

TEST(finish, discards_what_has_been_received_and_no_more) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    const result<std::size_t> sent = co_await far.write_all(bytes_of("unread"));
    EXPECT_TRUE(sent.has_value());
    const result<void> has_come = co_await near.readable();
    EXPECT_TRUE(has_come.has_value());
    near.discard_received();
    const result<std::size_t> more = co_await far.write_all(bytes_of("read"));
    EXPECT_TRUE(more.has_value());
    std::array<std::byte, 16> bytes;
    const result<std::size_t> got = co_await near.read(bytes);
    EXPECT_EQ(text_of(std::span(bytes).first(got.value_or(0))), "read");
  });
}

// A child shares the connection: its shutdown would end the parent's, and its reads would steal input.
TEST(finish, is_refused_in_a_forked_child) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  runtime rt(with_workers(1));
  std::optional<tcp_pair> both;
  rt.block_on([](std::optional<tcp_pair>& made) -> task<> {
    made.emplace(co_await connected());
    const result<std::size_t> sent = co_await made->far.write_all(bytes_of("input"));
    EXPECT_TRUE(sent.has_value());
    const result<void> has_come = co_await made->near.readable();
    EXPECT_TRUE(has_come.has_value());
  }(both));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    runtime own(with_workers(1));
    const result<finish_outcome> end = own.block_on(both->near.finish(1s));
    both->near.discard_received();
    ::_exit(!end.has_value() && end.error() == errc::forked ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  rt.block_on([](tcp_pair& of) -> task<> {
    std::array<std::byte, 16> bytes;
    const result<std::size_t> got = co_await of.near.read(bytes);
    EXPECT_EQ(text_of(std::span(bytes).first(got.value_or(0))), "input");
    const result<std::size_t> sent = co_await of.near.write_all(bytes_of("more"));
    EXPECT_TRUE(sent.has_value());
    const result<std::size_t> heard = co_await of.far.read(bytes);
    EXPECT_EQ(heard.value_or(9), 4U);
  }(*both));
}

}  // namespace
}  // namespace rota::test::finish_test
