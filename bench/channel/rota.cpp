// QUESTION  What does an item cost that goes through a channel: by one thread, between two tasks, from many
//           to one, from many to many, from one of two channels?
// WHY       Channels are how tasks communicate; Volt and Tokio publish these very cases.
// BASELINE  Tokio's and Go's channels. Volt's published cases, with its parameters: rounds of 100,000, of
//           10,000 with tasks, 4 workers.
// READ IT   ns per operation; the comment of each case says what one operation is. channel_mpmc includes a
//           round's spawns, joins and its channel. Two shapes are two cases: the root, which receives, is a
//           task of the runtime, or (block_on) runs on the calling thread.
#include "support/rounds.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>
#include <rota/spawn.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace {

using bench::spent;
using bench::stretch;
using rota::channel::bounded;
using rota::channel::recv_status;
using rota::channel::send_status;
using rota::channel::unbounded;
using item = std::uint64_t;

constexpr std::uint64_t alone_round = 100'000;
constexpr std::uint64_t task_round = 10'000;

// ---- alone, without a runtime

/// A round: a channel, 100,000 sends and 100,000 receives. Only the sends, or only the receives, are timed.
spent fill_and_drain(std::uint64_t n, bool times_sends) {
  auto [tx, rx] = bounded<item>(alone_round);
  const stretch sending;
  for (item i = 0; i < n; ++i) {
    if (tx.try_send(i) != send_status::sent) bench::fail("a channel has no room");
  }
  const spent sends = sending.end();
  const stretch receiving;
  for (item i = 0; i < n; ++i) {
    if (rx.try_recv() != i) bench::fail("a channel has lost its order");
  }
  return times_sends ? sends : receiving.end();
}

spent channel_send(std::uint64_t n) { return fill_and_drain(n, true); }
spent channel_recv(std::uint64_t n) { return fill_and_drain(n, false); }

spent channel_roundtrip(std::uint64_t n) {
  auto [tx, rx] = bounded<item>(1);
  const stretch measured;
  for (item i = 0; i < n; ++i) {
    if (tx.try_send(i) != send_status::sent || rx.try_recv() != i) bench::fail("a channel has lost an item");
  }
  return measured.end();
}

spent oneshot(std::uint64_t n) {
  const stretch measured;
  for (item i = 0; i < n; ++i) {
    auto [tx, rx] = rota::channel::oneshot<item>();
    if (std::move(tx).send(i) != send_status::sent || rx.try_recv() != i)
      bench::fail("a oneshot has lost its item");
  }
  return measured.end();
}

/// One operation: a send, and the receive of each of four receivers.
spent broadcast(std::uint64_t n) {
  auto [tx, first] = rota::channel::broadcast<item>(alone_round);
  std::vector<rota::channel::broadcast_receiver<item>> all;
  all.push_back(std::move(first));
  for (int i = 0; i < 3; ++i) all.push_back(tx.subscribe());
  const stretch measured;
  for (item i = 0; i < n; ++i) {
    if (tx.send(i) != send_status::sent) bench::fail("a broadcast is closed too early");
  }
  for (auto& rx : all) {
    for (item i = 0; i < n; ++i) {
      if (const auto got = rx.try_recv(); !got || *got != i) bench::fail("a broadcast has lost its order");
    }
  }
  return measured.end();
}

spent watch(std::uint64_t n) {
  auto [tx, rx] = rota::channel::watch<item>(0);
  const stretch measured;
  for (item i = 0; i < n; ++i) {
    if (tx.send(i) != send_status::sent) bench::fail("a watch is closed too early");
    if (rx.borrow([](const item& value) { return value; }) != i) bench::fail("a watch has lost a value");
  }
  return measured.end();
}

// ---- many to many

template <class Sender>
rota::task<void> send_some(Sender to, std::uint64_t n) {
  for (item i = 0; i < n; ++i) {
    const send_status how = co_await to.send(i);
    if (how != send_status::sent) bench::fail("a channel is closed too early");
  }
}

template <class Receiver>
rota::task<std::uint64_t> receive_all(Receiver from) {
  for (std::uint64_t count = 0;; ++count) {
    const std::optional<item> got = co_await from.recv();
    if (!got) co_return count;
  }
}

constexpr std::uint64_t sides = 4;

rota::task<spent> channel_mpmc(std::uint64_t n) {
  const stretch measured;
  std::vector<rota::join_handle<void>> senders;
  std::vector<rota::join_handle<std::uint64_t>> receivers;
  {
    auto [tx, rx] = bounded<item>(1000);
    for (std::uint64_t i = 0; i < sides; ++i) senders.push_back(rota::spawn(send_some(tx, n / sides)));
    for (std::uint64_t i = 0; i < sides; ++i) receivers.push_back(rota::spawn(receive_all(rx)));
  }
  std::uint64_t count = 0;
  for (auto& each : senders) co_await each;
  for (auto& each : receivers) {
    const std::uint64_t received = co_await each;
    count += received;
  }
  if (count != n / sides * sides) bench::fail("a channel has lost an item");
  co_return measured.end();
}

// ---- between two, and many to one: no round

