// One direction of a duplex: every byte arrives, in order and once. Waiters are woken for bytes, for space
// and for the end. A cancelled operation has moved nothing.
#include "base/futex.hpp"
#include "model/waiting.hpp"

#include <rota/detail/thread_wait.hpp>
#include <rota/io/duplex.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace rota::io {
namespace {

using model::add_workers;
using model::canceller;
using model::expect_holds_everywhere;
using model::model_scheduler;
using model::watched;
using testing::check;
using testing::execution;

/// A thread that reads, or writes, one byte, and waits for it.
result<std::size_t> blocking_read(detail::duplex_pipe& from, std::byte& into) {
  core::wait_node me;
  static_cast<void>(core::block(from.to_read(false), me));
  return from.read(std::span(&into, 1));
}
result<std::size_t> blocking_write(detail::duplex_pipe& to, std::byte from) {
  core::wait_node me;
  static_cast<void>(core::block(to.to_write(false), me));
  return to.write(std::span(&from, 1), me.kind);
}

/// Both ends, and what one of them reads from.
struct joined {
  explicit joined(std::size_t capacity) : core(*detail::duplex_core::make(capacity)), pipe(core.read_by(0)) {}
  joined(const joined&) = delete;
  joined& operator=(const joined&) = delete;
  ~joined() {
    core.leave(0);
    core.leave(1);
  }
  void read_to_end(int expected_from, int expected_to) {
    for (int next = expected_from; next <= expected_to; ++next) {
      std::byte one{};
      check(blocking_read(pipe, one) == 1U && std::to_integer<int>(one) == next, "each byte comes, in order");
    }
    std::byte none{};
    check(blocking_read(pipe, none) == 0U, "then the end");
  }

  detail::duplex_core& core;
  detail::duplex_pipe& pipe;
};

TEST(duplex_model, bytes_come_in_order_and_then_the_end) {
  for (const std::size_t capacity : {1U, 2U}) {
    expect_holds_everywhere(capacity == 1 ? "duplex_one" : "duplex_two", [capacity](execution& e) {
      auto& x = e.make<joined>(capacity);
      auto& before = e.make<base::cell<int>>();
      e.thread("writer", [&x, &before] {
        before.set(1);
        check(blocking_write(x.pipe, std::byte{1}) == 1U, "somebody reads");
        check(blocking_write(x.pipe, std::byte{2}) == 1U, "somebody reads");
        x.pipe.end_writing();
      });
      e.thread("reader", [&x, &before] {
        x.read_to_end(1, 2);
        check(before.get() == 1, "what was done before is seen");
      });
    });
  }
}

// The reader ends beside a write that waits for space, and beside one that does not.
TEST(duplex_model, a_blocked_writer_fails_with_broken_pipe_when_the_reader_closes) {
  expect_holds_everywhere("duplex_gone", [](execution& e) {
    auto& x = e.make<joined>(std::size_t{1});
    auto& before = e.make<base::cell<int>>();
    e.thread("writer", [&x, &before] {
      static_cast<void>(blocking_write(x.pipe, std::byte{1}));
      const result<std::size_t> put = blocking_write(x.pipe, std::byte{2});
      check(!put.has_value() && put.error() == std::errc::broken_pipe, "there is no room, and will be none");
      check(before.get() == 1, "what was done before the close is seen");
    });
    e.thread("reader", [&x, &before] {
      before.set(1);
      x.core.close(0);
    });
  });
}

// An end is closed beside a task of its own that waits there.
TEST(duplex_model, a_close_wakes_its_own_waiters) {
  expect_holds_everywhere("duplex_own", [](execution& e) {
    auto& x = e.make<joined>(std::size_t{1});
    e.thread("reader", [&x] {
      std::byte none{};
      const result<std::size_t> got = blocking_read(x.pipe, none);
      check(!got.has_value() && got.error() == make_error_code(errc::closed), "nothing comes");
    });
    e.thread("writer", [&x] {
      // Into the other direction, which is full after one.
      detail::duplex_pipe& to = x.core.read_by(1);
      static_cast<void>(blocking_write(to, std::byte{1}));
      const result<std::size_t> put = blocking_write(to, std::byte{2});
      check(!put.has_value() && put.error() == make_error_code(errc::closed), "nobody makes room");
    });
    e.thread("closer", [&x] { x.core.close(0); });
  });
}

// The reader ends between the writer's check for space and its write.
TEST(duplex_model, a_writer_that_found_space_writes_even_if_the_reader_closes_then) {
  expect_holds_everywhere("duplex_found", [](execution& e) {
    auto& x = e.make<joined>(std::size_t{1});
    e.thread("writer", [&x] {
      core::wait_node me;
      check(x.pipe.can_write(me), "there is room, or an end");
      const bool saw_end = x.pipe.has_ended_for_writer();
      const std::byte one[] = {std::byte{1}};
      const result<std::size_t> put = x.pipe.write(one, me.kind);
      check(put.has_value() || saw_end, "an end that comes after the look is left to the next write");
    });
    e.thread("reader", [&x] { x.core.close(0); });
  });
}

// Bytes that were written before the end are read, in any order of both.
TEST(duplex_model, bytes_before_a_close_are_read) {
  expect_holds_everywhere("duplex_drained", [](execution& e) {
    auto& x = e.make<joined>(std::size_t{2});
    e.thread("writer", [&x] {
      const std::byte two[] = {std::byte{1}, std::byte{2}};
      core::wait_node me;
      check(x.pipe.can_write(me) && x.pipe.write(two, me.kind) == 2U, "there is room");
      x.core.close(1);
    });
    e.thread("reader", [&x] { x.read_to_end(1, 2); });
  });
}

/// A task that waits at the reading, or the writing, end.
struct with_a_reader : joined {
  with_a_reader() : joined(2) {
    base::this_thread_locals().worker = &s.core();
    check(s.run_one(), "it waits");
    base::this_thread_locals().worker = nullptr;
  }
  /// Says that the frame has gone.
  class leaving {
   public:
    explicit leaving(with_a_reader& of) noexcept : of_(&of) {}
    leaving(const leaving&) = delete;
    leaving& operator=(const leaving&) = delete;
    ~leaving() {
      // release. Pairs with wait_for_end().
      of_->ended_.store(1, base::order::release);
      base::futex_wake(&of_->ended_, 1);
    }

