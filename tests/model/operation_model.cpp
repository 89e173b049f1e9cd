// P15: an operation that the kernel does for a task: started, completed, cancelled, dropped and given again,
// in a line when the queue is full, its slot reused. The desk is real; the kernel is a queue and one thread.
#include "base/futex.hpp"
#include "driver/operation.hpp"
#include "model/exploring.hpp"

#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace rota::driver {
namespace {

using model::at_random;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

/// A task's thread.
class sleeper {
 public:
  waker make_waker() noexcept { return {this, &vtable}; }
  void wait_for(const operation& op) noexcept {
    while (!op.is_done()) {
      // acquire. Pairs with wake().
      while (woken_.exchange(0, base::order::acquire) == 0) {
        static_cast<void>(base::futex_wait(woken_, 0, base::never));
      }
    }
  }
  // relaxed, both. The threads have ended.
  [[nodiscard]] unsigned wakes() const noexcept { return wakes_.load(base::order::relaxed); }
  [[nodiscard]] unsigned drops() const noexcept { return drops_.load(base::order::relaxed); }

 private:
  static sleeper& of(void* self) noexcept { return *static_cast<sleeper*>(self); }
  static void wake(void* self) noexcept {
    // relaxed. A count.
    of(self).wakes_.fetch_add(1, base::order::relaxed);
    // release. Pairs with wait_for().
    of(self).woken_.exchange(1, base::order::release);
    base::futex_wake(&of(self).woken_, 1);
  }
  static void* clone(void* self) noexcept { return self; }
  static void drop(void* self) noexcept {
    // relaxed. A count.
    of(self).drops_.fetch_add(1, base::order::relaxed);
  }
  static constexpr waker_vtable vtable{wake, wake, clone, drop};

  base::atomic<std::uint32_t> woken_{0};
  base::atomic<unsigned> wakes_{0};
  base::atomic<unsigned> drops_{0};
};

/// What the kernel does with an operation, and to which memory.
struct order {
  bool blocks = false;  // until it is cancelled; else it writes
  base::cell<int>* buffer = nullptr;
};

void ask(operation& op, order wanted) noexcept {
  std::memcpy(op.request.bytes.data(), &wanted, sizeof wanted);
}

/// The queue: space for `room` entries that were not submitted. The kernel has the submitted ones, in order.
class kernel {
 public:
  struct entry {
    std::uint64_t key = 0;
    bool is_cancel = false;
    order wanted{};
  };

  // For the desk, under its lock.
  bool put(const base::sys::ring_request& r, std::uint64_t key) noexcept {
    entry made{key, false, {}};
    std::memcpy(&made.wanted, r.bytes.data(), sizeof made.wanted);
    return put(made);
  }
  bool put_cancel(std::uint64_t key) noexcept { return put({key, true, {}}); }
  bool submit() noexcept {
    // relaxed. A task of the scene has set it, and flushes again itself.
    if (is_shut.load(base::order::relaxed)) return false;
    if (refusals != 0) {
      --refusals;
      return false;
    }
    if (prepared_count_ == 0) return true;
    {
      const base::lock_guard lock(mutex_);
      for (unsigned i = 0; i < prepared_count_; ++i) submitted_[submitted_count_++] = prepared_[i];
    }
    prepared_count_ = 0;
    // release. Pairs with next().
    signal_.fetch_add(1, base::order::release);
    base::futex_wake(&signal_, 1);
    return true;
  }

  /// The kernel's own side.
  entry next() noexcept {
    for (;;) {
      // acquire. Pairs with submit().
      const std::uint32_t seen = signal_.load(base::order::acquire);
      {
        const base::lock_guard lock(mutex_);
        if (taken_ != submitted_count_) return submitted_[taken_++];
        if (users == 0) return {};
      }
      static_cast<void>(base::futex_wait(signal_, seen, base::never));
    }
  }

