// Tasks and threads send and receive, in rounds of one kind of channel each. Some tasks are cancelled at any
// moment, some waits have limits. Each sent item is received or left over, once, in the order of its sender.
// A broadcast's count of lost items is exact. A watch never goes back and is never torn.
#include "zoo.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>
#include <rota/sync/event.hpp>

#include <array>
#include <expected>
#include <optional>

namespace zoo {
namespace {

namespace channel = rota::channel;
using channel::recv_status;
using channel::send_status;
using rota::task;

constexpr std::size_t senders = 8;

/// Knows how many of its kind there are.
struct item {
  item(std::size_t sender, std::uint64_t order) noexcept : from(sender), number(order) { ++alive; }
  item(const item& other) noexcept : from(other.from), number(other.number) { ++alive; }
  item(item&& other) noexcept : from(other.from), number(other.number) { ++alive; }
  item& operator=(const item&) = delete;
  ~item() { --alive; }

  std::size_t from;
  std::uint64_t number;
  static inline std::atomic<std::int64_t> alive{0};
};

struct account {
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> sum{0};
  void add(const item& one) {
    ++count;
    sum += one.from * 1'000'000 + one.number;
  }
  friend bool operator==(const account& a, const account& b) { return a.count == b.count && a.sum == b.sum; }
};

struct books {
  account sent;
  account received;
  std::atomic<std::size_t> next_sender{0};
};

/// The items that one receiver got: in order for each sender.
class in_order {
 public:
  void add(const item& one, account& to) {
    check(one.number > last_.at(one.from));
    last_.at(one.from) = one.number;
    to.add(one);
  }

