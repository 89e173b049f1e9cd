// A task in every kind of wait of sync and channel when the shutdown begins: see shutdown_waits.hpp.
#include "api/shutdown_waits.hpp"

#include <rota/async_generator.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>
#include <rota/stream.hpp>
#include <rota/sync/barrier.hpp>
#include <rota/sync/condition_variable.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/latch.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/sync/shared_mutex.hpp>

#include <utility>

namespace rota::test {
namespace {

/// Gives one number at once, and the next one never.
async_generator<int> numbers(witness /*mine*/) {
  co_yield 1;
  co_await sleep_for(std::chrono::hours::max());
}

task<int> wait_here(surroundings& s) {
  const witness mine = s.guest();
  co_await s.never();
  co_return 1;
}
task<int> never_made() {
  co_await sleep_for(std::chrono::hours::max());
  co_return 1;
}

// Locks and signals. The waiting task itself holds the lock, so the lock is never unlocked.
const wait_kind of_sync[] = {
    {"a_mutex",
     [](surroundings&, witness) -> task<> {
       sync::mutex m;
       const auto held = m.try_lock();
       static_cast<void>(co_await m.lock());
     },
     "for mutex lock",
     1},
    {"a_mutex_with_a_limit",
     [](surroundings&, witness) -> task<> {
       sync::mutex m;
       const auto held = m.try_lock();
       static_cast<void>(co_await m.lock_for(1h));
     },
     "for mutex lock",
     1},
    {"a_shared_mutex_that_is_read",
     [](surroundings&, witness) -> task<> {
       sync::shared_mutex m;
       const auto held = m.try_lock_shared();
       static_cast<void>(co_await m.lock());
     },
     "for shared_mutex lock",
     1},
    {"a_shared_mutex_that_is_written",
     [](surroundings&, witness) -> task<> {
       sync::shared_mutex m;
       const auto held = m.try_lock();
       static_cast<void>(co_await m.lock_shared());
     },
     "for shared_mutex lock_shared",
     1},
    {"a_semaphore_with_some_of_its_permits",
     [](surroundings&, witness) -> task<> {
       sync::semaphore one(1);
       static_cast<void>(co_await one.acquire(2));
     },
     "for semaphore acquire",
     1},
    {"a_notify",
     [](surroundings&, witness) -> task<> {
       sync::notify changed;
       co_await changed.wait();
     },
     "for notify wait",
     1},
    {"an_event",
     [](surroundings&, witness) -> task<> {
       sync::event ready;
       co_await ready.wait();
     },
     "for event wait",
     1},
    {"an_event_that_resets_itself",
     [](surroundings&, witness) -> task<> {
       sync::event next(sync::event_reset::automatic);
       co_await next.wait();
     },
     "for event wait",
     1},
    {"a_latch",
     [](surroundings&, witness) -> task<> {
       sync::latch loaded(1);
       co_await loaded.wait();
     },
     "for latch wait",
     1},
    {"a_barrier",
     [](surroundings&, witness) -> task<> {
       sync::barrier step(2);
       static_cast<void>(co_await step.arrive_and_wait());
     },
     "for barrier",
     1},
    {"a_condition_variable",
     [](surroundings&, witness) -> task<> {
       sync::mutex m;
       sync::condition_variable changed;
       auto held = co_await m.lock();
       co_await changed.wait(held);
     },
     "for condition_variable wait",
     1},
    {"a_condition_that_is_never_met",
     [](surroundings&, witness) -> task<> {
       sync::mutex m;
       sync::condition_variable changed;
       auto held = co_await m.lock();
       static_cast<void>(co_await changed.wait_for(held, 1h, [] { return false; }));
     },
     "for condition_variable wait",
     1},
    {"a_once_cell",
     [](surroundings&, witness) -> task<> {
       sync::once_cell<int> cell;
       static_cast<void>(co_await cell.wait());
     },
     "for once_cell wait",
     1},
    {"the_making_of_a_once_cell",
     [](surroundings& s, witness) -> task<> {
       static_cast<void>(co_await s.cell.get_or_init([&s] { return wait_here(s); }));
     },
     "for event",
     2},
    {"a_once_cell_that_another_makes",
     [](surroundings& s, witness) -> task<> {
       const auto other = [](sync::once_cell<int>& cell, witness) -> task<> {
         static_cast<void>(co_await cell.get_or_init(never_made));
       };
       spawn(other(s.cell, s.guest())).detach();
       static_cast<void>(co_await s.cell.get_or_init(never_made));
     },
     "for once_cell get_or_init",
     2},
    {"a_turn_of_a_strand",
     [](surroundings& s, witness) -> task<> {
       s.line.post(naps, s.guest()).detach();
       co_await s.line.run([] {});
     },
     "for strand run",
     2},
    {"a_place_in_a_strand",
     [](surroundings& s, witness) -> task<> {
       s.line.post(naps, s.guest()).detach();
       join_handle<void> behind = s.line.post(naps, s.guest());
       co_await behind;
     },
     "for strand post",
     3},
    {"the_end_of_a_strand",
     [](surroundings& s, witness) -> task<> {
       s.line.post(naps, s.guest()).detach();
       co_await s.line.join();
     },
     "for strand join",
     2},
};

const wait_kind of_channels[] = {
    {"a_receive_from_a_channel",
     [](surroundings&, witness) -> task<> {
       auto made = channel::bounded<int>(1);
       static_cast<void>(co_await made.receiver.recv());
     },
     "for channel receive",
     1},
    {"a_send_to_a_full_channel",
     [](surroundings& s, witness mine) -> task<> {
       auto made = channel::bounded<witness>(1);
       static_cast<void>(made.sender.try_send(std::move(mine)));
       static_cast<void>(co_await made.sender.send(s.guest()));
     },
     "for channel send",
     2},
    {"a_send_to_a_channel_that_is_full_by_weight",
     [](surroundings& s, witness mine) -> task<> {
       auto made =
           channel::bounded_by_weight<witness>(4, 1, [](const witness& /*item*/) noexcept { return 1U; });
       static_cast<void>(made.sender.try_send(std::move(mine)));
       static_cast<void>(co_await made.sender.send(s.guest()));
     },
     "for channel send",
     2},
    {"a_receive_from_an_unbounded_channel_with_a_limit",
     [](surroundings&, witness) -> task<> {
       auto made = channel::unbounded<int>();
       static_cast<void>(co_await made.receiver.recv_for(1h));
     },
     "for channel receive",
     1},
    {"a_oneshot",
     [](surroundings&, witness) -> task<> {
       auto made = channel::oneshot<int>();
       static_cast<void>(co_await made.receiver.recv());
     },
     "for oneshot receive",
     1},
    {"a_change_of_a_watch",
     [](surroundings&, witness) -> task<> {
       auto made = channel::watch(1);
       static_cast<void>(co_await made.receiver.changed());
     },
     "for watch change",
     1},
    {"a_value_of_a_watch",
     [](surroundings&, witness) -> task<> {
       auto made = channel::watch(1);
       static_cast<void>(co_await made.receiver.when([](int n) { return n == 2; }));
     },
     "for watch change",
     1},
    {"a_broadcast",
     [](surroundings&, witness) -> task<> {
       auto made = channel::broadcast<int>(1);
       static_cast<void>(co_await made.receiver.recv());
     },
     "for broadcast receive",
     1},
    {"a_receive_from_an_unbounded_channel",
     [](surroundings&, witness) -> task<> {
       auto made = channel::unbounded<int>();
       static_cast<void>(co_await made.receiver.recv());
     },
     "for channel receive",
     1},
    {"a_wait_for_the_end_of_a_channel",
     [](surroundings&, witness) -> task<> {
       auto made = channel::bounded<int>(1);
       co_await made.sender.closed();
     },
     "for channel close",
     1},
    {"a_wait_for_the_receivers_of_a_watch",
     [](surroundings&, witness) -> task<> {
       auto made = channel::watch<int>(1);
       co_await made.sender.closed();
     },
     "for receivers to go",
     1},
    {"a_wait_for_others_at_a_barrier",
     [](surroundings&, witness) -> task<> {
       sync::barrier step(2);
       const auto mine = step.arrive();
       co_await step.wait(mine);
     },
     "for barrier",
     1},
    {"a_send_to_a_full_channel_with_a_limit",
     [](surroundings& s, witness mine) -> task<> {
       auto made = channel::bounded<witness>(1);
       static_cast<void>(made.sender.try_send(std::move(mine)));
       static_cast<void>(co_await made.sender.send_for(1h, s.guest()));
     },
     "for channel send",
     2},
    {"a_select",
     [](surroundings& s, witness mine) -> task<> {
       auto numbers = channel::bounded<int>(1);
       auto guests = channel::bounded<witness>(1);
       static_cast<void>(guests.sender.try_send(std::move(mine)));
       sync::event stop;
       co_await channel::select(
           numbers.receiver.recv(), guests.sender.send(s.guest()), stop.wait(), sleep_for(1h));
     },
     "for select",
     2},
    {"a_select_of_a_handle",
     [](surroundings& s, witness) -> task<> {
       join_handle<void> other = spawn(naps(s.guest()));
       co_await channel::select(other, sleep_for(1h));
     },
     "for select",
     2},
    {"the_next_of_an_async_generator",
     [](surroundings& s, witness) -> task<> {
       auto all = numbers(s.guest());
       static_cast<void>(co_await all.next());
       static_cast<void>(co_await all.next());
     },
     "for sleep",
     2},
    {"an_async_generator_that_rests",
     [](surroundings& s, witness) -> task<> {
       auto all = numbers(s.guest());
       static_cast<void>(co_await all.next());
       co_await s.never();
     },
     "for event",
     2},
    {"a_stream",
     [](surroundings& s, witness) -> task<> {
       auto twice = stream::map(numbers(s.guest()), [](int n) { return 2 * n; });
       auto first = stream::take(std::move(twice), 2);
       static_cast<void>(co_await first.next());
       static_cast<void>(co_await first.next());
     },
     "for sleep",
     2},
    {"a_merge_of_receivers",
     [](surroundings&, witness) -> task<> {
       auto one = channel::bounded<int>(1);
       auto two = channel::bounded<int>(1);
       auto both = stream::merge(one.receiver, two.receiver);
       static_cast<void>(co_await both.next());
     },
     "for select",
     1},
    {"a_stream_with_works_ahead",
     [](surroundings& s, witness) -> task<> {
       co_await with_scope([&s](scope& inside) -> task<> {
         auto f = [](int) { return never_made(); };
         auto ahead = stream::buffered(inside, numbers(s.guest()), 2, f);
         static_cast<void>(co_await ahead.next());
       });
     },
     "for channel receive",
     2},
};

class shutdown_of_sync : public shutdown_in {};
TEST_P(shutdown_of_sync, ends_the_waiting_task) { ends_it(); }
INSTANTIATE_TEST_SUITE_P(every_kind_of_wait,
                         shutdown_of_sync,
                         ::testing::Combine(::testing::ValuesIn(of_sync), ::testing::Values(1U, 2U)),
                         name_of_kind);

class shutdown_of_channels : public shutdown_in {};
TEST_P(shutdown_of_channels, ends_the_waiting_task) { ends_it(); }
INSTANTIATE_TEST_SUITE_P(every_kind_of_wait,
                         shutdown_of_channels,
                         ::testing::Combine(::testing::ValuesIn(of_channels), ::testing::Values(1U, 2U)),
                         name_of_kind);

}  // namespace
}  // namespace rota::test