  /// A task of the scene needs it no more.
  void leave() noexcept {
    {
      const base::lock_guard lock(mutex_);
      --users;
    }
    // release. Pairs with next().
    signal_.fetch_add(1, base::order::release);
    base::futex_wake(&signal_, 1);
  }

  unsigned room = 4;
  unsigned refusals = 0;              // of submit(), one after the other
  base::atomic<bool> is_shut{false};  // to submit()
  unsigned users = 9;

 private:
  bool put(const entry& e) noexcept {
    if (prepared_count_ == room) return false;
    prepared_[prepared_count_++] = e;
    return true;
  }
  std::array<entry, 4> prepared_{};
  unsigned prepared_count_ = 0;
  base::mutex mutex_;
  std::array<entry, 16> submitted_{};
  unsigned submitted_count_ = 0;
  unsigned taken_ = 0;
  base::atomic<std::uint32_t> signal_{0};
};

using desk = operation_desk<kernel>;

struct world {
  explicit world(std::uint32_t most = 4) : office(core, most) {}

  /// The kernel and the dispatcher, until `ends` operations have ended. The first `drops` are dropped.
  void serve(unsigned ends, unsigned drops = 0) {
    std::array<std::uint64_t, 4> blocked{};
    unsigned blocked_count = 0;
    while (ends != 0) {
      const kernel::entry e = core.next();
      if (e.key == 0) return;
      std::int32_t result = 1;
      if (e.is_cancel) {
        unsigned found = 0;
        while (found != blocked_count && blocked[found] != e.key) ++found;
        if (found == blocked_count) continue;  // it has ended
        blocked[found] = blocked[--blocked_count];
        result = -ECANCELED;
      } else if (drops != 0) {
        --drops;
        result = -ECANCELED;
      } else if (e.wanted.blocks) {
        blocked[blocked_count++] = e.key;
        check(blocked_count <= most_blocked, "no more than there is room for");
        continue;
      } else {
        e.wanted.buffer->set(7);
      }
      if (office.complete(e.key, result)) --ends;
      static_cast<void>(office.flush());
    }
  }
  operation& begin(sleeper& who, bool blocks, base::cell<int>& buffer) {
    operation* const op = office.take();
    check(op != nullptr && !op->is_done(), "a new one is new");
    ask(*op, {blocks, &buffer});
    office.start(*op, who.make_waker());
    return *op;
  }
  /// What the leaf of a cancelled task does. Returns true if the operation was pending.
  bool cancel(operation& op, sleeper& who) {
    if (office.cancel(op) == cancel_progress::ended) {
      check(op.is_done(), "nobody touches it any more");
      return false;
    }
    static_cast<void>(office.flush());
    who.wait_for(op);
    return true;
  }

