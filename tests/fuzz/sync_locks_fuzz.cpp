// Tasks at a mutex, a condition variable and a lock for readers and writers, beside plain models of them.
#include <optional>
#include <vector>

#include "locks_reference.hpp"
#include "sequence.hpp"
#include "waits.hpp"

#include <rota/sync/condition_variable.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/shared_mutex.hpp>

namespace {

using namespace fuzz;
using namespace std::chrono_literals;
using rota::sync::condition_variable;
using rota::sync::mutex;
using rota::sync::shared_mutex;

/// A lock, its reference model, and its holders.
struct things {
  mutex m;
  std::optional<mutex::guard> held;
  mutex_reference m_should;

  condition_variable c;
  condition_reference c_should{m_should};

  shared_mutex s;
  std::optional<shared_mutex::guard> writes;
  std::vector<shared_mutex::shared_guard> reads;
  shared_mutex_reference s_should;
};

struct lock_wait {
  things* of;
  auto leaf() { return of->m.lock(); }
  auto timed(std::chrono::milliseconds limit) { return of->m.lock_for(limit); }
  number got(mutex::guard guard) {
    of->held.emplace(std::move(guard));
    return yes;
  }
};

struct write_wait {
  things* of;
  auto leaf() { return of->s.lock(); }
  auto timed(std::chrono::milliseconds limit) { return of->s.lock_for(limit); }
  number got(shared_mutex::guard guard) {
    of->writes.emplace(std::move(guard));
    return yes;
  }
};

struct read_wait {
  things* of;
  auto leaf() { return of->s.lock_shared(); }
  auto timed(std::chrono::milliseconds limit) { return of->s.lock_shared_for(limit); }
  number got(shared_mutex::shared_guard guard) {
    of->reads.push_back(std::move(guard));
    return yes;
  }
};

/// Its task has the mutex: if it is unwound, the guard gives it back.
struct condition_wait {
  things* of;
  mutex::guard held;
  auto leaf() { return of->c.wait(held); }
  auto timed(std::chrono::milliseconds limit) { return of->c.wait_for(held, limit); }
  number got(no_value) {
    of->held.emplace(std::move(held));
    return yes;
  }
  void came_late() { got(no_value()); }
};

/// The same until a value is there.
struct value_wait : condition_wait {
  number wanted;

  auto is_there() {
    return [this] {
      check(of->m.is_locked(), "what is asked for a value has the mutex");
      if (of->c_should.value == condition_reference::cannot_be_told) throw 7;
      return of->c_should.value == wanted;
    };
  }
  auto leaf() { return of->c.wait(held, is_there()); }
  auto timed(std::chrono::milliseconds limit) { return of->c.wait_for(held, limit, is_there()); }
};

template <class Leaf>
rota::task<void> waits_or_throws(scene::seat me, value_wait kind, Leaf make) {
  auto leaf = make(kind);
  if (me.how().hesitates) co_await rota::yield();
  me.begin();
  number code = yes;
  try {
    if constexpr (std::is_void_v<decltype(leaf.await_resume())>) {
      co_await leaf;
    } else {
      const auto got = co_await leaf;
      if (!got.has_value()) code = late;
    }
  } catch (int) {
    code = thrown;
  }
  kind.got(no_value());
  code == late ? me.end_late() : me.end(0, code);
}

class locks {
 public:
  locks(scene& in, number shape) : in_(&in), shape_(shape) {}

  /// With the mutex, and the condition variable; with the other lock; or with all.
  void step(const operation& next) {
    const number focus = shape_ / 256 % 4;
    const bool is_mutex = focus < 2 ? focus == 0 : next.which % 2 == 0;
    const operation then{next.what, next.which / 2, next.how, next.then};
    in_->note("step", next.what % 32, next.which);
    if (next.what % 32 == 0) return select(then);
    is_mutex ? step_mutex(then) : step_shared(then);
  }

  void compare() {
    in_->check(of_.m.is_locked() == of_.m_should.is_locked(), "a mutex is locked that is");
    in_->check(of_.s.is_locked() == of_.s_should.is_locked(), "a writer has the lock");
    in_->check(of_.s.readers() == of_.s_should.readers(), "so many readers have the lock");
  }

  [[nodiscard]] number state() const {
    return (of_.m_should.is_locked() ? 1U : 0U) | (of_.s_should.is_locked() ? 2U : 0U) |
           few(of_.s_should.readers()) << 2U | few(of_.c_should.value) << 4U;
  }

  void drain() {
    change(7);
    notify_all();
    unlock();
    unlock_writer(false);
    unlock_reader(0);
  }

 private:
  static plan with(reference& at, number how, const operation& next) {
    plan made = plan_of(next.how);
    made.stakes[0] = {&at, how};
    return made;
  }

