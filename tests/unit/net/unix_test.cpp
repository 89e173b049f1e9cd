// Unix sockets: paths and abstract names, their files, the peer's credentials, and slow receivers.
#include "unit/net/net_support.hpp"

#include <rota/channel/select.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/net/unix_datagram.hpp>
#include <rota/net/unix_listener.hpp>
#include <rota/net/unix_stream.hpp>
#include <rota/sync/event.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <vector>

namespace rota::test::unix_test {
namespace {

using net::result;
using net::unix_datagram;
using net::unix_endpoint;
using net::unix_listener;
using net::unix_stream;

static_assert(io::stream<unix_stream> && io::half_closer<unix_stream>);

/// Makes a folder, and removes it with its files.
class unix_sockets : public ::testing::Test {
 protected:
  unix_sockets() {
    const std::string pattern = (std::filesystem::temp_directory_path() / "rota_unix_XXXXXX").string();
    std::vector<char> name(pattern.begin(), pattern.end());
    name.push_back('\0');
    folder_ = ::mkdtemp(name.data());
  }
  ~unix_sockets() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] unix_endpoint at(const std::string& name) const {
    return demand(unix_endpoint::path(path(name)));
  }

 private:
  std::string folder_;
};

unix_endpoint abstract_name(const std::string& name) {
  return demand(unix_endpoint::abstract("rota test " + std::to_string(::getpid()) + name));
}

task<> talk(unix_listener& listener, const unix_endpoint& at) {
  auto near = co_await unix_stream::connect(at);
  auto far = co_await listener.accept();
  EXPECT_TRUE(near.has_value() && far.has_value());
  if (!near.has_value() || !far.has_value()) co_return;
  EXPECT_EQ(demand(near->peer_endpoint()), at);
  EXPECT_TRUE(demand(far->peer_endpoint()).is_unnamed());
  for (const unix_stream* each : {&*near, &*far}) {
    const net::credentials who = demand(each->peer());
    EXPECT_TRUE(who.pid == ::getpid() && who.uid == ::getuid() && who.gid == ::getgid());
  }
  const result<std::size_t> put = co_await near->write_all(bytes_of("hello"));
  EXPECT_TRUE(put.has_value());
  demand(near->shutdown_write());
  std::vector<std::byte> all;
  const result<std::size_t> got = co_await io::read_to_end(*far, all, 100);
  EXPECT_EQ(got.value_or(0), 5U);
}

TEST_F(unix_sockets, talk_by_a_path) {
  run([this]() -> task<> {
    const std::string file = path("by_path");
    const mode_t before = ::umask(0);
    {
      unix_listener listener =
          demand(unix_listener::bind(at("by_path"), {.mode = 0640, .unlink_at_end = true}));
      struct stat found{};
      EXPECT_EQ(::lstat(file.c_str(), &found), 0);
      EXPECT_EQ(found.st_mode & 0777U, 0640U);
      EXPECT_EQ(demand(listener.local_endpoint()), at("by_path"));
      co_await talk(listener, at("by_path"));
      EXPECT_EQ(unix_listener::bind(at("by_path")).error(), std::errc::address_in_use);
    }
    ::umask(before);
    EXPECT_FALSE(std::filesystem::exists(file));
    const auto gone = co_await unix_stream::connect(at("by_path"));
    EXPECT_TRUE(!gone.has_value() && gone.error() == std::errc::no_such_file_or_directory);
  });
}

TEST_F(unix_sockets, talk_by_an_abstract_name) {
  run([]() -> task<> {
    const unix_endpoint name = abstract_name(std::string("\0x", 2));
    {
      unix_listener listener = demand(unix_listener::bind(name));
      EXPECT_EQ(demand(listener.local_endpoint()), name);
      co_await talk(listener, name);
    }
    const auto gone = co_await unix_stream::connect(name);
    EXPECT_TRUE(!gone.has_value() && gone.error() == std::errc::connection_refused);
    EXPECT_EQ(unix_listener::bind(unix_endpoint::unnamed()).error(), std::errc::invalid_argument);
    EXPECT_EQ(unix_listener::bind(name, {.backlog = 0}).error(), std::errc::invalid_argument);
  });
}

TEST_F(unix_sockets, do_not_unlink_a_file_that_they_did_not_create) {
  run([this]() -> task<> {
    const std::string file = path("taken");
    {
      const unix_listener listener = demand(unix_listener::bind(at("taken"), {.unlink_at_end = true}));
      std::filesystem::remove(file);
      std::ofstream(file) << "another";
    }
    EXPECT_TRUE(std::filesystem::exists(file));
    {
      const unix_listener stays = demand(unix_listener::bind(at("stays")));
    }
    EXPECT_TRUE(std::filesystem::exists(path("stays")));
    const auto nobody = co_await unix_stream::connect(at("stays"));
    EXPECT_TRUE(!nobody.has_value() && nobody.error() == std::errc::connection_refused);
  });
}

TEST_F(unix_sockets, keep_their_file_when_the_descriptor_is_released) {
  run([this]() -> task<> {
    int fd = -1;
    {
      unix_datagram one = demand(unix_datagram::bind(at("released"), {.unlink_at_end = true}));
      fd = demand(std::move(one).release());
    }
    EXPECT_TRUE(std::filesystem::exists(path("released")));
    const unix_datagram again = demand(unix_datagram::adopt(fd));
    EXPECT_EQ(demand(again.local_endpoint()), at("released"));
    co_return;
  });
}

TEST_F(unix_sockets, keep_their_file_when_a_fork_ends) {
  run([this]() -> task<> {
    std::optional<unix_listener> listener =
        demand(unix_listener::bind(at("forked"), {.unlink_at_end = true}));
    const pid_t child = ::fork();
    if (child == 0) {
      listener.reset();
      ::_exit(0);
    }
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(std::filesystem::exists(path("forked")));
    listener.reset();
    EXPECT_FALSE(std::filesystem::exists(path("forked")));
    co_return;
  });
}

/// The system accepts a path without space for a terminating zero.
TEST_F(unix_sockets, adopted_sockets_may_have_a_path_of_maximal_length) {
  run([this]() -> task<> {
    std::string longest = path("");
    longest.resize(unix_endpoint::most + 1, 'x');
    sockaddr_un native{.sun_family = AF_UNIX, .sun_path = {}};
    longest.copy(native.sun_path, longest.size());
    const int other = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(other, reinterpret_cast<const sockaddr*>(&native), sizeof native), 0);
    unix_datagram adopted = demand(unix_datagram::adopt(other));
    const unix_endpoint there = demand(adopted.local_endpoint());
    EXPECT_EQ(there.name(), longest);
    unix_datagram one = demand(unix_datagram::bind(abstract_name("longest")));
    const unix_endpoint here = demand(one.local_endpoint());
    const result<std::size_t> sent = co_await adopted.send_to(bytes_of("x"), here);
    EXPECT_TRUE(sent.has_value());
    std::array<std::byte, 16> buffer;
    unix_endpoint from;
    const result<std::size_t> got = co_await one.recv_from(buffer, from);
    EXPECT_TRUE(got.has_value() && from == there);
    const result<std::size_t> back = co_await one.send_to(bytes_of("x"), from);
    EXPECT_TRUE(back.has_value());
    std::filesystem::remove(longest);
    // The file is removed like any other.
    {
      const unix_datagram again = demand(unix_datagram::bind(there, {.unlink_at_end = true}));
      EXPECT_TRUE(std::filesystem::exists(longest));
    }
    EXPECT_FALSE(std::filesystem::exists(longest));
  });
}