  kernel core;
  desk office;
  unsigned most_blocked = 4;
};

/// Nothing is in flight, and each waker ended once.
void expect_quiet(const world& w, std::initializer_list<const sleeper*> all) {
  check(w.office.in_flight() == 0, "nothing is in flight");
  for (const sleeper* each : all) check(each->wakes() + each->drops() == 1, "each waker ends once");
}

TEST(operation_model, a_started_operation_completes_and_its_bytes_are_seen) {
  struct scene : world {
    sleeper task;
    base::cell<int> buffer;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("task", [&s] {
      operation& op = s.begin(s.task, false, s.buffer);
      static_cast<void>(s.office.flush());
      s.task.wait_for(op);
      check(op.result() == 1 && s.buffer.get() == 7, "what the kernel did");
      s.office.give_back(op);
    });
    e.thread("kernel", [&s] { s.serve(1); });
    e.finally([&s] { expect_quiet(s, {&s.task}); });
  };
  expect_holds(exhaustive("operation_completes", 3), body);
  expect_holds(at_random("operation_completes random"), body);
}

// The buffer is freed when the cancelled task may free it: the kernel must not write into it after that.
TEST(operation_model, the_buffer_is_not_touched_after_a_cancel_has_returned) {
  struct scene : world {
    sleeper task;
    base::cell<int> buffer;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("task", [&s] {
      operation& op = s.begin(s.task, false, s.buffer);
      static_cast<void>(s.office.flush());
      static_cast<void>(s.cancel(op, s.task));
      s.buffer.set(9);
      check(op.result() == 1, "the kernel was faster");
      s.office.give_back(op);
    });
    e.thread("kernel", [&s] { s.serve(1); });
    e.finally([&s] { expect_quiet(s, {&s.task}); });
  };
  expect_holds(exhaustive("operation_cancel", 3), body);
  expect_holds(at_random("operation_cancel random"), body);
}

// The kernel drops the operation, since its submitting thread has gone. It is given again, and would never
// end. The cancel arrives anywhere on this way.
TEST(operation_model, a_cancel_is_not_lost_when_its_operation_is_resubmitted) {
  struct scene : world {
    sleeper task;
    base::cell<int> buffer;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("task", [&s] {
      operation& op = s.begin(s.task, true, s.buffer);
      static_cast<void>(s.office.flush());
      static_cast<void>(s.cancel(op, s.task));
      check(op.result() == -ECANCELED, "nothing has happened");
      s.office.give_back(op);
    });
    e.thread("kernel", [&s] { s.serve(1, 1); });
    e.finally([&s] {
      expect_quiet(s, {&s.task});
      check(s.office.counts().cancelled == 1, "counted");
    });
  };
  expect_holds(exhaustive("operation_again", 3), body);
  expect_holds(at_random("operation_again random"), body);
}

TEST(operation_model, an_operation_that_the_kernel_drops_is_resubmitted) {
  struct scene : world {
    sleeper task;
    base::cell<int> buffer;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("task", [&s] {
      operation& op = s.begin(s.task, false, s.buffer);
      static_cast<void>(s.office.flush());
      s.task.wait_for(op);
      check(op.result() == 1 && s.buffer.get() == 7, "in the end it was done");
      s.office.give_back(op);
    });
    e.thread("kernel", [&s] { s.serve(1, 2); });
    e.finally([&s] { check(s.office.counts().resubmitted == 2, "counted"); });
  };
  expect_holds(exhaustive("operation_dropped", 3), body);
}

// The kernel has space for one: the others stand in a line, and one of them gives up.
TEST(operation_model, queued_operations_are_submitted_and_can_be_cancelled) {
  struct scene : world {
    scene() : world(1) { most_blocked = 1; }
    sleeper first;
    sleeper second;
    sleeper third;
    std::array<base::cell<int>, 3> buffers;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("task", [&s] {
      operation& a = s.begin(s.first, false, s.buffers[0]);
      operation& b = s.begin(s.second, true, s.buffers[1]);
      operation& c = s.begin(s.third, false, s.buffers[2]);
      static_cast<void>(s.office.flush());
      static_cast<void>(s.cancel(b, s.second));
      check(b.result() == -ECANCELED, "in the line, or in the kernel");
      s.office.give_back(b);
      s.first.wait_for(a);
      s.third.wait_for(c);
      check(s.buffers[0].get() == 7 && s.buffers[2].get() == 7, "done");
      s.office.give_back(a);
      s.office.give_back(c);
      s.core.leave();
    });
    s.core.users = 1;
    e.thread("kernel", [&s] { s.serve(9); });
    e.finally([&s] { expect_quiet(s, {&s.first, &s.second, &s.third}); });
  };
  expect_holds(exhaustive("operation_line"), body);
  expect_holds(at_random("operation_line random"), body);
}

// A slot is reused while the cancel of its old operation is in the kernel; an old completion comes once more.
TEST(operation_model, late_cancels_and_stale_completions_do_not_affect_a_reused_slot) {
  struct scene : world {
    sleeper old_task;
    sleeper new_task;
    base::cell<int> buffer;
    base::cell<int> other;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("task", [&s] {
      operation& op = s.begin(s.old_task, false, s.buffer);
      static_cast<void>(s.office.flush());
      static_cast<void>(s.cancel(op, s.old_task));
      s.office.give_back(op);
      operation& next = s.begin(s.new_task, false, s.other);
      check(&next == &op, "the same slot");
      static_cast<void>(s.office.flush());
      check(!s.office.complete(desk::is_operation, 5), "the first generation has ended");
      s.new_task.wait_for(next);
      check(next.result() == 1 && s.other.get() == 7, "it was the new one that has ended");
      s.office.give_back(next);
    });
    e.thread("kernel", [&s] { s.serve(2); });
    e.thread("stale", [&s] {
      // Of a generation before the first: it has no owner.
      check(!s.office.complete(desk::is_operation | std::uint64_t{0x7FFF'FFFF} << 32U, 5), "nobody is ended");
    });
    e.finally([&s] { expect_quiet(s, {&s.old_task, &s.new_task}); });
  };
  expect_holds(exhaustive("operation_stale"), body);
  expect_holds(at_random("operation_stale random"), body);
}

// A thread prepares and goes to sleep: that thread flushes, or another one was faster. A refused flush is
// repeated by the next thread that checks.
TEST(operation_model, a_refused_submission_is_repeated_by_the_next_thread) {
  struct scene : world {
    sleeper first;
    sleeper second;
    std::array<base::cell<int>, 2> buffers;

    void run(sleeper& who, base::cell<int>& buffer) {
      operation& op = begin(who, false, buffer);
      while (!office.flush()) {
      }
      who.wait_for(op);
      check(buffer.get() == 7, "done");
      office.give_back(op);
    }
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    s.core.refusals = 1;
    e.thread("one", [&s] { s.run(s.first, s.buffers[0]); });
    e.thread("another", [&s] { s.run(s.second, s.buffers[1]); });
    e.thread("kernel", [&s] { s.serve(2); });
    e.finally([&s] {
      expect_quiet(s, {&s.first, &s.second});
      check(s.office.counts().refused == 1, "counted");
    });
  };
  expect_holds(exhaustive("operation_flush"), body);
  expect_holds(at_random("operation_flush random"), body);
}

// The queue is full and the kernel takes nothing: the cancel is owed, and submitted when there is space.
TEST(operation_model, a_cancel_that_finds_no_queue_space_is_submitted_later) {
  struct scene : world {
    scene() { core.room = 1; }
    sleeper task;
    base::cell<int> buffer;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("task", [&s] {
      operation& op = s.begin(s.task, true, s.buffer);
      s.core.refusals = 1;
      check(s.office.cancel(op) == cancel_progress::pending, "the kernel has it");
      check(s.office.has_unflushed(), "and was not told");
      check(s.office.flush(), "now it is");
      s.task.wait_for(op);
      check(op.result() == -ECANCELED, "nothing has happened");
      s.office.give_back(op);
    });
    e.thread("kernel", [&s] { s.serve(1); });
    e.finally([&s] { expect_quiet(s, {&s.task}); });
  };
  expect_holds(exhaustive("operation_owed", 3), body);
}

// The same, but the operation ends by itself meanwhile: nothing is owed any more, and its slot is free.
TEST(operation_model, a_deferred_cancel_is_dropped_when_its_operation_ends) {
  struct scene : world {
    scene() { core.room = 1; }
    sleeper first;
    sleeper second;
    std::array<base::cell<int>, 2> buffers;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("task", [&s] {
      operation& a = s.begin(s.first, false, s.buffers[0]);
      check(s.office.flush(), "the kernel has it");
      operation& b = s.begin(s.second, false, s.buffers[1]);
      operation* const third = s.office.take();
      // relaxed. As in submit().
      s.core.is_shut.store(true, base::order::relaxed);
      static_cast<void>(s.cancel(a, s.first));
      s.office.give_back(a);
      // relaxed. As in submit().
      s.core.is_shut.store(false, base::order::relaxed);
      check(s.office.flush(), "all of it");
      s.second.wait_for(b);
      check(b.result() == 1, "its own");
      s.office.give_back(b);
      s.office.give_back(*third);
      for (unsigned i = 0; i < desk::chunk * desk::chunks; ++i)
        check(s.office.take() != nullptr, "none is lost");
    });
    e.thread("kernel", [&s] { s.serve(2); });
    e.finally([&s] { expect_quiet(s, {&s.first, &s.second}); });
  };
  expect_holds(exhaustive("operation_owed_ended"), body);
}

// The queue is full of a refused cancel of an ended operation: a flush alone moves the line on.
TEST(operation_model, a_flush_alone_submits_queued_operations) {
  struct scene : world {
    scene() { core.room = 1; }
    sleeper first;
    sleeper second;
    std::array<base::cell<int>, 2> buffers;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("task", [&s] {
      operation& a = s.begin(s.first, false, s.buffers[0]);
      check(s.office.flush(), "the kernel has it");
      // relaxed. As in submit().
      s.core.is_shut.store(true, base::order::relaxed);
      static_cast<void>(s.cancel(a, s.first));
      operation& b = s.begin(s.second, false, s.buffers[1]);
      // relaxed. As in submit().
      s.core.is_shut.store(false, base::order::relaxed);
      check(s.office.flush(), "all of it");
      s.second.wait_for(b);
      check(s.buffers[1].get() == 7, "done");
      s.office.give_back(a);
      s.office.give_back(b);
    });
    e.thread("kernel", [&s] { s.serve(2); });
    e.finally([&s] { expect_quiet(s, {&s.first, &s.second}); });
  };
  expect_holds(exhaustive("operation_line_flush"), body);
}

/// Calls the desk when it is woken or dropped: a deadlock if its lock is held then.
struct curious {
  desk* of;
  static void touch(void* self) noexcept {
    desk& d = *static_cast<curious*>(self)->of;
    if (operation* const op = d.take()) d.give_back(*op);
  }
  static void* clone(void* self) noexcept { return self; }
  static constexpr waker_vtable vtable{touch, touch, clone, touch};
};

TEST(operation_model, no_waker_is_called_or_dropped_under_the_lock) {
  struct scene : world {
    scene() : world(1) {}
    curious who{&office};
    sleeper task;
    std::array<base::cell<int>, 2> buffers;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("task", [&s] {
      operation* const a = s.office.take();
      ask(*a, {false, &s.buffers[0]});
      s.office.start(*a, {&s.who, &curious::vtable});
      operation* const b = s.office.take();
      ask(*b, {false, &s.buffers[1]});
      s.office.start(*b, {&s.who, &curious::vtable});
      check(s.office.cancel(*b) == cancel_progress::ended, "it stands in the line");
      check(s.office.flush(), "the kernel has the other one");
      s.office.give_back(*b);
    });
    e.thread("kernel", [&s] { s.serve(1); });
  };
  expect_holds(exhaustive("operation_lock"), body);
}

/// Writes down that it was woken.
struct noted : world {
  noted() : world(1) {}
  base::cell<int> buffer;
  base::cell<int> told;
  static void wake(void* self) noexcept { static_cast<noted*>(self)->told.set(1); }
  static void* clone(void* self) noexcept { return self; }
  static void drop(void* /*self*/) noexcept {}
  static constexpr waker_vtable vtable{wake, wake, clone, drop};
};

TEST(operation_model, a_thread_that_sees_none_in_flight_sees_what_the_wakers_did) {
  const auto body = [](execution& e) {
    auto& s = e.make<noted>();
    operation* const op = s.office.take();
    ask(*op, {false, &s.buffer});
    s.office.start(*op, {&s, &noted::vtable});
    check(s.office.flush(), "the kernel has it");
    e.thread("kernel", [&s] { s.serve(1); });
    e.thread("looks", [&s] {
      if (s.office.in_flight() == 0) check(s.told.get() == 1, "its waker was woken");
    });
    e.finally([&s, op] { s.office.give_back(*op); });
  };
  expect_holds(exhaustive("operation_in_flight"), body);
}

}  // namespace
}  // namespace rota::driver
