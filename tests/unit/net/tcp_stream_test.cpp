// Operations of a stream other than reading and writing.
#include "unit/net/net_support.hpp"

#include <rota/channel/select.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_writer.hpp>
#include <rota/io/copy.hpp>
#include <rota/sync/event.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace rota::test::tcp_stream_test {
namespace {

using net::endpoint;
using net::result;
using net::tcp_listener;
using net::tcp_stream;

static_assert(io::stream<tcp_stream> && io::half_closer<tcp_stream>);
static_assert(io::reader<tcp_stream::read_half> && io::writer<tcp_stream::write_half>);
static_assert(io::half_closer<tcp_stream::write_half>);

std::string pattern(std::size_t size) {
  std::string made(size, '\0');
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<char>('a' + (i * 31 + i / 251) % 26);
  return made;
}

/// Splits `text` into parts of 0, 1, 2, .. bytes.
std::vector<std::span<const std::byte>> in_parts(std::string_view text) {
  std::vector<std::span<const std::byte>> parts;
  for (std::size_t at = 0, size = 0; at < text.size(); at += size++)
    parts.push_back(bytes_of(text.substr(at, size)));
  return parts;
}

task<> write_parts(tcp_stream& to, std::string_view text) {
  const auto parts = in_parts(text);
  EXPECT_GT(parts.size(), 2U * 64U);
  const result<std::size_t> put = co_await to.write_all_v(parts);
  EXPECT_EQ(put.value_or(0), text.size());
  demand(to.shutdown_write());
}

TEST(vectored, writes_and_reads_are_as_if_of_one_piece) {
  run([]() -> task<> {
    auto [near, far] = co_await connected();
    demand(near.set_send_buffer(5'000));  // so that the write has to wait
    const std::string text = pattern(200'000);
    join_handle<void> writing = spawn(write_parts(near, text));
    std::string got;
    std::array<std::byte, 1> one;
    std::array<std::byte, 700> two;
    std::array<std::byte, 50> three;
    const std::array<std::span<std::byte>, 4> places{std::span<std::byte>(one), {}, two, three};
    for (;;) {
      const result<std::size_t> n = co_await far.read_v(places);
      const std::size_t size = n.value_or(0);
      if (size == 0) break;
      got += text_of(one) + text_of(std::span(two).first(std::clamp<std::size_t>(size, 1, 701) - 1)) +
             text_of(std::span(three).first(std::max<std::size_t>(size, 701) - 701));
    }
    co_await writing;
    EXPECT_TRUE(got == text);
  });
}

TEST(vectored, reads_and_writes_without_bytes_return_zero) {
  run([]() -> task<> {
    auto [near, far] = co_await connected();
    const std::array<std::span<const std::byte>, 3> none{};
    const std::array<std::span<std::byte>, 3> nowhere{};
    const result<std::size_t> put = co_await near.write_v(none);
    EXPECT_EQ(put.value_or(9), 0U);
    const std::span<const std::span<const std::byte>> no_parts;
    const result<std::size_t> all = co_await near.write_all_v(no_parts);
    EXPECT_EQ(all.value_or(9), 0U);
    const result<std::size_t> got = co_await far.read_v(nowhere);
    EXPECT_EQ(got.value_or(9), 0U);
    const std::array<std::span<const std::byte>, 3> some{bytes_of(""), bytes_of("ab"), bytes_of("c")};
    const result<std::size_t> three = co_await near.write_v(some);
    EXPECT_EQ(three.value_or(0), 3U);
  });
}

TEST(a_stream, peeks_at_bytes_without_consuming_them) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    std::array<std::byte, 16> buffer;
    const result<std::size_t> none = far.try_read(buffer);
    EXPECT_TRUE(!none.has_value() && none.error() == std::errc::operation_would_block);
    auto peeking = spawn([&far, &buffer]() -> task<std::size_t> {
      const result<std::size_t> got = co_await far.peek(buffer);
      co_return got.value_or(0);
    });
    co_await yield();
    EXPECT_EQ(near.try_write(bytes_of("abc")).value_or(0), 3U);
    const std::size_t seen = co_await peeking;
    EXPECT_EQ(seen, 3U);
    const result<std::size_t> again = co_await far.peek(std::span(buffer).first(2));
    EXPECT_EQ(again.value_or(0), 2U);
    EXPECT_EQ(far.try_read(buffer).value_or(0), 3U);
    EXPECT_EQ(text_of(std::span(buffer).first(3)), "abc");
  });
}

TEST(a_stream, reports_when_it_is_readable_and_writable) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    const result<void> room = co_await near.writable();
    EXPECT_TRUE(room.has_value());
    const result<void> early = co_await timeout(1ms, far.readable());
    EXPECT_TRUE(!early.has_value() && early.error() == make_error_code(errc::timed_out));
    bool was_told = false;
    auto waiting = spawn([&far, &was_told]() -> task<> {
      const result<void> ready = co_await far.readable();
      was_told = ready.has_value();
    });
    co_await yield();
    EXPECT_FALSE(was_told);
    EXPECT_TRUE(near.try_write(bytes_of("x")).has_value());
    co_await waiting;
    EXPECT_TRUE(was_told);
    for (int i = 0; i < 3; ++i) {
      const result<void> still = co_await far.readable();
      EXPECT_TRUE(still.has_value()) << "as long as nobody has read";
    }
    // Fills the socket until a read makes space.
    std::vector<std::byte> much(100'000);
    co_await fill_up(near);
    auto writer = spawn([&near]() -> task<> { static_cast<void>(co_await near.writable()); });
    for (int i = 0; i < 10; ++i) co_await yield();
    EXPECT_FALSE(writer.is_done());
    while (!writer.is_done()) {
      static_cast<void>(far.try_read(much));
      co_await yield();
    }
    co_await writer;
  });
}

