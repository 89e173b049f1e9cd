// A task in every kind of wait when the shutdown begins: see shutdown_waits.hpp. For sync and channel see
// shutdown_primitives_test.cpp.
#include "api/shutdown_waits.hpp"

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rota::test {
namespace {

using net::tcp_listener;
using net::tcp_stream;

task<int> naps_for_a_number(witness /*mine*/) {
  co_await sleep_for(std::chrono::hours::max());
  co_return 1;
}

std::pair<tcp_listener, net::endpoint> listener_here() {
  auto made = tcp_listener::bind(net::endpoint::loopback_v4(0));
  if (!made.has_value()) throw std::system_error(made.error());
  const net::endpoint where = made->local_endpoint().value();
  return {std::move(*made), where};
}

const wait_kind kinds[] = {
    {"a_sleep", [](surroundings&, witness) -> task<> { co_await sleep_for(1h); }, "for sleep", 1},
    {"a_sleep_without_an_end",
     [](surroundings&, witness) -> task<> {
       co_await sleep_until(std::chrono::steady_clock::time_point::max());
     },
     "for sleep",
     1},
    {"an_interval",
     [](surroundings&, witness) -> task<> {
       interval every(1h);
       co_await every.tick();
     },
     "for interval",
     1},
    {"a_leaf_of_the_users", [](surroundings& s, witness) -> task<> { co_await s.never(); }, "for event", 1},
    {"a_frame_below", [](surroundings& s, witness) -> task<> { co_await naps(s.guest()); }, "for sleep", 2},
    {"a_yield",
     [](surroundings& s, witness) -> task<> {
       s.inside.release();
       for (;;) co_await yield();
     },
     "",
     1},
    {"a_checkpoint",
     [](surroundings& s, witness) -> task<> {
       s.inside.release();
       for (;;) co_await checkpoint();
     },
     "",
     1},
    {"a_join",
     [](surroundings& s, witness) -> task<> {
       join_handle<void> other = spawn(naps(s.guest()));
       co_await other;
     },
     "for join",
     2},
    {"a_detached_wait",
     [](surroundings& s, witness) -> task<> {
       join_handle<void> other = spawn(naps(s.guest()));
       co_await other.detached_wait();
     },
     "for join",
     2},
    {"a_join_of_itself_in_a_circle",
     [](surroundings& s, witness) -> task<> {
       // A cycle: the task owns a handle, and the handle's task owns a reference back. No outside owner.
       auto holder = std::make_shared<std::optional<join_handle<void>>>();
       const auto child = [](std::shared_ptr<std::optional<join_handle<void>>> self, witness) -> task<> {
         co_await sleep_for(1h);
         self->reset();
       };
       holder->emplace(spawn(child(holder, s.guest())));
       co_await sleep_for(1h);
     },
     "for sleep",
     2},
    {"a_blocking_join",
     [](surroundings& s, witness) -> task<> {
       join_handle<void> other = spawn(naps(s.guest()));
       other.join();
       co_return;
     },
     "for sleep",
     2},
    {"children_of_a_scope",
     [](surroundings& s, witness) -> task<> {
       co_await with_scope([&s](scope& inside) -> task<> {
         inside.fork(naps(s.guest()));
         inside.fork(naps(s.guest()));
         co_return;
       });
     },
     "for children",
     3},
    {"the_body_of_a_scope",
     [](surroundings& s, witness) -> task<> {
       co_await with_scope([&s](scope& inside) -> task<> {
         inside.fork(naps(s.guest()));
         co_await s.never();
       });
     },
     "for event",
     2},
    {"the_close_of_an_async_scope",
     [](surroundings& s, witness) -> task<> {
       async_scope open;
       open.fork(naps(s.guest()));
       co_await open.close();
     },
     "for children",
     2},
    {"the_next_of_a_join_set",
     [](surroundings& s, witness) -> task<> {
       join_set<int> set;
       set.spawn(naps_for_a_number(s.guest()));
       static_cast<void>(co_await set.next());
     },
     "for join_set",
     2},
    {"when_all",
     [](surroundings& s, witness) -> task<> { co_await when_all(naps(s.guest()), naps(s.guest())); },
     "for when",
     3},
    {"when_any",
     [](surroundings& s, witness) -> task<> { co_await when_any(naps(s.guest()), naps(s.guest())); },
     "for when",
     3},
    {"a_timeout",
     [](surroundings& s, witness) -> task<> { static_cast<void>(co_await timeout(1h, naps(s.guest()))); },
     "for sleep",
     2},
    {"a_deadline",
     [](surroundings& s, witness) -> task<> {
       const auto at = std::chrono::steady_clock::now() + 1h;
       static_cast<void>(co_await with_deadline(at, naps(s.guest())));
     },
     "for sleep",
     2},
    {"a_shield_without_a_limit",
     [](surroundings&, witness) -> task<> {
       const auto guard = shield(std::chrono::hours::max());
       co_await sleep_for(1h);
     },
     "for sleep",
     1},
    {"the_body_of_a_finally",
     [](surroundings& s, witness) -> task<> {
       const auto clean_up = [&s]() -> task<> {
         const witness mine = s.guest();
         co_await yield();
       };
       co_await finally(naps(s.guest()), clean_up, 1h);
     },
     "for sleep",
     3},
    {"the_clean_up_of_a_finally",
     [](surroundings& s, witness) -> task<> {
       const auto clean_up = [&s]() -> task<> {
         const witness mine = s.guest();
         co_await s.never();
       };
       const auto body = []() -> task<> { co_return; };
       co_await finally(body(), clean_up, std::chrono::hours::max());
     },
     "for event",
     2},
    {"an_accept",
     [](surroundings&, witness) -> task<> {
       auto [listener, where] = listener_here();
       static_cast<void>(co_await listener.accept());
     },
     "for socket accept",
     1},
    {"a_read",
     [](surroundings&, witness) -> task<> {
       auto [listener, where] = listener_here();
       auto stream = co_await tcp_stream::connect(where);
       std::array<std::byte, 8> buffer{};
       static_cast<void>(co_await stream->read(buffer));
     },
     "for socket read",
     1},
    {"a_write_that_nobody_reads",
     [](surroundings&, witness) -> task<> {
       auto [listener, where] = listener_here();
       auto stream = co_await tcp_stream::connect(where);
       const std::vector<std::byte> much(std::size_t{64} << 20U);
       static_cast<void>(co_await stream->write_all(much));
     },
     "for socket write",
     1},
    {"a_signal",
     [](surroundings&, witness) -> task<> {
       auto signals = unix_signal::open({SIGUSR1});
       static_cast<void>(co_await signals->next());
     },
     "for signal",
     1},
};

TEST_P(shutdown_in, ends_the_waiting_task) { ends_it(); }

INSTANTIATE_TEST_SUITE_P(every_kind_of_wait,
                         shutdown_in,
                         ::testing::Combine(::testing::ValuesIn(kinds), ::testing::Values(1U, 2U)),
                         name_of_kind);

}  // namespace
}  // namespace rota::test
