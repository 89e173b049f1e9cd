// Effects of a program on its own process while tasks run.
//
//   scenario 39   a frame is resumed or destroyed by hand     by_hand.*
//   scenario 40   exit() in a task                            leaving.exit_*
//   scenario 40   pthread_cancel of a worker                  leaving.a_worker_that_is_cancelled_by_force
//   scenario 40   an exception from a hook                    leaving.no_exception_can_leave_a_hook
#include "api/scenario_support.hpp"

#include <pthread.h>
#include <unistd.h>

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/when.hpp>

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>

namespace rota::test {
namespace {

// --- two tasks at one end of a socket

using one_socket = deaths;

TEST_F(one_socket, ends_the_program_when_two_tasks_read_from_it) {
  const auto die = [] {
    struct body {
      static task<> reads(net::tcp_stream& stream) {
        std::array<std::byte, 1> byte;
        static_cast<void>(co_await stream.read(byte));
      }
      static task<> both() {
        auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0));
        auto client = co_await net::tcp_stream::connect(*listener->local_endpoint());
        auto server = co_await listener->accept();
        co_await when_all(reads(*server), reads(*server));
      }
    };
    rota::run(body::both());
  };
  EXPECT_EXIT(die(), aborted, "two tasks wait for the same direction of one socket");
}

// --- exit()

using leaving = deaths;

task<> exits(int code) {
  std::exit(code);
  co_return;
}

task<> naps() { co_await sleep_for(std::chrono::hours(1'000'000)); }

TEST_F(leaving, exit_in_a_task_returns_its_code) {
  const auto leave = [] {
    runtime rt(with_workers(2));
    auto other = rt.spawn(naps());
    rt.spawn(exits(7)).join();
  };
  EXPECT_EXIT(leave(), testing::ExitedWithCode(7), "");
}

/// Made at first use, destroyed by exit().
runtime& static_runtime() {
  static runtime rt(with_workers(2));
  return rt;
}

// exit() destroys the runtime, on the worker that it would wait for.
TEST_F(leaving, exit_in_a_task_of_a_static_runtime_returns_its_code) {
  const auto leave = [] {
    auto other = static_runtime().spawn(naps());
    static_runtime().spawn(exits(8)).join();
  };
  EXPECT_EXIT(leave(), testing::ExitedWithCode(8), "");
}

TEST_F(leaving, exit_in_block_on_of_a_static_runtime_returns_its_code) {
  EXPECT_EXIT(static_runtime().block_on(exits(9)), testing::ExitedWithCode(9), "");
}

TEST_F(leaving, exit_in_a_blocking_call_returns_its_code) {
  EXPECT_EXIT(static_runtime().spawn_blocking([] { std::exit(10); }).join(), testing::ExitedWithCode(10), "");
}

TEST_F(leaving, exit_inside_block_in_place_returns_its_code) {
  struct body {
    static task<> exits_in_place() {
      block_in_place([] { std::exit(11); });
      co_return;
    }
  };
  EXPECT_EXIT(static_runtime().spawn(body::exits_in_place()).join(), testing::ExitedWithCode(11), "");
}

TEST_F(leaving, exit_outside_of_tasks_ends_a_static_runtime_in_good_order) {
  struct says_so {
    says_so() = default;
    says_so(const says_so&) = delete;
    says_so& operator=(const says_so&) = delete;
    ~says_so() {
      if (armed) std::fputs("its locals went\n", stderr);
    }
    bool armed = true;
  };
  struct body {
    static task<> holds(event& e) {
      const says_so local;
      co_await e();
    }
  };
  const auto leave = [] {
    static event never;
    static_runtime().spawn(body::holds(never)).detach();
    wait_until([] { return never.is_awaited(); });
    std::exit(12);
  };
  EXPECT_EXIT(leave(), testing::ExitedWithCode(12), "its locals went");
}

TEST_F(leaving, quick_exit_in_a_task_returns_its_code) {
  struct body {
    static task<> exits_quickly() {
      std::quick_exit(13);
      co_return;
    }
  };
  EXPECT_EXIT(static_runtime().spawn(body::exits_quickly()).join(), testing::ExitedWithCode(13), "");
}

// --- what must not be done to a worker