TEST(a_stream, is_adopted_and_released) {
  run([]() -> task<> {
    auto [near, far] = co_await connected();
    const std::size_t files = open_files();
    const int fd = demand(std::move(near).release());
    EXPECT_EQ(near.native_handle(), -1);
    EXPECT_EQ(open_files(), files);
    EXPECT_EQ(::write(fd, "abc", 3), 3);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    ::fcntl(fd, F_SETFD, 0);
    tcp_stream again = demand(tcp_stream::adopt(fd));
    EXPECT_EQ(again.native_handle(), fd);
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
    std::array<std::byte, 16> buffer;
    auto reading = spawn([&again, &buffer]() -> task<std::size_t> {
      const result<std::size_t> got = co_await again.read(buffer);
      co_return got.value_or(0);
    });
    const result<std::size_t> put = co_await far.write_all(bytes_of("hello"));
    EXPECT_TRUE(put.has_value());
    const std::size_t size = co_await reading;
    EXPECT_EQ(size, 5U) << "it is watched";
    const result<std::size_t> got = co_await far.read(buffer);
    EXPECT_EQ(got.value_or(0), 3U);
  });
}

// Each of the three calls sends the text without a terminating zero.
TEST(a_stream, sends_a_text_without_its_terminating_zero) {
  run([]() -> task<> {
    auto [near, far] = co_await connected();
    const std::string text = "two, ";
    const result<std::size_t> first = co_await near.write_all("one, ");
    EXPECT_EQ(first.value_or(0), 5U);
    const result<void> second = co_await io::write_all(near, text);
    EXPECT_TRUE(second.has_value());
    io::buffered_writer out(near);
    const result<void> third = co_await out.write_all(text + "three");
    EXPECT_TRUE(third.has_value());
    const result<void> flushed = co_await out.flush();
    EXPECT_TRUE(flushed.has_value());
    static constexpr char tag[4] = {'R', 'I', 0, 'F'};
    const result<std::size_t> zeros = co_await near.write_all("\0a\0");
    EXPECT_EQ(zeros.value_or(0), 3U) << "a literal has all its characters but the zero at its end";
    const result<void> array = co_await io::write_all(near, tag);
    EXPECT_TRUE(array.has_value());
    near.close();
    std::vector<std::byte> got;
    const result<std::size_t> all = co_await io::read_to_end(far, got, 100);
    EXPECT_TRUE(all.has_value());
    const std::string expected = std::string("one, two, two, three") + std::string("\0a\0RI\0F", 7);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(got.data()), got.size()), expected);
  });
}

TEST(a_stream, refuses_to_adopt_a_descriptor_of_another_kind) {
  run([]() -> task<> {
    int both[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, both), 0);
    const result<tcp_stream> unix_one = tcp_stream::adopt(both[0]);
    EXPECT_TRUE(!unix_one.has_value() && unix_one.error() == std::errc::wrong_protocol_type);
    EXPECT_EQ(::write(both[0], "x", 1), 1) << "it stays the caller's";
    const int udp = ::socket(AF_INET, SOCK_DGRAM, 0);
    EXPECT_EQ(tcp_stream::adopt(udp).error(), std::errc::wrong_protocol_type);
    EXPECT_EQ(tcp_stream::adopt(-1).error(), std::errc::bad_file_descriptor);
    auto [near, far] = co_await connected();
    EXPECT_EQ(tcp_listener::adopt(near.native_handle()).error(), std::errc::wrong_protocol_type);
    for (const int fd : {both[0], both[1], udp}) ::close(fd);
  });
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(tcp_stream::adopt(fd).error(), make_error_code(errc::no_runtime));
  EXPECT_EQ(::close(fd), 0);
}

