// send_file(): a file larger than the socket's buffers, one that ends early, a peer that leaves, a deadline.
#include "unit/net/net_support.hpp"

#include <rota/error.hpp>
#include <rota/net/unix_stream.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>
#include <rota/timeout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace rota::test::send_file_test {
namespace {

using net::result;
using net::tcp_stream;
using net::unix_stream;

constexpr std::size_t much = 16U << 20U;  // more than both sockets hold

/// A file without a name, and what is in it.
struct sample {
  explicit sample(std::size_t size) : file(std::tmpfile(), std::fclose), content(size) {
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<std::byte>(i * 2654435761U >> 16U);
    if (file == nullptr || std::fwrite(content.data(), 1, size, file.get()) != size ||
        std::fflush(file.get()) != 0)
      throw std::system_error(errno, std::generic_category(), "a temporary file");
  }
  [[nodiscard]] int descriptor() const noexcept { return ::fileno(file.get()); }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file;
  std::vector<std::byte> content;
};

struct streams_of_unix {
  unix_stream near;
  unix_stream far;
};
streams_of_unix unix_pair() {
  auto both = demand(unix_stream::pair());
  return {std::move(both.first), std::move(both.second)};
}

/// Begins to read when the sender waits for room. Reads little at first: the sender gets room in small parts.
template <class Stream>
task<std::vector<std::byte>> reads_late(Stream from) {
  co_await sleep_for(std::chrono::milliseconds(5));
  std::vector<std::byte> all;
  std::vector<std::byte> buffer(std::size_t{256} << 10U);
  for (std::size_t wanted = 512;; wanted = std::min(wanted + 512, buffer.size())) {
    const result<std::size_t> got = co_await from.read(std::span(buffer).first(wanted));
    if (demand(got) == 0) co_return all;
    all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got));
  }
}

template <class Stream>
task<> sends_more_than_fits(Stream near, Stream far) {
  const sample one(much);
  auto reader = spawn(reads_late(std::move(far)));
  const result<std::size_t> sent = co_await near.send_file(one.descriptor(), 0, much);
  EXPECT_EQ(demand(sent), much);
  demand(near.shutdown_write());
  const std::vector<std::byte> got = co_await reader;
  EXPECT_TRUE(got == one.content) << got.size() << " bytes";
}

TEST(send_file, a_file_larger_than_the_buffers_arrives_whole_by_TCP) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    co_await sends_more_than_fits(std::move(near), std::move(far));
  });
}

TEST(send_file, a_file_larger_than_the_buffers_arrives_whole_by_a_unix_stream) {
  on_one_worker([]() -> task<> {
    auto [near, far] = unix_pair();
    co_await sends_more_than_fits(std::move(near), std::move(far));
  });
}

TEST(send_file, a_file_that_ends_early_yields_what_it_had) {
  on_one_worker([]() -> task<> {
    const sample one(3000);
    auto [near, far] = co_await connected();
    const result<std::size_t> sent = co_await near.send_file(one.descriptor(), 1000, much);
    EXPECT_EQ(demand(sent), 2000U);
    std::vector<std::byte> got(2000);
    for (std::size_t at = 0; at < got.size();) {
      const result<std::size_t> part = co_await far.read(std::span(got).subspan(at));
      at += demand(part);
    }
    EXPECT_TRUE(std::equal(got.begin(), got.end(), one.content.begin() + 1000));
  });
}

TEST(send_file, a_file_that_ends_early_needs_no_room_to_end) {
  on_one_worker([]() -> task<> {
    const sample one(60'000);  // fills the socket so far that it is not writable
    auto [near, far] = unix_pair();
    const result<std::size_t> sent = co_await near.send_file(one.descriptor(), 0, much);
    EXPECT_EQ(demand(sent), one.content.size());
    std::vector<std::byte> got(one.content.size());
    const result<std::size_t> part = co_await far.read(got);
    EXPECT_NE(demand(part), 0U);
  });
}

/// Reads a little and closes the connection, with the rest unread.
task<> leaves_in_the_middle(tcp_stream from) {
  std::array<std::byte, 1000> buffer;
  const result<std::size_t> got = co_await from.read(buffer);
  EXPECT_NE(demand(got), 0U);
}

TEST(send_file, ends_with_an_error_if_the_peer_leaves) {
  on_one_worker([]() -> task<> {
    const sample one(much);
    auto [near, far] = co_await connected();
    auto reader = spawn(leaves_in_the_middle(std::move(far)));
    const result<std::size_t> sent = co_await near.send_file(one.descriptor(), 0, much);
    EXPECT_FALSE(sent.has_value());
    co_await reader;
  });
}

TEST(send_file, a_deadline_ends_it_while_the_socket_is_full) {
  on_one_worker([]() -> task<> {
    const sample one(much);
    auto [near, far] = co_await connected();
    const auto end =
        co_await timeout(std::chrono::milliseconds(20), near.send_file(one.descriptor(), 0, much));
    EXPECT_FALSE(end.has_value());
    EXPECT_EQ(end.error(), make_error_code(errc::timed_out));
    // What was sent before stays sent.
    std::vector<std::byte> got(1000);
    const result<std::size_t> part = co_await far.read(got);
    EXPECT_TRUE(std::equal(
        got.begin(), got.begin() + static_cast<std::ptrdiff_t>(demand(part)), one.content.begin()));
  });
}

}  // namespace
}  // namespace rota::test::send_file_test