TEST_F(unix_sockets, a_full_queue_makes_a_connect_wait) {
  on_one_worker([]() -> task<> {
    const unix_endpoint name = abstract_name("full");
    unix_listener listener = demand(unix_listener::bind(name, {.backlog = 1}));
    std::vector<unix_stream> waiting;
    for (int i = 0; i < 2; ++i) {
      auto one = co_await unix_stream::connect(name);
      EXPECT_TRUE(one.has_value());
      if (one.has_value()) waiting.push_back(std::move(*one));
    }
    auto third = spawn([&name]() -> task<bool> {
      const auto one = co_await unix_stream::connect(name);
      co_return one.has_value();
    });
    co_await sleep_for(5ms);
    EXPECT_FALSE(third.is_done());
    auto accepted = co_await listener.accept();
    EXPECT_TRUE(accepted.has_value());
    const bool connected = co_await third;
    EXPECT_TRUE(connected);
  });
}

// Also where the read yields first, which it does after 127 reads that end at once.
TEST_F(unix_sockets, a_stored_read_reads_again_on_each_await) {
  run([]() -> task<> {
    auto [one, two] = demand(unix_stream::pair());
    std::array<std::byte, 1> out{};
    std::array<std::byte, 1> in{};
    auto read = two.read(in);
    for (int i = 0; i < 300; ++i) {
      out[0] = static_cast<std::byte>(i);
      const result<std::size_t> put = co_await one.write_all(out);
      EXPECT_TRUE(put.has_value());
      const result<std::size_t> got = co_await read;
      EXPECT_EQ(got.value_or(0), 1U);
      EXPECT_EQ(in[0], out[0]) << i;
    }
  });
}

