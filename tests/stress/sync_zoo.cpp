// Tasks and threads meet at every primitive, in rounds of one kind each. Some tasks are cancelled at any
// moment, some waits have limits. Counts are exact at the end: nothing is lost, and nothing is taken twice.
#include "zoo.hpp"
#include "zoo_once.hpp"

#include <rota/sync/barrier.hpp>
#include <rota/sync/condition_variable.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/latch.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/sync/shared_mutex.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

namespace zoo {
namespace {

namespace sync = rota::sync;
using rota::task;

// ---- mutex: a counter that only the owner of the lock changes

struct counter {
  std::uint64_t plain = 0;
  std::atomic<std::uint64_t> exact{0};

  void add() {
    ++plain;
    ++exact;
  }
};

task<void> locks(sync::mutex& m, counter& sum, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < operations; ++i) {
    if (random() % 4 == 0) {
      auto held = co_await m.lock_for(in.some_time(random));
      if (!held) continue;
      sum.add();
    } else {
      const sync::mutex::guard held = co_await m.lock();
      const std::uint64_t before = sum.plain;
      if (random() % 8 == 0) co_await rota::yield();
      check(sum.plain == before);
      sum.add();
    }
    in.moved();
  }
}

void mutexes(cage& in) {
  sync::mutex m;
  counter sum;
  in.tasks(8, cancelled::some, [&](std::uint64_t seed) { return locks(m, sum, in, seed); });
  in.threads(2, [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (unsigned i = 0; i < operations; ++i) {
      if (random() % 2 == 0) {
        const sync::mutex::guard held = m.blocking_lock();
        sum.add();
      } else if (const auto held = m.blocking_lock_for(in.some_time(random))) {
        sum.add();
      }
      in.moved();
    }
  });
  in.wait();
  check(sum.plain == sum.exact && !m.is_locked());
}

// ---- semaphore: never more in use than there are

struct usage {
  explicit usage(std::uint64_t most) : permits(most), limit(most) {}
  void use(std::uint64_t n) {
    const auto mine = sync::semaphore::permit::adopt(permits, n);
    check(in_use.fetch_add(n) + n <= limit);
    in_use -= n;
  }
  sync::semaphore permits;
  std::uint64_t limit;
  std::atomic<std::uint64_t> in_use{0};
};

task<void> acquires(usage& of, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < operations; ++i) {
    const std::uint64_t n = 1 + random() % of.limit;
    if (random() % 4 == 0) {
      const auto got = co_await of.permits.acquire_for(in.some_time(random), n);
      if (got) of.use(n);
    } else {
      const auto got = co_await of.permits.acquire(n);
      check(got.has_value());
      of.use(n);
    }
    in.moved();
  }
}

void semaphores(cage& in) {
  usage all(1 + in.random() % 4);
  in.tasks(8, cancelled::some, [&](std::uint64_t seed) { return acquires(all, in, seed); });
  in.threads(2, [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (unsigned i = 0; i < operations; ++i) {
      const std::uint64_t n = 1 + random() % all.limit;
      if (all.permits.try_acquire(n) || all.permits.blocking_acquire_for(in.some_time(random), n)) all.use(n);
      in.moved();
    }
  });
  in.wait();
  check(all.permits.available() == all.limit && all.in_use == 0);
}

// ---- shared_mutex: one writer, or any number of readers

struct library {
  sync::shared_mutex m;
  std::uint64_t one = 0;
  std::uint64_t other = 0;
  std::atomic<std::uint64_t> writers{0};
  std::atomic<std::uint64_t> readers{0};
  std::atomic<std::uint64_t> writes{0};

  void read() {
    ++readers;
    check(writers == 0 && one == other);
    --readers;
  }
  void write() {
    check(++writers == 1 && readers == 0);
    ++one;
    ++other;
    ++writes;
    --writers;
  }
};

task<void> visits(library& of, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < operations; ++i) {
    switch (random() % 8) {
      case 0: {
        auto held = co_await of.m.lock();
        of.write();
        const auto reads = sync::shared_mutex::downgrade(std::move(held));
        co_await rota::yield();
        of.read();
        break;
      }
      case 1: {
        const auto held = co_await of.m.lock_for(in.some_time(random));
        if (held) of.write();
        break;
      }
      case 2: {
        const auto held = co_await of.m.lock_shared_for(in.some_time(random));
        if (held) of.read();
        break;
      }
      default: {
        const auto held = co_await of.m.lock_shared();
        if (random() % 4 == 0) co_await rota::yield();
        of.read();
        break;
      }
    }
    in.moved();
  }
}