 private:
  std::array<std::uint64_t, senders> last_{};
};

template <class Sender>
task<void> sends(Sender to, books& of, std::size_t me, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 1; i <= operations; ++i) {
    const item one(me, i);
    send_status how = send_status::full;
    switch (random() % 4) {
      case 0: how = to.try_send(item(one)); break;
      case 1: how = co_await to.send_for(in.some_time(random), one); break;
      default: how = co_await to.send(one); break;
    }
    if (how == send_status::sent) of.sent.add(one);
    check(how != send_status::closed && how != send_status::dropped);
    in.moved();
  }
}

template <class Receiver>
task<void> receives(Receiver from, books& of, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  in_order mine;
  for (;;) {
    if (random() % 4 == 0) {
      const auto got = co_await from.recv_for(in.some_time(random));
      if (got) mine.add(*got, of.received);
      if (!got && got.error() == recv_status::closed) co_return;
    } else {
      const auto got = co_await from.recv();
      if (!got) co_return;
      mine.add(*got, of.received);
    }
    in.moved();
  }
}

template <class Sender, class Receiver>
void exchange(cage& in, Sender to, Receiver from) {
  books of;
  const auto sender = [&](std::uint64_t seed) { return sends(to, of, of.next_sender++, in, seed); };
  in.tasks(6, cancelled::some, sender);
  in.threads(2, [to, &of, &in](std::uint64_t /*seed*/) mutable {
    const std::size_t me = of.next_sender++;
    for (std::uint64_t i = 1; i <= operations; ++i) {
      const item one(me, i);
      if (to.blocking_send(one) == send_status::sent) of.sent.add(one);
      in.moved();
    }
  });
  {
    const Sender last = std::move(to);
  }
  in.tasks(4, cancelled::some, [&](std::uint64_t seed) { return receives(from, of, in, seed); });
  in.threads(1, [from, &of](std::uint64_t /*seed*/) mutable {
    in_order mine;
    while (const auto got = from.blocking_recv()) mine.add(*got, of.received);
  });
  in.wait();
  check(of.sent == of.received && from.size() == 0);
}

void bounded_channels(cage& in) {
  {
    auto [to, from] = channel::bounded<item>(1 + in.random() % 5);
    exchange(in, std::move(to), std::move(from));
  }
  check(item::alive == 0);
}

/// Items of weight 0 to 4; one of weight 4 may have to be alone.
void weighed_channels(cage& in) {
  {
    const std::uint64_t most = 3 + in.random() % 5;
    auto [to, from] = channel::bounded_by_weight<item>(
        1 + in.random() % 50, most, [](const item& one) noexcept { return one.number % 5; });
    const auto kept = from;
    exchange(in, std::move(to), std::move(from));
    check(kept.weight() == 0);
  }
  check(item::alive == 0);
}

void unbounded_channels(cage& in) {
  {
    auto [to, from] = channel::unbounded<item>();
    exchange(in, std::move(to), std::move(from));
  }
  check(item::alive == 0);
}

// ---- select: over two channels, a timer and an event

task<void> chooses(channel::receiver<item> one,
                   channel::unbounded_receiver<item> other,
                   rota::sync::event& stop,
                   books& of,
                   cage& in,
                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::array<in_order, 2> mine;
  bool has_one = true;
  bool has_other = true;
  while (has_one || has_other) {
    auto first = co_await channel::select(channel::when(has_one, one.recv()),
                                          channel::when(has_other, other.recv()),
                                          rota::sleep_for(in.some_time(random)),
                                          stop.wait());
    if (first.index() == 3) co_return;
    if (const auto* got = first.get_if<0>()) {
      has_one = got->has_value();
      if (has_one) mine[0].add(**got, of.received);
    }
    if (const auto* got = first.get_if<1>()) {
      has_other = got->has_value();
      if (has_other) mine[1].add(**got, of.received);
    }
    in.moved();
  }
}

/// Where there is room first.
task<void> offers(
    channel::sender<item> one, channel::unbounded_sender<item> other, books& of, std::size_t me, cage& in) {
  for (std::uint64_t i = 1; i <= operations; ++i) {
    const item next(me, i);
    auto first = co_await channel::select(one.send(next), other.send(next));
    const send_status how = first.visit([](send_status each) { return each; });
    check(how == send_status::sent);
    of.sent.add(next);
    in.moved();
  }
}

void selects(cage& in) {
  {
    auto few = channel::bounded<item>(2);
    auto many = channel::unbounded<item>();
    rota::sync::event stop;
    rota::sync::event never;
    books of;
    in.tasks(6, cancelled::some, [&](std::uint64_t /*seed*/) {
      return offers(few.sender, many.sender, of, of.next_sender++, in);
    });
    const std::size_t all_senders = in.size();
    in.tasks(4, cancelled::some, [&](std::uint64_t seed) {
      return chooses(few.receiver, many.receiver, stop, of, in, seed);
    });
    in.tasks(1, cancelled::none, [&](std::uint64_t seed) {
      return chooses(few.receiver, many.receiver, never, of, in, seed);
    });
    in.wait_for_tasks(all_senders);
    stop.set();
    few.sender.close();
    many.sender.close();
    in.wait();
    check(of.sent == of.received);
  }
  check(item::alive == 0);
}

// ---- oneshot: what is said to be sent is there

task<void> hears(channel::oneshot_receiver<item> from, books& of, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  if (random() % 2 == 0) {
    const auto got = co_await from.recv_for(in.some_time(random));
    if (got) of.received.add(*got);
    if (got || got.error() == recv_status::closed) co_return;
    from.close();
    const auto late = from.try_recv();
    if (late) of.received.add(*late);
  } else {
    const auto got = co_await from.recv();
    if (got) of.received.add(*got);
  }
  in.moved();
}

void oneshot_channels(cage& in) {
  {
    constexpr unsigned pairs = 64;
    std::vector<channel::oneshot_sender<item>> all;
    books of;
    in.tasks(pairs, cancelled::none, [&](std::uint64_t seed) {
      auto [to, from] = channel::oneshot<item>();
      all.push_back(std::move(to));
      return hears(std::move(from), of, in, seed);
    });
    in.threads(1, [&](std::uint64_t seed) {
      std::mt19937_64 random(seed);
      for (auto& each : all) {
        const item one(0, 1 + random() % 1000);
        if (random() % 4 == 0) {
          const auto gone = std::move(each);
        } else if (std::move(each).send(one) == send_status::sent) {
          of.sent.add(one);
        }
        in.moved();
      }
    });
    in.wait();
    check(of.sent == of.received);
    // Beside cancellations: an item sent to a cancelled receiver is destroyed.
    all.clear();
    in.tasks(pairs, cancelled::some, [&](std::uint64_t seed) {
      auto [to, from] = channel::oneshot<item>();
      all.push_back(std::move(to));
      return hears(std::move(from), of, in, seed);
    });
    in.threads(1, [&](std::uint64_t /*seed*/) {
      for (auto& each : all) static_cast<void>(std::move(each).send(item(0, 1)));
    });
    in.wait();
  }
  check(item::alive == 0);
}

// ---- broadcast: received and lost are all that was sent

task<void> listens(channel::broadcast_receiver<item> from,
                   std::atomic<std::uint64_t>& complete,
                   const std::atomic<std::uint64_t>& sent,
                   cage& in) {
  std::uint64_t had = 0;
  std::uint64_t lost = 0;
  std::array<std::uint64_t, senders> last{};
  for (;;) {
    const auto got = co_await from.recv();
    if (got) {
      ++had;
      check(got->number > last.at(got->from));
      last.at(got->from) = got->number;
    } else if (got.error().why == recv_status::lagged) {
      lost += got.error().lagged;
    } else {
      break;
    }
    in.moved();
  }
  check(had + lost == sent);
  ++complete;
}

void broadcast_channels(cage& in) {
  {
    auto [to, from] = channel::broadcast<item>(1 + in.random() % 64);
    std::atomic<std::uint64_t> complete{0};
    std::atomic<std::uint64_t> sent{0};
    in.tasks(6, cancelled::some, [&](std::uint64_t /*seed*/) {
      return listens(from.subscribe(), complete, sent, in);
    });
    std::vector<std::jthread> talk;
    for (std::size_t me = 0; me < 3; ++me) {
      talk.emplace_back([&, me] {
        for (std::uint64_t i = 1; i <= operations; ++i) {
          check(to.send(item(me, i)) == send_status::sent);
          ++sent;
          if (i % 8 == me) std::this_thread::yield();
        }
      });
    }
    talk.clear();
    to.close();
    in.wait();
    check(complete >= 3);
  }
  check(item::alive == 0);
}

// ---- watch: whole, and never back

struct pair_of_numbers {
  std::uint64_t one = 0;
  std::uint64_t other = 0;
  std::array<std::uint64_t, 4> more{};
};

task<void> watches(channel::watch_receiver<pair_of_numbers> on, std::uint64_t end, cage& in) {
  std::uint64_t last = 0;
  for (;;) {
    const pair_of_numbers now = on.get_and_update();
    check(now.one == now.other && now.more.at(3) == now.one && now.one >= last);
    last = now.one;
    in.moved();
    const auto more = co_await on.changed();
    if (!more) break;
  }
  check(last == end);
}

void watch_channels(cage& in) {
  constexpr std::uint64_t changes = std::uint64_t{3} * operations;
  auto [to, from] = channel::watch(pair_of_numbers{});
  in.tasks(6, cancelled::some, [&](std::uint64_t /*seed*/) { return watches(from, changes, in); });
  std::vector<std::jthread> change;
  for (int i = 0; i < 3; ++i) {
    change.emplace_back([&] {
      for (unsigned n = 0; n < operations; ++n) {
        const send_status how = to.send_modify([](pair_of_numbers& now) {
          ++now.one;
          ++now.other;
          now.more.fill(now.one);
        });
        check(how == send_status::sent);
      }
    });
  }
  change.clear();
  to.close();
  in.wait();
  check(to.get().one == changes);
}

}  // namespace
}  // namespace zoo

int main(int argc, char** argv) {
  return zoo::visit("channel_zoo",
                    argc,
                    argv,
                    {zoo::bounded_channels,
                     zoo::weighed_channels,
                     zoo::unbounded_channels,
                     zoo::oneshot_channels,
                     zoo::broadcast_channels,
                     zoo::watch_channels,
                     zoo::selects});
}