TEST_F(unix_sockets, a_stored_write_returns_the_bytes_sent_by_each_await) {
  run([]() -> task<> {
    auto [one, two] = demand(unix_stream::pair());
    auto all = one.write_all(bytes_of("abc"));
    for (const std::size_t sent : {3U, 0U}) {
      const result<std::size_t> put = co_await all;
      EXPECT_EQ(put.value_or(9), sent);
    }
  });
}

TEST_F(unix_sockets, streams_come_in_pairs_and_are_adopted) {
  run([]() -> task<> {
    auto [one, two] = demand(unix_stream::pair());
    const int fd = demand(std::move(one).release());
    EXPECT_EQ(unix_datagram::adopt(fd).error(), std::errc::wrong_protocol_type);
    EXPECT_EQ(unix_listener::adopt(fd).error(), std::errc::wrong_protocol_type);
    unix_stream again = demand(unix_stream::adopt(fd));
    auto [reader, writer] = std::move(again).split();
    const result<std::size_t> put = co_await writer.write_all(bytes_of("abc"));
    EXPECT_TRUE(put.has_value());
    std::array<std::byte, 16> buffer;
    const result<std::size_t> got = co_await two.read(buffer);
    EXPECT_EQ(got.value_or(0), 3U);
    auto whole = unix_stream::reunite(std::move(reader), std::move(writer));
    EXPECT_TRUE(whole.has_value());
    demand(whole->shutdown_write());
    const result<std::size_t> end = co_await two.read(buffer);
    EXPECT_EQ(end.value_or(9), 0U);
  });
}

TEST_F(unix_sockets, an_accept_is_a_case_of_a_select) {
  run([]() -> task<> {
    unix_listener listener = demand(unix_listener::bind(abstract_name("select")));
    sync::event stop;
    stop.set();
    auto which = co_await channel::select(listener.accept(), stop.wait());
    EXPECT_EQ(which.index(), 1U);
    const auto none = listener.try_accept();
    EXPECT_TRUE(!none.has_value() && none.error() == std::errc::operation_would_block);
  });
}

TEST_F(unix_sockets, datagrams_know_their_sender) {
  run([this]() -> task<> {
    unix_datagram one = demand(unix_datagram::bind(at("one"), {.unlink_at_end = true}));
    unix_datagram two = demand(unix_datagram::bind(abstract_name("two")));
    unix_datagram nobody = demand(unix_datagram::unbound());
    const unix_endpoint to_two = demand(two.local_endpoint());
    std::array<std::byte, 16> buffer;
    unix_endpoint from = to_two;
    const result<std::size_t> first = co_await one.send_to(bytes_of("hello"), to_two);
    EXPECT_TRUE(first.has_value());
    const result<std::size_t> got = co_await two.recv_from(buffer, from);
    EXPECT_TRUE(got.value_or(0) == 5U && from == at("one"));
    const result<std::size_t> second = co_await nobody.send_to(bytes_of(""), to_two);
    EXPECT_TRUE(second.has_value());
    const result<std::size_t> empty = co_await two.recv_from(buffer, from);
    EXPECT_TRUE(empty.value_or(9) == 0U && from.is_unnamed());
    demand(two.connect(at("one")));
    EXPECT_EQ(demand(two.peer_endpoint()), at("one"));
    auto [in, out] = std::move(one).split();
    const result<std::size_t> answer = co_await two.send(bytes_of("yes"));
    EXPECT_TRUE(answer.has_value());
    const result<std::size_t> heard = co_await in.recv(buffer);
    EXPECT_EQ(heard.value_or(0), 3U);
    const result<std::size_t> back = co_await out.send_to(bytes_of("x"), to_two);
    EXPECT_EQ(back.value_or(0), 1U);
    demand(two.disconnect());
    const result<std::size_t> lost = co_await two.send(bytes_of("x"));
    EXPECT_TRUE(!lost.has_value() && lost.error() == std::errc::not_connected);
    const result<std::size_t> gone = co_await two.send_to(bytes_of("x"), at("never"));
    EXPECT_TRUE(!gone.has_value() && gone.error() == std::errc::no_such_file_or_directory);
  });
  EXPECT_FALSE(std::filesystem::exists(path("one")));
}

