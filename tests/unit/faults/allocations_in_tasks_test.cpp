// Calls from tasks without memory: the caller gets an error or nothing happens, nothing leaks, and the
// runtime continues.
#include "unit/faults/allocation_support.hpp"

#include <rota/rota.hpp>
#include <rota/stop_token.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <stop_token>
#include <tuple>
#include <utility>
#include <vector>

namespace rota::allocations_in_tasks_test {
namespace {

using namespace std::chrono_literals;
using test::guest;
using test::memory;
using test::number;
using test::with_guest;

task<> forever(guest /*g*/) { co_await sleep_for(std::chrono::hours::max()); }

std::vector<task<int>> three() {
  std::vector<task<int>> made;
  for (int i = 0; i < 3; ++i) made.push_back(with_guest(guest(), i));
  return made;
}

task_local<int> level;

struct call {
  const char* name;
  task<> (*body)();
};
std::ostream& operator<<(std::ostream& out, const call& c) { return out << c.name; }

const call calls[] = {
    {"a_task_in_a_task",
     []() -> task<> {
       const int got = co_await with_guest(guest(), 1);
       static_cast<void>(got);
     }},
    {"a_frame_from_an_allocator",
     []() -> task<> {
       constexpr auto made = [](std::allocator_arg_t, std::allocator<char>, guest) -> task<> {
         co_await yield();
       };
       co_await made(std::allocator_arg, std::allocator<char>(), guest());
     }},
    {"spawn_of_a_task",
     []() -> task<> {
       join_handle<int> h = spawn(with_guest(guest(), 1));
       co_await h;
     }},
    {"spawn_of_a_closure",
     []() -> task<> {
       const guest mine;
       auto closure = [mine](guest g) -> task<int> {
         const int got = co_await with_guest(std::move(g), 2);
         co_return got;
       };
       join_handle<int> h = spawn(std::move(closure), guest());
       co_await h;
     }},
    {"spawn_that_is_detached", []() -> task<> { spawn(with_guest(guest(), 1)).detach(), co_await yield(); }},
    {"spawn_under_a_deadline",
     []() -> task<> {
       const auto spawned = []() -> task<> {
         join_handle<int> h = spawn(with_guest(guest(), 1));
         co_await h;
       };
       static_cast<void>(co_await timeout(1h, spawned()));
     }},
    {"result_and_detached_wait",
     []() -> task<> {
       join_handle<int> a = spawn(with_guest(guest(), 1));
       join_handle<int> b = spawn(with_guest(guest(), 1));
       const outcome<int> end = co_await a.result();
       if (end.exception() != nullptr) std::rethrow_exception(end.exception());
       co_await b.detached_wait();
     }},
    {"cancel",
     []() -> task<> {
       join_handle<void> h = spawn(forever(guest()));
       co_await yield();
       h.cancel();
       static_cast<void>(co_await h.result());
     }},
    {"spawn_blocking",
     []() -> task<> {
       const guest mine;
       auto closure = [mine](const guest&) { return 3; };
       join_handle<int> h = spawn_blocking(std::move(closure), guest());
       co_await h;
     }},
    {"two_of_spawn_blocking",
     []() -> task<> {
       join_handle<int> a = spawn_blocking([] { return 1; });
       join_handle<int> b = spawn_blocking([] { return 2; });
       co_await a;
       co_await b;
     }},
    {"block_in_place",
     []() -> task<> {
       static_cast<void>(block_in_place([g = guest()] { return std::make_unique<int>(1); }));
       join_handle<void> h = spawn_blocking([] {});
       co_await h;
     }},
    {"block_on_in_place",
     []() -> task<> {
       block_in_place([] { run(number(1)); });
       co_return;
     }},
    {"a_blocking_join",
     []() -> task<> {
       join_handle<int> h = spawn(with_guest(guest(), 1));
       h.join();
       co_return;
     }},
    {"this_task_set_name",
     []() -> task<> {
       co_await yield();
       this_task::set_name("a name that is longer than what a small string would hold in place");
       co_await with_guest(guest(), 1);
     }},
    {"task_local_scope", []() -> task<> { co_await level.scope(2, with_guest(guest(), 1)); }},
    {"task_local_set",
     []() -> task<> {
       const auto bound = level.set(2);
       join_handle<int> h = spawn(with_guest(guest(), 1));
       co_await h;
     }},
    {"when_all",
     []() -> task<> { co_await when_all(with_guest(guest(), 1), with_guest(guest(), 2), yield()); }},
    {"when_all_of_a_range", []() -> task<> { co_await when_all(three()); }},
    {"when_all_settled",
     []() -> task<> {
       auto both = co_await when_all_settled(with_guest(guest(), 1), with_guest(guest(), 2));
       static_cast<void>(std::get<0>(both));
     }},
    {"when_all_settled_of_a_range", []() -> task<> { co_await when_all_settled(three()); }},
    {"when_any", []() -> task<> { co_await when_any(with_guest(guest(), 1), forever(guest())); }},
    {"when_any_of_a_range", []() -> task<> { co_await when_any(three()); }},
    {"when_any_success",
     []() -> task<> { co_await when_any_success(with_guest(guest(), 1), forever(guest())); }},
    {"when_any_success_of_a_range", []() -> task<> { co_await when_any_success(three()); }},
    {"with_scope",
     []() -> task<> {
       co_await with_scope([](scope& s) -> task<> {
         join_handle<int> h = s.spawn(with_guest, guest(), 1);
         s.fork(with_guest(guest(), 1));
         co_await h;
       });
     }},
    {"with_scope_that_is_cancelled",
     []() -> task<> {
       co_await with_scope([](scope& s) -> task<> {
         s.fork(forever(guest()));
         co_await yield();
         s.cancel();
       });
     }},
    {"async_scope",
     []() -> task<> {
       async_scope open;
       std::exception_ptr failed;
       try {
         open.fork(with_guest(guest(), 1));
         open.fork(with_guest, guest(), 1);
       } catch (...) {
         failed = std::current_exception();
       }
       co_await open.close();
       if (failed != nullptr) std::rethrow_exception(failed);
     }},
    {"join_set",
     []() -> task<> {
       join_set<int> set;
       set.spawn(with_guest(guest(), 1));
       set.spawn(with_guest, guest(), 2);
       while (!set.empty()) static_cast<void>(co_await set.next());
     }},
    {"join_set_that_is_dropped",
     []() -> task<> {
       join_set<void> set;
       set.spawn(forever(guest()));
       set.spawn(forever(guest()));
       co_await yield();
     }},
    {"join_set_close",
     []() -> task<> {
       join_set<void> set;
       set.spawn(forever(guest()));
       co_await yield();
       co_await set.close();
     }},
    {"finally",
     []() -> task<> {
       const auto clean_up = [](const outcome<int>&) -> task<> { co_await yield(); };
       co_await finally(with_guest(guest(), 1), clean_up, 1h);
     }},
    {"finally_of_a_task_that_is_cancelled",
     []() -> task<> {
       const auto clean_up = []() -> task<> {
         const guest mine;
         co_await yield();
       };
       join_handle<void> h = spawn(finally(forever(guest()), clean_up, 1h));
       co_await yield();
       h.cancel();
       static_cast<void>(co_await h.result());
     }},
    {"shield",
     []() -> task<> {
       const auto guard = shield(1h);
       co_await with_guest(guest(), 1);
     }},
    {"sleeps",
     []() -> task<> {
       co_await sleep_for(1us);
       co_await sleep_until(std::chrono::steady_clock::now() + 1us);
       interval every(1us);
       co_await every.tick();
       co_await with_guest(guest(), 1);
     }},
    {"timeout", []() -> task<> { static_cast<void>(co_await timeout(1h, with_guest(guest(), 1))); }},
    {"timeout_that_passes", []() -> task<> { static_cast<void>(co_await timeout(1us, forever(guest()))); }},
    {"with_deadline",
     []() -> task<> {
       const auto at = std::chrono::steady_clock::now() + 1us;
       static_cast<void>(co_await with_deadline(at, forever(guest())));
     }},
    {"stop_tokens",
     []() -> task<> {
       std::stop_source mine;
       const stop_link linked(mine.get_token());
       const std::stop_token token = this_task::stop_token();
       co_await with_guest(guest(), token.stop_requested() ? 1 : 0);
     }},
    {"wakers",
     []() -> task<> {
       const guest mine;
       waker w = callback_waker([mine]() noexcept { static_cast<void>(mine); });
       const waker other = w.clone();
       std::move(w).wake();
       co_return;
     }},
    {"an_error_of_misuse",
     []() -> task<> {
       join_handle<int> empty;
       bool told = false;
       try {
         empty.join();
       } catch (const error& e) {
         told = e.code() == errc::already_joined;
       }
       if (!told) throw std::logic_error("an empty handle was joined");
       co_return;
     }},
};

enum class place : unsigned char { caller, worker };

class allocations_in_tasks : public ::testing::TestWithParam<std::tuple<call, place, std::size_t>> {
 protected:
  /// Each attempt has its own runtime, after which no allocation may be left.
  static std::size_t attempt(std::size_t nth) {
    const auto& [what, where, in_a_row] = GetParam();
    std::size_t failed = 0;
    const long before = memory::live();
    {
      runtime rt(test::short_of_memory());
      test::join_on_worker(rt.spawn(test::without_cache()));
      memory::fail_after(nth, in_a_row);
      const test::verdict v = test::judge([&] {
        where == place::caller ? rt.block_on(what.body()) : test::join_on_worker(rt.spawn(what.body()));
      });
      failed = memory::stop_failing();
      EXPECT_NE(v.how, test::ending::other) << v.what;
      EXPECT_EQ(rt.block_on(number(7)), 7);
      EXPECT_EQ(rt.spawn(number(8)).join(), 8);
    }
    test::until_alone();
    EXPECT_EQ(guest::count(), 0);
    EXPECT_EQ(memory::live(), before);
    EXPECT_EQ(test::strange_ends, 0);
    return failed;
  }
};

TEST_P(allocations_in_tasks, fail_one_after_the_other) {
  test::forgo_frame_cache();
  run(number(1));  // makes the allocations that happen once per process
  test::until_clean(attempt);
}

std::string name_of(const ::testing::TestParamInfo<allocations_in_tasks::ParamType>& info) {
  const auto& [what, where, in_a_row] = info.param;
  return std::string(what.name) + (where == place::caller ? "_on_the_caller" : "_on_a_worker") +
         (in_a_row == 1 ? "_one" : "_three_in_a_row");
}

INSTANTIATE_TEST_SUITE_P(each_call,
                         allocations_in_tasks,
                         ::testing::Combine(::testing::ValuesIn(calls),
                                            ::testing::Values(place::caller, place::worker),
                                            ::testing::Values(1, 3)),
                         name_of);

}  // namespace
}  // namespace rota::allocations_in_tasks_test