  void step_mutex(const operation& next) {
    switch (next.what % 32) {
      case 1:
      case 2:
      case 4:
      case 5: return start_wait(*in_, with(of_.m_should, 0, next), lock_wait{&of_});
      case 6:
      case 8:
      case 9:
      case 10: return wait_for_condition(next);
      case 12:
      case 13: return notify_one();
      case 14: return notify_all();
      case 16: return change(next.which);
      case 17:
      case 18: return note_lock(of_.m.try_lock());
      case 20: return note_lock(in_time(of_.m.blocking_lock_for(0ms)));
      default: return unlock();
    }
  }
  void step_shared(const operation& next) {
    switch (next.what % 32) {
      case 1:
      case 2:
      case 4:
        return start_wait(*in_, with(of_.s_should, shared_mutex_reference::writes, next), write_wait{&of_});
      case 5:
      case 6:
      case 8:
      case 9:
        return start_wait(*in_, with(of_.s_should, shared_mutex_reference::reads, next), read_wait{&of_});
      case 10: return note_write(of_.s.try_lock());
      case 12: return note_read(of_.s.try_lock_shared());
      case 13: return note_write(in_time(of_.s.blocking_lock_for(0ms)));
      case 14: return note_read(in_time(of_.s.blocking_lock_shared_for(0ms)));
      case 16:
      case 17:
      case 18: return unlock_writer(next.which % 2 == 0);
      default: return unlock_reader(next.which);
    }
  }

  void unlock() {
    if (!of_.held.has_value()) return;
    of_.held.reset();
    of_.m_should.unlock();
  }
  void unlock_writer(bool goes_on_reading) {
    if (!of_.writes.has_value()) return;
    if (goes_on_reading) {
      of_.reads.push_back(shared_mutex::downgrade(std::move(*of_.writes)));
      of_.s_should.downgrade();
    } else {
      of_.s_should.unlock();
    }
    of_.writes.reset();
  }
  void unlock_reader(number which) {
    if (of_.reads.empty()) return;
    of_.reads.erase(of_.reads.begin() + static_cast<std::ptrdiff_t>(which % of_.reads.size()));
    of_.s_should.unlock_shared();
  }

  /// Called with the mutex held.
  void wait_for_condition(const operation& next) {
    if (!of_.held.has_value() || !in_->has_room()) return;
    const number wanted = next.which % 4;
    const plan how = with(of_.c_should, wanted, next);
    condition_wait kind{&of_, *std::move(of_.held)};
    of_.held.reset();
    if (wanted == condition_reference::whatever) return start_wait(*in_, how, std::move(kind));
    value_wait until{std::move(kind), wanted};
    const auto plain = [](value_wait& k) { return k.leaf(); };
    const auto timed = [limit = std::chrono::milliseconds(how.limit)](value_wait& k) {
      return k.timed(limit);
    };
    in_->start(how, [&](scene::seat me) {
      return how.limit == plan::never ? waits_or_throws(std::move(me), std::move(until), plain)
                                      : waits_or_throws(std::move(me), std::move(until), timed);
    });
  }
  void notify_one() {
    of_.c.notify_one();
    of_.c_should.notify_one();
  }
  void notify_all() {
    of_.c.notify_all();
    of_.c_should.notify_all();
  }
  void change(number to) {
    of_.c_should.value = to % 8 == 7 ? condition_reference::cannot_be_told : 1 + to % 3;
  }

  void select(const operation& next) {
    plan how = select_plan_of(next.how);
    how.stakes[0] = {&of_.m_should, 0};
    how.stakes[1] = {&of_.s_should, next.which % 2};
    if (next.which % 2 == shared_mutex_reference::writes) {
      start_select(*in_, how, lock_wait{&of_}, write_wait{&of_});
    } else {
      start_select(*in_, how, lock_wait{&of_}, read_wait{&of_});
    }
  }

  // Operations that do not wait: tries, and threads with a zero limit.
  template <class T>
  static std::optional<T> in_time(std::expected<T, rota::timed_out> got) {
    if (!got.has_value()) return std::nullopt;
    return *std::move(got);
  }
  void note_lock(std::optional<mutex::guard> got) {
    in_->check(got.has_value() == of_.m_should.try_lock(), "a mutex is had that is free");
    if (got.has_value()) of_.held.emplace(*std::move(got));
  }
  void note_write(std::optional<shared_mutex::guard> got) {
    in_->check(got.has_value() == of_.s_should.try_lock(), "a lock is had to write that is free");
    if (got.has_value()) of_.writes.emplace(*std::move(got));
  }
  void note_read(std::optional<shared_mutex::shared_guard> got) {
    in_->check(got.has_value() == of_.s_should.try_lock_shared(),
               "a lock is had to read that is free to readers");
    if (got.has_value()) of_.reads.push_back(*std::move(got));
  }

  scene* in_;
  number shape_;
  things of_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  play<locks>(fuzz::text_of(data, size));
  return 0;
}