/// Sends `count` messages, more than the queue holds: the sender waits, and none is lost.
task<> sends_many(unix_datagram& from, const unix_endpoint* to, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string text = std::to_string(i);
    result<std::size_t> sent;
    if (to != nullptr) {
      sent = co_await from.send_to(bytes_of(text), *to);
    } else {
      sent = co_await from.send(bytes_of(text));
    }
    EXPECT_TRUE(sent.has_value());
  }
}

task<> receives_many(unix_datagram& at, int count) {
  std::array<std::byte, 16> buffer;
  for (int i = 0; i < count; ++i) {
    if (i % 50 == 0) co_await sleep_for(1ms);  // the queue is full by then
    const result<std::size_t> got = co_await at.recv(buffer);
    EXPECT_EQ(text_of(std::span(buffer).first(got.value_or(0))), std::to_string(i));
  }
}

TEST_F(unix_sockets, datagrams_wait_for_a_slow_receiver) {
  constexpr int many = 2'000;
  for (const bool connected : {false, true}) {
    run(
        [](bool by_peer) -> task<> {
          unix_datagram two = demand(unix_datagram::bind(abstract_name(by_peer ? "slow 1" : "slow 2")));
          unix_datagram one = demand(unix_datagram::unbound());
          const unix_endpoint to = demand(two.local_endpoint());
          if (by_peer) demand(one.connect(to));
          auto sending = spawn(sends_many(one, by_peer ? nullptr : &to, many));
          co_await receives_many(two, many);
          co_await sending;
        },
        connected);
  }
  run([]() -> task<> {
    auto [one, two] = demand(unix_datagram::pair());
    auto sending = spawn(sends_many(one, nullptr, many));
    co_await receives_many(two, many);
    co_await sending;
  });
}

TEST(unix_endpoints, are_paths_or_names_or_none) {
  const std::string long_one(unix_endpoint::most, 'x');
  for (const bool is_path : {true, false}) {
    const auto make = is_path ? &unix_endpoint::path : &unix_endpoint::abstract;
    const unix_endpoint made = demand(make(long_one));
    EXPECT_EQ(made.name(), long_one);
    EXPECT_EQ(made.is_abstract(), !is_path);
    EXPECT_EQ(make(long_one + "x").error(), std::errc::filename_too_long);
    EXPECT_EQ(make("").error(), std::errc::invalid_argument);
    sockaddr_storage native;
    const std::size_t size = made.to_native(&native);
    EXPECT_LE(size, sizeof(sockaddr_un));
    EXPECT_EQ(demand(unix_endpoint::from_native(&native, size)), made);
  }
  EXPECT_EQ(unix_endpoint::path(std::string_view("a\0b", 3)).error(), std::errc::invalid_argument);
  EXPECT_EQ(demand(unix_endpoint::path("/run/x")).to_string(), "/run/x");
  EXPECT_EQ(demand(unix_endpoint::abstract(std::string_view("a\0\xff", 3))).to_string(), "@a\\x00\\xff");
  EXPECT_EQ(unix_endpoint::unnamed().to_string(), "(unnamed)");
  const sockaddr wrong{.sa_family = AF_INET, .sa_data = {}};
  EXPECT_EQ(unix_endpoint::from_native(&wrong, sizeof wrong).error(),
            std::errc::address_family_not_supported);
  EXPECT_EQ(unix_endpoint::from_native(&wrong, 1).error(), std::errc::invalid_argument);
}

}  // namespace
}  // namespace rota::test::unix_test