template <class Receiver, class Sender>
rota::task<void> send_back(Receiver from, Sender to) {
  for (;;) {
    const std::optional<item> got = co_await from.recv();
    if (!got) co_return;
    const send_status how = co_await to.send(*got);
    if (how != send_status::sent) bench::fail("a channel is closed too early");
  }
}

rota::task<void> round_trip(std::uint64_t n) {
  auto there = bounded<item>(1);
  auto back = bounded<item>(1);
  rota::join_handle<void> other = rota::spawn(send_back(std::move(there.receiver), std::move(back.sender)));
  for (item i = 0; i < n; ++i) {
    const send_status how = co_await there.sender.send(i);
    const std::optional<item> got = co_await back.receiver.recv();
    if (how != send_status::sent || got != i) bench::fail("a channel has lost its order");
  }
  there.sender.close();
  co_await other;
}

template <std::uint64_t Senders, class Halves>
rota::task<void> to_one(Halves both, std::uint64_t n) {
  std::vector<rota::join_handle<void>> all;
  for (std::uint64_t i = 0; i < Senders; ++i) all.push_back(rota::spawn(send_some(both.sender, n / Senders)));
  for (std::uint64_t i = 0; i < n / Senders * Senders; ++i) {
    const std::optional<item> got = co_await both.receiver.recv();
    if (!got) bench::fail("a channel is closed too early");
  }
  for (auto& each : all) co_await each;
}

template <std::uint64_t Senders>
rota::task<void> mpsc(std::uint64_t n) {
  co_await to_one<Senders>(bounded<item>(128), n);
}
template <std::uint64_t Senders>
rota::task<void> mpsc_unbounded(std::uint64_t n) {
  co_await to_one<Senders>(unbounded<item>(), n);
}

/// Receives from two channels with one sender each.
rota::task<void> select_of_two(std::uint64_t n) {
  auto left = bounded<item>(128);
  auto right = bounded<item>(128);
  rota::join_handle<void> to_left = rota::spawn(send_some(left.sender, n / 2));
  rota::join_handle<void> to_right = rota::spawn(send_some(right.sender, n / 2));
  std::uint64_t from_left = 0;
  for (item i = 0; i < n / 2 * 2; ++i) {
    auto first = co_await rota::channel::select(left.receiver.recv(), right.receiver.recv());
    const bool is_left = first.index() == 0;
    const std::optional<item> got = is_left ? first.get<0>() : first.get<1>();
    if (got != (is_left ? from_left : i - from_left)) bench::fail("a channel has lost its order");
    from_left += is_left ? 1 : 0;
  }
  co_await to_left;
  co_await to_right;
}

constexpr bench::one_case cases[] = {
    {"channel_send", "ns", 5'000'000, 1'000'000, bench::rounds<channel_send, alone_round>},
    {"channel_recv", "ns", 5'000'000, 1'000'000, bench::rounds<channel_recv, alone_round>},
    {"channel_roundtrip", "ns", 5'000'000, 1'000'000, bench::rounds<channel_roundtrip, alone_round>},
    {"oneshot", "ns", 5'000'000, 1'000'000, bench::rounds<oneshot, alone_round>},
    {"broadcast", "ns", 1'000'000, 300'000, bench::rounds<broadcast, alone_round>},
    {"watch", "ns", 5'000'000, 1'000'000, bench::rounds<watch, alone_round>},
    {"channel_mpmc", "ns", 2'000'000, 500'000, bench::rounds_on_worker<channel_mpmc, task_round>},
    {"channel_mpmc_block_on", "ns", 2'000'000, 500'000, bench::rounds_in_block_on<channel_mpmc, task_round>},
    {"round_trip", "ns", 1'000'000, 200'000, bench::on_worker<round_trip>},
    {"round_trip_block_on", "ns", 100'000, 20'000, bench::in_block_on<round_trip>},
    {"mpsc_1", "ns", 5'000'000, 1'000'000, bench::on_worker<mpsc<1>>},
    {"mpsc_1_block_on", "ns", 5'000'000, 1'000'000, bench::in_block_on<mpsc<1>>},
    {"mpsc_1_unbounded", "ns", 5'000'000, 1'000'000, bench::on_worker<mpsc_unbounded<1>>},
    {"mpsc_1_unbounded_block_on", "ns", 5'000'000, 1'000'000, bench::in_block_on<mpsc_unbounded<1>>},
    {"mpsc_4", "ns", 5'000'000, 1'000'000, bench::on_worker<mpsc<4>>},
    {"mpsc_4_block_on", "ns", 5'000'000, 1'000'000, bench::in_block_on<mpsc<4>>},
    {"mpsc_4_unbounded", "ns", 5'000'000, 1'000'000, bench::on_worker<mpsc_unbounded<4>>},
    {"mpsc_4_unbounded_block_on", "ns", 5'000'000, 1'000'000, bench::in_block_on<mpsc_unbounded<4>>},
    {"select", "ns", 2'000'000, 500'000, bench::on_worker<select_of_two>},
    {"select_block_on", "ns", 2'000'000, 500'000, bench::in_block_on<select_of_two>},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, cases); }
