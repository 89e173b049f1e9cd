// Nodes without children: leaves, and tasks that share a channel or a primitive with books of its own.
#pragma once

#include "fuzz/composition_books.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/watch.hpp>
#include <rota/sync/barrier.hpp>
#include <rota/sync/condition_variable.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/semaphore.hpp>

namespace compositions {

// ---- leaves

inline task<int> yields(const node& n) {
  for (unsigned i = 0; i < 1 + n.micros % 4; ++i) co_await rota::yield();
  co_return static_cast<int>(n.id);
}
inline task<int> sleeps(const node& n) {
  co_await rota::sleep_for(span_of(n));
  co_return static_cast<int>(n.id);
}
inline task<int> waits_an_hour(const node& n) {
  co_await rota::sleep_for(1h);
  co_return static_cast<int>(n.id);
}
inline task<int> throws(const node& n, bool late) {
  if (late) co_await pause(n);
  throw failure{n.id};
}
inline task<int> calls_a_closure(books& b, const node& n) {
  auto work = rota::spawn_blocking([&b, &n] {
    const visit here(b, n);
    // On the model no time passes while a thread runs.
    const auto until = ROTA_MODEL ? now() : now() + span_of(n);
    while (now() < until && !rota::this_task::cancel_requested()) {
    }
    return static_cast<int>(n.id);
  });
  const int value = co_await work;
  co_return value;
}
inline task<int> on_the_pool(books& b, const node& n) {
  const visit here(b, n);
  co_await pause(n);
  co_return static_cast<int>(n.id);
}
inline task<int> awaits_a_job(books& b, const node& n) {
  auto job = b.pool->submit(on_the_pool(b, n));
  const int value = co_await job;
  co_return value;
}

// ---- channels: every item arrives once, in order, then the end. The sender survives a cause that cancels
// only the receiver, so it refers to nothing in the receiver's frame.

inline task<int> sends_items(books& b, const node& n, rota::channel::sender<parcel> to, int count) {
  const guest here(b);
  for (int i = 0; i < count; ++i) {
    const auto how = co_await to.send(parcel(b, i));
    if (how != rota::channel::send_status::sent) break;
    if (n.lasts && i % 2 == 0) co_await pause(n);
  }
  b.note_done(n);
  co_return 0;
}
inline task<int> receives_items(books& b, const node& n, place p) {
  const int count = 1 + static_cast<int>(n.micros % 7);
  const int wanted = n.as == given::range ? 1 + count / 2 : count + 1;
  auto [to, from] = rota::channel::bounded<parcel>(1 + n.micros % 3);
  auto work = rota::spawn(sends_items(b, n, std::move(to), count));
  int got = 0;
  while (got < wanted) {
    const auto one = co_await from.recv();
    if (!one.has_value()) break;
    b.demand(one->number == got, "an item is lost, or overtaken", n);
    ++got;
  }
  b.demand(p.may_be_refused || got == wanted || (b.is_done(n) && got == count),
           "an end as data, before the last item",
           n);
  {
    const auto gone = std::move(from);
  }
  const auto end = co_await work.result();
  b.demand(p.may_be_refused || (end.has_value() && b.is_done(n)),
           "the sender was cancelled, and its receiver was not",
           n);
  co_return static_cast<int>(n.id);
}

inline task<int> sends_news(books& b, const node& n, rota::channel::broadcast_sender<int> to) {
  const guest here(b);
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(to.send(i));
    co_await pause(n);
  }
  b.note_done(n);
  co_return 0;
}
inline task<int> hears_news(books& b, const node& n, place p) {
  auto [to, from] = rota::channel::broadcast<int>(4);
  auto work = rota::spawn(sends_news(b, n, std::move(to)));
  int got = 0;
  for (;;) {
    const auto one = co_await from.recv();
    if (!one.has_value()) break;
    b.demand(*one == got, "news is lost, or overtaken", n);
    ++got;
  }
  b.demand(p.may_be_refused || (b.is_done(n) && got == 3), "an end as data, before the last news", n);
  static_cast<void>(co_await work.result());
  co_return static_cast<int>(n.id);
}

inline task<int> sets_values(books& b, const node& n, rota::channel::watch_sender<int> to) {
  const guest here(b);
  for (int i = 1; i <= 3; ++i) {
    static_cast<void>(to.send(i));
    co_await pause(n);
  }
  b.note_done(n);
  co_return 0;
}
inline task<int> watches(books& b, const node& n, place p) {
  auto [to, from] = rota::channel::watch<int>(0);
  auto work = rota::spawn(sets_values(b, n, std::move(to)));
  int seen = 0;
  for (;;) {
    const auto how = co_await from.changed();
    if (!how.has_value()) break;
    const int value = from.get();
    b.demand(value >= seen, "an older value after a newer one", n);
    seen = value;
  }
  b.demand(p.may_be_refused || (b.is_done(n) && from.get() == 3), "an end as data, before the last value", n);
  static_cast<void>(co_await work.result());
  co_return static_cast<int>(n.id);
}

// ---- primitives. The frame of the node destroys the shared state after the tasks, however the node ends.

struct shared_lock {
  books& b;
  const node& n;
  rota::sync::mutex lock;
  int inside = 0;