void shared_mutexes(cage& in) {
  library books;
  in.tasks(8, cancelled::some, [&](std::uint64_t seed) { return visits(books, in, seed); });
  in.threads(2, [&](std::uint64_t seed) {
    for (unsigned i = 0; i < operations; ++i) {
      if ((seed + i) % 8 == 0) {
        const auto held = books.m.blocking_lock();
        books.write();
      } else {
        const auto held = books.m.blocking_lock_shared();
        books.read();
      }
      in.moved();
    }
  });
  in.wait();
  check(books.one == books.writes && !books.m.is_locked() && books.m.readers() == 0);
}

// ---- condition_variable: a queue with two conditions

struct shelf {
  static constexpr std::size_t room = 3;
  sync::mutex m;
  sync::condition_variable has_room;
  sync::condition_variable has_items;
  std::deque<std::uint64_t> items;
  bool is_closed = false;
  std::uint64_t put_sum = 0;    // under the lock
  std::uint64_t taken_sum = 0;  // the same

  void put(std::uint64_t n) {
    check(items.size() < room);
    items.push_back(n);
    put_sum += n;
    has_items.notify_one();
  }
  bool take() {
    if (items.empty()) return false;
    taken_sum += items.front();
    items.pop_front();
    has_room.notify_one();
    return true;
  }
};

task<void> puts(shelf& on, cage& in, std::uint64_t seed) {
  for (unsigned i = 0; i < operations; ++i) {
    sync::mutex::guard held = co_await on.m.lock();
    co_await on.has_room.wait(held, [&] { return on.items.size() < shelf::room; });
    on.put(seed % 1000 + i);
    in.moved();
  }
}

task<void> takes(shelf& on, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (;;) {
    sync::mutex::guard held = co_await on.m.lock();
    const auto is_due = [&] { return !on.items.empty() || on.is_closed; };
    if (random() % 4 == 0) {
      const auto in_time = co_await on.has_items.wait_for(held, in.some_time(random), is_due);
      if (!in_time) continue;
    } else {
      co_await on.has_items.wait(held, is_due);
    }
    if (!on.take()) co_return;
    in.moved();
  }
}

void condition_variables(cage& in) {
  shelf on;
  in.tasks(4, cancelled::some, [&](std::uint64_t seed) { return puts(on, in, seed); });
  const std::size_t putters = in.size();
  in.tasks(3, cancelled::some, [&](std::uint64_t seed) { return takes(on, in, seed); });
  in.threads(1, [&](std::uint64_t /*seed*/) {
    for (;;) {
      sync::mutex::guard held = on.m.blocking_lock();
      on.has_items.blocking_wait(held, [&] { return !on.items.empty() || on.is_closed; });
      if (!on.take()) return;
    }
  });
  in.wait_for_tasks(putters);
  {
    const sync::mutex::guard held = on.m.blocking_lock();
    on.is_closed = true;
    on.has_items.notify_all();
  }
  in.wait();
  check(on.put_sum == on.taken_sum && on.items.empty());
}

// ---- barrier: all see the same generations, and one leads

class participant {
 public:
  explicit participant(sync::barrier& in) : in_(&in) {}
  participant(participant&& other) noexcept : in_(std::exchange(other.in_, nullptr)) {}
  participant& operator=(participant&&) = delete;
  ~participant() {
    if (in_ != nullptr) in_->arrive_and_drop();
  }
  sync::barrier& operator*() const { return *in_; }
  void stays() { in_ = nullptr; }

 private:
  sync::barrier* in_;
};

constexpr unsigned generations = 64;

task<void> arrives(participant me,
                   std::array<std::atomic<unsigned>, generations>& leaders,
                   cage& in,
                   unsigned spins) {
  for (unsigned i = 0; i < generations; ++i) {
    if ((i + spins) % 8 == 0) co_await rota::yield();
    const sync::barrier::passage passed = co_await (*me).arrive_and_wait();
    check(passed.generation == i);
    if (passed.is_leader) check(++leaders.at(i) == 1);
    in.moved();
  }
  me.stays();
}