   private:
    with_a_reader* of_;
  };
  void wait_for_end() {
    // acquire. Pairs with ~leaving().
    while (ended_.load(base::order::acquire) == 0)
      static_cast<void>(base::futex_wait(ended_, 0, base::never));
  }
  static task<void> reads(with_a_reader& x) {
    const leaving last(x);
    std::byte one[1]{};
    const result<std::size_t> got = co_await detail::duplex_read(x.pipe, one);
    check(got == 1U, "it comes");
    x.got = std::to_integer<int>(one[0]);
  }
  base::atomic<std::uint32_t> ended_{0};
  model_scheduler s;
  int got = 0;
  watched<void> reader{s, reads(*this)};
  canceller of_reader{reader.header()};
};

TEST(duplex_model, a_cancelled_reader_takes_nothing) {
  expect_holds_everywhere("duplex_cancelled_reader", [](execution& e) {
    auto& x = e.make<with_a_reader>();
    add_workers(e, x.s, 1);
    e.thread("writer", [&x] {
      check(blocking_write(x.pipe, std::byte{1}) == 1U, "there is room");
      check(blocking_write(x.pipe, std::byte{2}) == 1U, "there is room");
      x.pipe.end_writing();
    });
    e.thread("canceller", [&x] { x.of_reader.cancel(); });
    e.finally([&x] {
      check(x.reader.was_cancelled() == (x.got == 0), "it has read, or was cancelled");
      x.read_to_end(x.got + 1, 2);
    });
  });
}

// The same, then a thread reads: it is woken although the first wait was given up, only for its events.
TEST(duplex_model, a_reader_is_woken_after_the_read_before_it_was_cancelled) {
  expect_holds_everywhere("duplex_next_reader", [](execution& e) {
    auto& x = e.make<with_a_reader>();
    add_workers(e, x.s, 1);
    e.thread("writer", [&x] {
      check(blocking_write(x.pipe, std::byte{1}) == 1U, "there is room");
      check(blocking_write(x.pipe, std::byte{2}) == 1U, "there is room");
      x.pipe.end_writing();
    });
    e.thread("canceller", [&x] {
      x.of_reader.cancel();
      x.wait_for_end();
      x.read_to_end(x.got + 1, 2);
    });
  });
}

struct with_a_writer : joined {
  with_a_writer() : joined(1) {
    check(blocking_write(pipe, std::byte{1}) == 1U, "there is room");
    base::this_thread_locals().worker = &s.core();
    check(s.run_one(), "it waits");
    base::this_thread_locals().worker = nullptr;
  }
  static task<void> writes(with_a_writer& x) {
    const std::byte one[] = {std::byte{2}};
    const result<std::size_t> put = co_await detail::duplex_write(x.pipe, one);
    check(put == 1U, "there is room");
    x.has_written = true;
  }
  model_scheduler s;
  bool has_written = false;
  watched<void> writer{s, writes(*this)};
  canceller of_writer{writer.header()};
};

TEST(duplex_model, a_cancelled_writer_gives_nothing) {
  expect_holds_everywhere("duplex_cancelled_writer", [](execution& e) {
    auto& x = e.make<with_a_writer>();
    add_workers(e, x.s, 1);
    e.thread("reader", [&x] {
      std::byte one{};
      check(blocking_read(x.pipe, one) == 1U && one == std::byte{1}, "it is there");
    });
    e.thread("canceller", [&x] { x.of_writer.cancel(); });
    e.finally([&x] {
      check(x.writer.was_cancelled() != x.has_written, "it has written, or was cancelled");
      x.pipe.end_writing();
      x.read_to_end(2, x.has_written ? 2 : 1);
    });
  });
}

// Both ends are destroyed at once, with bytes on their way: the memory is freed once, after both.
TEST(duplex_model, the_last_end_frees_both) {
  expect_holds_everywhere("duplex_ends", [](execution& e) {
    auto& core = *detail::duplex_core::make(1);
    for (const unsigned end : {0U, 1U}) {
      e.thread("end", [&core, end] {
        duplex_end mine(core, end);
        const std::byte one[] = {std::byte{1}};
        static_cast<void>(mine.try_write(one));
      });
    }
  });
}

}  // namespace
}  // namespace rota::io