  shared_lock(books& by, const node& of) : b(by), n(of) {}
  shared_lock(const shared_lock&) = delete;
  ~shared_lock() { b.demand(!lock.is_locked() && inside == 0, "a mutex is locked when all have ended", n); }
};
/// Counts the tasks that hold the lock.
struct turn {
  explicit turn(shared_lock& s) : of(s) { of.b.demand(of.inside++ == 0, "two hold a mutex", of.n); }
  turn(const turn&) = delete;
  ~turn() { --of.inside; }
  shared_lock& of;
};
inline task<int> locks_again_and_again(shared_lock& s, bool in_a_hurry) {
  const visit here(s.b, s.n);
  for (int i = 0; i < 3; ++i) {
    if (in_a_hurry) {
      auto held = co_await s.lock.lock_for(span_of(s.n) / 4);
      if (!held.has_value()) continue;
      const turn mine(s);
      co_await rota::yield();
    } else {
      const auto held = co_await s.lock.lock();
      const turn mine(s);
      co_await pause(s.n);
    }
  }
  co_return 0;
}
inline task<int> shares_a_lock(books& b, const node& n) {
  shared_lock s(b, n);
  const auto all = co_await rota::when_all(
      locks_again_and_again(s, false), locks_again_and_again(s, true), locks_again_and_again(s, n.lasts));
  static_cast<void>(all);
  co_return static_cast<int>(n.id);
}

struct shared_permits {
  books& b;
  const node& n;
  rota::sync::semaphore permits{2};
  std::atomic<unsigned> used{0};

  shared_permits(books& by, const node& of) : b(by), n(of) {}
  shared_permits(const shared_permits&) = delete;
  ~shared_permits() { b.demand(permits.available() == 2 && used == 0, "permits are lost", n); }
};
/// Gives permits back that were acquired.
struct permits_in_use {
  permits_in_use(shared_permits& s, unsigned count) : of(s), mine(count) {
    of.b.demand((of.used += mine) <= 2, "more permits than there are", of.n);
  }
  permits_in_use(const permits_in_use&) = delete;
  ~permits_in_use() {
    of.used -= mine;
    of.permits.release(mine);
  }
  shared_permits& of;
  unsigned mine;
};
inline task<int> takes_permits(shared_permits& s, unsigned count, bool in_a_hurry) {
  const visit here(s.b, s.n);
  for (int i = 0; i < 3; ++i) {
    const auto limit = in_a_hurry ? std::chrono::nanoseconds(span_of(s.n)) / 4 : std::chrono::nanoseconds(1h);
    const auto held = co_await s.permits.acquire_for(limit, count);
    if (!held.has_value()) continue;
    const permits_in_use mine(s, count);
    co_await pause(s.n);
  }
  co_return 0;
}
inline task<int> shares_permits(books& b, const node& n) {
  shared_permits s(b, n);
  const auto all = co_await rota::when_all(
      takes_permits(s, 2, false), takes_permits(s, 1, true), takes_permits(s, 1, n.lasts));
  static_cast<void>(all);
  co_return static_cast<int>(n.id);
}

/// One notification, and a task in front of the line that gives up. If it got the notification, it passes it
/// on by a notify of its own; if not, the task behind it gets it. That task hangs if a notification is lost.
struct shared_signal {
  rota::sync::mutex lock;
  rota::sync::condition_variable changed;
  rota::sync::notify bell;
  bool is_set = false;
};
inline task<int> gives_up(books& b, const node& n, shared_signal& s, bool by_bell) {
  const visit here(b, n);
  if (by_bell) {
    const auto in_time = co_await rota::timeout(span_of(n), s.bell.wait());
    if (in_time.has_value()) s.bell.notify_one();
    co_return 0;
  }
  auto held = co_await s.lock.lock();
  const auto in_time = co_await s.changed.wait_for(held, span_of(n));
  held.unlock();
  if (in_time.has_value()) s.changed.notify_one();
  co_return 0;
}
inline task<int> waits_on(books& b, const node& n, shared_signal& s, bool by_bell) {
  const visit here(b, n);
  if (by_bell) {
    co_await s.bell.wait();
    co_return 0;
  }
  auto held = co_await s.lock.lock();
  while (!s.is_set) co_await s.changed.wait(held);
  co_return 0;
}
inline task<int> tells(books& b, const node& n, shared_signal& s, bool by_bell) {
  const visit here(b, n);
  if (n.lasts) co_await rota::sleep_for(span_of(n));
  if (by_bell) {
    s.bell.notify_one();
    co_return 0;
  }
  auto held = co_await s.lock.lock();
  s.is_set = true;
  // The task in front of the line may give up while the mutex is held.
  s.changed.notify_one();
  if (n.lasts) co_await rota::sleep_for(20us);
  co_return 0;
}
inline task<int> shares_a_signal(books& b, const node& n, bool by_bell) {
  shared_signal s;
  const auto all = co_await rota::when_all(
      gives_up(b, n, s, by_bell), waits_on(b, n, s, by_bell), tells(b, n, s, by_bell));
  static_cast<void>(all);
  co_return static_cast<int>(n.id);
}

inline task<int> arrives_twice(books& b, const node& n, rota::sync::barrier& all, std::atomic<int>& leaders) {
  const visit here(b, n);
  for (int i = 0; i < 2; ++i) {
    const auto passed = co_await all.arrive_and_wait();
    leaders += passed.is_leader ? 1 : 0;
  }
  co_return 0;
}
inline task<int> meets(books& b, const node& n) {
  rota::sync::barrier all(3);
  std::atomic<int> leaders{0};
  const auto each = co_await rota::when_all(arrives_twice(b, n, all, leaders),
                                            arrives_twice(b, n, all, leaders),
                                            arrives_twice(b, n, all, leaders));
  static_cast<void>(each);
  b.demand(leaders == 2, "a barrier has no leader, or two", n);
  co_return static_cast<int>(n.id);
}

}  // namespace compositions