TEST(a_stream, is_reunited_only_from_its_own_halves) {
  run([]() -> task<> {
    auto [near, far] = co_await connected();
    auto [reader, writer] = std::move(near).split();
    auto [other_reader, other_writer] = std::move(far).split();
    auto wrong = tcp_stream::reunite(std::move(reader), std::move(other_writer));
    EXPECT_FALSE(wrong.has_value());
    auto right = tcp_stream::reunite(std::move(wrong.error().first), std::move(writer));
    EXPECT_TRUE(right.has_value());
    auto second = tcp_stream::reunite(std::move(other_reader), std::move(wrong.error().second));
    EXPECT_TRUE(second.has_value());
    const result<std::size_t> put = co_await right->write_all(bytes_of("abc"));
    EXPECT_TRUE(put.has_value());
    std::array<std::byte, 16> buffer;
    const result<std::size_t> got = co_await second->read(buffer);
    EXPECT_EQ(got.value_or(0), 3U);
    const result<int> fd = std::move(*right).release();
    EXPECT_TRUE(fd.has_value()) << "nobody else has it";
    ::close(*fd);
    auto [half, rest] = std::move(*second).split();
    result<int> none = std::move(*second).release();
    EXPECT_TRUE(!none.has_value() && none.error() == std::errc::bad_file_descriptor) << "it is empty";
  });
}

TEST(a_stream, is_copied_both_ways) {
  run([]() -> task<> {
    auto [client, near] = co_await connected();
    auto [far, server] = co_await connected();
    const std::string question = pattern(300'000);
    const std::string answer = pattern(500'000);
    auto sends = [](tcp_stream& to, std::string_view text) -> task<> {
      const result<void> put = co_await io::write_all(to, bytes_of(text));
      EXPECT_TRUE(put.has_value());
      demand(to.shutdown_write());
    };
    auto receives = [](tcp_stream& from) -> task<std::string> {
      std::vector<std::byte> all;
      const result<std::size_t> got = co_await io::read_to_end(from, all, 1U << 24U);
      EXPECT_TRUE(got.has_value());
      co_return text_of(all);
    };
    auto copying =
        spawn([&near, &far]() -> task<result<io::copied>> { co_return co_await io::copy_both(near, far); });
    auto sending = spawn(sends(client, question));
    const std::string heard = co_await receives(server);
    EXPECT_TRUE(heard == question);
    auto answering = spawn(sends(server, answer));
    const std::string said = co_await receives(client);
    EXPECT_TRUE(said == answer);
    co_await sending;
    co_await answering;
    const result<io::copied> moved = co_await copying;
    EXPECT_TRUE(moved.has_value() && moved->there == question.size() && moved->back == answer.size());
  });
}

TEST(a_listener, is_a_case_of_a_select) {
  on_one_worker([]() -> task<> {
    tcp_listener listener = demand(tcp_listener::bind(endpoint::loopback_v4(0)));
    const endpoint at = demand(listener.local_endpoint());
    sync::event stop;
    auto client = co_await tcp_stream::connect(at);
    EXPECT_TRUE(client.has_value());
    auto first = co_await channel::select(listener.accept(), stop.wait());
    EXPECT_EQ(first.index(), 0U);
    EXPECT_TRUE(first.get<0>().has_value());
    auto setting = spawn([&stop]() -> task<> {
      co_await yield();
      stop.set();
    });
    auto second = co_await channel::select(listener.accept(), stop.wait());
    EXPECT_EQ(second.index(), 1U);
    co_await setting;
    auto later = co_await tcp_stream::connect(at);
    EXPECT_TRUE(later.has_value());
    auto third = co_await timeout(10s, listener.accept());
    EXPECT_TRUE(third.has_value()) << "the case that lost has taken nothing";
  });
}

TEST(a_listener, supports_try_accept_and_adopt) {
  run([]() -> task<> {
    tcp_listener listener = demand(tcp_listener::bind(endpoint::loopback_v4(0)));
    const auto none = listener.try_accept();
    EXPECT_TRUE(!none.has_value() && none.error() == std::errc::operation_would_block);
    tcp_listener adopted = demand(tcp_listener::adopt(::dup(listener.native_handle())));
    auto client = co_await tcp_stream::connect(demand(adopted.local_endpoint()));
    result<tcp_stream> one = adopted.try_accept();
    // The last step of the handshake may come after connect() has returned.
    while (!one.has_value() && one.error() == std::errc::operation_would_block) {
      co_await sleep_for(std::chrono::milliseconds(1));
      one = adopted.try_accept();
    }
    EXPECT_TRUE(client.has_value() && one.has_value());
  });
}

}  // namespace
}  // namespace rota::test::tcp_stream_test