#if !defined(__SANITIZE_THREAD__)
TEST_F(leaving, a_worker_that_is_cancelled_by_force_ends_the_program) {
  struct body {
    static task<> waits_in_the_kernel(std::atomic<pthread_t>& self) {
      self = ::pthread_self();
      for (;;) ::pause();
      co_return;
    }
  };
  const auto die = [] {
    std::atomic<pthread_t> worker{};
    runtime rt(with_workers(1));
    auto h = rt.spawn(body::waits_in_the_kernel(worker));
    wait_until([&worker] { return worker != pthread_t{}; });
    ::pthread_cancel(worker);
    h.join();
  };
  EXPECT_EXIT(die(), aborted, "");
}
#endif

// A hook that may throw is not accepted.
static_assert(
    !std::is_invocable_v<decltype(unhandled_policy::callback), void (*)(const unhandled_exception&)>);
static_assert(
    std::is_invocable_v<decltype(unhandled_policy::callback), void (*)(const unhandled_exception&) noexcept>);

TEST_F(leaving, no_exception_can_leave_a_hook) {
  const auto die = [] {
    runtime_options o = with_workers(1);
    o.on_unhandled = unhandled_policy::callback([](const unhandled_exception& e) noexcept {
      struct thrower {
        static void raise(const char* what) { throw std::runtime_error(what); }
      };
      thrower::raise(e.what);
    });
    struct body {
      static task<> fails(event& go) {
        this_task::set_name("porter");
        co_await go();
        throw std::runtime_error("a letter lost");
      }
    };
    event go;
    runtime rt(o);
    rt.spawn(body::fails(go)).detach();
    go.fire();  // no handle is left, so its worker finds the exception
    wait_until([] { return false; });
  };
  EXPECT_EXIT(die(), aborted, "std::terminate in task [0-9]+ 'porter'(.|\n)*a letter lost");
}

// --- frames are the runtime's alone
//
// A resumption by hand is noticed by asserts, the use of a destroyed frame by AddressSanitizer.

#if defined(__SANITIZE_ADDRESS__)
#define ROTA_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROTA_TEST_ASAN 1
#endif
#endif
#if !defined(NDEBUG) || defined(ROTA_TEST_ASAN)

/// A leaf that leaks its task's frame handle, as no leaf should.
class gives_frame_away final : public leaf {
 public:
  gives_frame_away(event& of, std::coroutine_handle<>& frame) noexcept : inner_(of), frame_(&frame) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    inner_.bind(task());
    *frame_ = frame;
    return inner_.await_suspend(frame);
  }
  [[nodiscard]] bool is_ready() noexcept override { return inner_.is_ready(); }
  cancel_progress try_cancel(cancel_reason reason) noexcept override { return inner_.try_cancel(reason); }
  void await_resume() const noexcept {}

 private:
  event::wait inner_;
  std::coroutine_handle<>* frame_;
};

task<> inner_frame(event& e, std::coroutine_handle<>& frame) {
  co_await gives_frame_away(e, frame);
  co_await sleep_for(1h);
}

task<> outer_frame(event& e, std::coroutine_handle<>& frame) {
  this_task::set_name("porter");
  co_await inner_frame(e, frame);
}

using by_hand = deaths;

template <class F>
void with_a_suspended_frame(F act) {
  runtime rt(with_workers(1));
  event e;
  std::coroutine_handle<> frame;
  auto h = rt.spawn(outer_frame(e, frame));
  wait_for_state(rt, "waiting for");
  act(frame, e);
  h.join();
}

#if !defined(NDEBUG)
TEST_F(by_hand, a_frame_that_is_resumed_by_hand_is_noticed_when_it_suspends) {
  const auto die = [] {
    with_a_suspended_frame([](std::coroutine_handle<> frame, event& /*e*/) { frame.resume(); });
  };
  EXPECT_EXIT(die(), aborted, "a frame was resumed by hand: task [0-9]+ 'porter'");
}
#endif

#if defined(ROTA_TEST_ASAN)
TEST_F(by_hand, a_frame_that_is_destroyed_by_hand_is_noticed_when_it_is_resumed) {
  const auto die = [] {
    with_a_suspended_frame([](std::coroutine_handle<> frame, event& e) {
      waker w = e.steal_waker();
      frame.destroy();
      w.wake();
    });
  };
  EXPECT_DEATH(die(), "heap-use-after-free");
}
#endif

#endif

}  // namespace
}  // namespace rota::test