void barriers(cage& in) {
  const bool with_cancels = in.random() % 2 == 0;
  const unsigned all = static_cast<unsigned>(2 + in.random() % 6);
  sync::barrier b(all + 1);
  std::array<std::atomic<unsigned>, generations> leaders{};
  in.tasks(all, with_cancels ? cancelled::some : cancelled::none, [&](std::uint64_t seed) {
    return arrives(participant(b), leaders, in, static_cast<unsigned>(seed % 64));
  });
  in.threads(1, [&](std::uint64_t /*seed*/) {
    for (unsigned i = 0; i < generations; ++i) {
      const sync::barrier::passage passed = b.blocking_arrive_and_wait();
      check(passed.generation == i);
      if (passed.is_leader) check(++leaders.at(i) == 1);
    }
  });
  in.wait();
  for (const auto& each : leaders) check(with_cancels || each == 1);
  check(b.arrived() == 0);
}

// ---- notify, and a latch: a call for each token, and none of them is lost

struct tokens {
  sync::notify more;
  std::atomic<std::uint64_t> there{0};
  std::atomic<std::uint64_t> taken{0};
  std::atomic<bool> is_over{false};

  bool take() {
    std::uint64_t seen = there;
    while (seen != 0 && !there.compare_exchange_weak(seen, seen - 1)) {
    }
    if (seen != 0) ++taken;
    return seen != 0;
  }
};

task<void> collects(tokens& of, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (;;) {
    auto next = of.more.wait();
    if (of.take()) {
      // The notified task may leave an item behind: so each taker notifies the next.
      of.more.notify_one();
      in.moved();
      if (random() % 8 == 0) co_await rota::yield();
      continue;
    }
    if (of.is_over) co_return;
    co_await next;
  }
}

void notifies(cage& in) {
  tokens all;
  sync::latch given(3);
  in.tasks(5, cancelled::some, [&](std::uint64_t seed) { return collects(all, in, seed); });
  in.tasks(1, cancelled::none, [&](std::uint64_t seed) { return collects(all, in, seed); });
  in.threads(3, [&](std::uint64_t /*seed*/) {
    for (unsigned i = 0; i < operations; ++i) {
      ++all.there;
      all.more.notify_one();
    }
    given.count_down();
  });
  given.blocking_wait();
  while (all.there != 0) std::this_thread::yield();
  all.is_over = true;
  all.more.notify_all();
  in.wait();
  check(all.taken == 3 * operations && given.left() == 0);
}

// ---- event: each set of an automatic one lets one pass, as an unlock does

struct setter {
  explicit setter(sync::event& of) : what(of) {}
  setter(const setter&) = delete;
  setter& operator=(const setter&) = delete;
  ~setter() { what.set(); }
  sync::event& what;
};

task<void> passes(sync::event& door, sync::event& begin, counter& sum, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  co_await begin.wait();
  for (unsigned i = 0; i < operations; ++i) {
    if (random() % 4 == 0) {
      const auto in_time = co_await door.wait_for(in.some_time(random));
      if (!in_time) continue;
    } else {
      co_await door.wait();
    }
    const setter last(door);
    if (random() % 8 == 0) co_await rota::yield();
    sum.add();
    in.moved();
  }
}

void events(cage& in) {
  sync::event door(sync::event_reset::automatic, sync::event_state::set);
  sync::event begin;
  counter sum;
  in.tasks(8, cancelled::some, [&](std::uint64_t seed) { return passes(door, begin, sum, in, seed); });
  in.threads(1, [&](std::uint64_t /*seed*/) {
    begin.set();
    for (unsigned i = 0; i < operations; ++i) {
      door.blocking_wait();
      const setter last(door);
      sum.add();
    }
  });
  in.wait();
  check(sum.plain == sum.exact && door.is_set());
}

}  // namespace
}  // namespace zoo

int main(int argc, char** argv) {
  return zoo::visit("sync_zoo",
                    argc,
                    argv,
                    {zoo::mutexes,
                     zoo::semaphores,
                     zoo::shared_mutexes,
                     zoo::condition_variables,
                     zoo::barriers,
                     zoo::notifies,
                     zoo::events,
                     zoo::latches,
                     zoo::once_cells,
                     zoo::strands});
}
