// Sockets and signals without memory: the operation fails, leaks no descriptor, and can be repeated.
#include "support/scratch_folder.hpp"
#include "unit/faults/allocation_support.hpp"

#include <rota/fs/file.hpp>
#include <rota/fs/temporary.hpp>
#include <rota/fs/walk.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/rota.hpp>
#include <rota/unix_signal.hpp>

#include <gtest/gtest.h>

#include <unistd.h>
#include <array>
#include <csignal>
#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <utility>

namespace rota::allocations_in_io_test {
namespace {

using namespace std::chrono_literals;
using net::endpoint;
using net::tcp_listener;
using net::tcp_stream;
using test::memory;

template <class T>
T demand(std::expected<T, std::error_code> got) {
  if (!got.has_value()) throw std::system_error(got.error());
  return std::move(*got);
}

task<> answer(tcp_listener& listener) {
  auto accepted = co_await listener.accept();
  tcp_stream peer = demand(std::move(accepted));
  std::array<std::byte, 64> buffer;
  auto got = co_await peer.read(buffer);
  const std::size_t size = demand(std::move(got));
  auto put = co_await peer.write_all(std::span(buffer).first(size));
  demand(std::move(put));
}

task<> ask(endpoint where) {
  auto connected = co_await tcp_stream::connect(where);
  tcp_stream stream = demand(std::move(connected));
  auto [reader, writer] = std::move(stream).split();
  std::array<std::byte, 64> buffer{};
  auto put = co_await writer.write(std::span(buffer).first(5));
  demand(std::move(put));
  auto got = co_await reader.read(buffer);
  demand(std::move(got));
}

/// If one side has no memory, the other side is cancelled, so neither waits for ever.
task<> talk() {
  tcp_listener listener = demand(tcp_listener::bind(endpoint::loopback_v4(0)));
  const endpoint where = demand(listener.local_endpoint());
  co_await with_scope([&](scope& s) -> task<> {
    s.fork(answer(listener));
    s.fork(ask(where));
    co_return;
  });
}

struct small_tree : test::scratch_folder {
  small_tree() {
    write("a/file", "text");
    write("b", "");
  }
};

struct call {
  const char* name;
  task<> (*body)();
};
std::ostream& operator<<(std::ostream& out, const call& c) { return out << c.name; }

const call calls[] = {
    {"bind",
     []() -> task<> {
       const tcp_listener listener = demand(tcp_listener::bind(endpoint::loopback_v4(0)));
       co_return;
     }},
    {"connect_accept_read_and_write", talk},
    {"an_accept_that_is_given_up",
     []() -> task<> {
       tcp_listener listener = demand(tcp_listener::bind(endpoint::loopback_v4(0)));
       static_cast<void>(co_await timeout(1us, listener.accept()));
     }},
    {"a_file",
     []() -> task<> {
       auto made = co_await fs::temp_file();
       fs::file f = demand(std::move(made));
       std::array<std::byte, 64> buffer{};
       const auto put = co_await f.write(buffer);
       demand(put);
       const auto got = co_await f.read_at(buffer, 0);
       if (demand(got) != buffer.size()) throw std::logic_error("less than there is");
       const auto info = co_await f.metadata();
       if (demand(info).size != buffer.size()) throw std::logic_error("another size");
     }},
    {"a_walk_and_a_whole_file",
     []() -> task<> {
       static const small_tree tree;
       const auto text = co_await fs::read_to_string(tree.at("a/file"));
       if (demand(text) != "text") throw std::logic_error("another text");
       fs::walk through(tree.root());
       std::size_t entries = 0;
       for (;; ++entries) {
         const auto each = co_await through.next();
         if (!each) break;
       }
       if (entries != 4) throw std::logic_error("not all of the tree");
     }},
    {"endpoints_in_words",
     []() -> task<> {
       const std::string text = endpoint::parse("[2001:db8::5]:65535")->to_string();
       if (text.empty()) throw std::logic_error("no text");
       co_return;
     }},
    {"a_signal",
     []() -> task<> {
       unix_signal both = demand(unix_signal::open({SIGUSR1, SIGUSR2}));
       static_cast<void>(::kill(::getpid(), SIGUSR2));  // workers block signals
       const int got = co_await both.next();
       if (got != SIGUSR2) throw std::logic_error("another signal");
     }},
};

/// Returns true if the other side's connection was not adopted, which this side sees as a close.
bool is_peers_loss(const std::string& what) {
  return what.find("reset") != std::string::npos || what.find("Broken pipe") != std::string::npos;
}

class allocations_in_io : public ::testing::TestWithParam<std::tuple<call, std::size_t>> {};

TEST_P(allocations_in_io, fail_one_after_the_other) {
  const auto& [what, in_a_row] = GetParam();
  test::forgo_frame_cache();
  // The first subscription keeps the descriptors of signals for later ones.
  run(what.body());
  test::until_alone();
  test::until_clean([&](std::size_t nth) {
    const long before = memory::live();
    const std::size_t files = test::open_files();
    std::size_t failed = 0;
    {
      runtime rt(test::short_of_memory());
      test::join_on_worker(rt.spawn(test::without_cache()));
      memory::fail_after(nth, in_a_row);
      const test::verdict v = test::judge([&] { test::join_on_worker(rt.spawn(what.body())); });
      failed = memory::stop_failing();
      EXPECT_TRUE(v.how != test::ending::other || is_peers_loss(v.what)) << v.what;
      test::join_on_worker(rt.spawn(what.body()));
    }
    test::until_alone();
    EXPECT_EQ(memory::live(), before);
    EXPECT_EQ(test::open_files(), files);
    EXPECT_EQ(test::strange_ends, 0);
    return failed;
  });
}

INSTANTIATE_TEST_SUITE_P(each_call,
                         allocations_in_io,
                         ::testing::Combine(::testing::ValuesIn(calls), ::testing::Values(1, 3)),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).name) +
                                  (std::get<1>(one.param) == 1 ? "_one" : "_three_in_a_row");
                         });

}  // namespace
}  // namespace rota::allocations_in_io_test
