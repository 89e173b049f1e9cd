// Calls from outside of tasks without memory: making and destroying a runtime, and calls of other threads.
#include "unit/faults/allocation_support.hpp"

#include <rota/rota.hpp>
#include <rota/testing/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <thread>
#include <utility>

namespace rota::allocations_around_tasks_test {
namespace {

using namespace std::chrono_literals;
using test::guest;
using test::memory;
using test::number;
using test::short_of_memory;
using test::verdict;
using test::with_guest;

void expect_none_strange(const verdict& v) { EXPECT_NE(v.how, test::ending::other) << v.what; }

/// A call on a runtime, made by the thread that owns it.
struct request {
  const char* name;
  void (*call)(runtime& rt);
};
std::ostream& operator<<(std::ostream& out, const request& r) { return out << r.name; }

const request requests[] = {
    {"block_on_of_a_task", [](runtime& rt) { rt.block_on(with_guest(guest(), 1)); }},
    {"block_on_of_a_closure",
     [](runtime& rt) {
       const guest mine;
       rt.block_on([mine](guest g) { return with_guest(std::move(g), 1); }, guest());
     }},
    {"spawn_of_a_task", [](runtime& rt) { rt.spawn(with_guest(guest(), 1)).join(); }},
    {"spawn_of_a_closure",
     [](runtime& rt) {
       const guest mine;
       rt.spawn([mine](guest g) { return with_guest(std::move(g), 1); }, guest()).join(help);
     }},
    {"spawn_that_is_detached", [](runtime& rt) { rt.spawn(with_guest(guest(), 1)).detach(); }},
    {"spawn_blocking",
     [](runtime& rt) { rt.spawn_blocking([](const guest&) { return 1; }, guest()).join(); }},
    {"wait_for",
     [](runtime& rt) {
       join_handle<int> h = rt.spawn(with_guest(guest(), 1));
       static_cast<void>(h.wait_for(std::chrono::hours::max()));
     }},
    {"a_handle",
     [](runtime& rt) {
       const runtime_handle h = rt.handle();
       const runtime_handle copy = h;
       copy.spawn(with_guest, guest(), 1).join();
       copy.spawn_blocking([] { return 1; }).join();
     }},
    {"stats", [](runtime& rt) { EXPECT_EQ(rt.stats().workers.size(), 1U); }},
    {"dump",
     [](runtime& rt) {
       const auto named = []() -> task<> {
         this_task::set_name("this one");
         co_await sleep_for(std::chrono::hours::max());
       };
       join_handle<void> h = rt.spawn(named());
       h.detach();
       EXPECT_NE(rt.dump(), "");
     }},
    {"shutdown",
     [](runtime& rt) {
       rt.spawn(with_guest(guest(), 1)).detach();
       EXPECT_TRUE(rt.shutdown(0s).survivors.empty());
     }},
    {"run_of_a_task", [](runtime&) { run(with_guest(guest(), 1), short_of_memory()); }},
    {"run_of_a_closure",
     [](runtime&) {
       const guest mine;
       run([mine](guest g) { return with_guest(std::move(g), 1); }, guest());
     }},
};

class allocations_around_tasks : public ::testing::TestWithParam<std::tuple<request, std::size_t>> {};

TEST_P(allocations_around_tasks, fail_one_after_the_other) {
  const auto& [what, in_a_row] = GetParam();
  test::forgo_frame_cache();
  run(number(1));
  test::until_clean([&](std::size_t nth) {
    const long before = memory::live();
    std::size_t failed = 0;
    {
      runtime rt(short_of_memory());
      rt.spawn(test::without_cache()).join();
      memory::fail_after(nth, in_a_row);
      const verdict v = test::judge([&] { what.call(rt); });
      failed = memory::stop_failing();
      expect_none_strange(v);
      const auto after = rt.spawn(number(8)).wait_for(std::chrono::hours::max());
      EXPECT_TRUE(after->has_value() || after->is_cancelled());
    }
    test::until_alone();
    EXPECT_EQ(guest::count(), 0);
    EXPECT_EQ(memory::live(), before);
    EXPECT_EQ(test::strange_ends, 0);
    return failed;
  });
}

INSTANTIATE_TEST_SUITE_P(each_request,
                         allocations_around_tasks,
                         ::testing::Combine(::testing::ValuesIn(requests), ::testing::Values(1, 3)),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).name) +
                                  (std::get<1>(one.param) == 1 ? "_one" : "_three_in_a_row");
                         });

class allocations_of_a_runtime : public ::testing::TestWithParam<std::size_t> {
 protected:
  /// Makes and uses it once without a failure, then with a failure at each allocation.
  template <class F>
  void make_with_each_failure(F make_and_use) {
    test::forgo_frame_cache();
    run(number(1));
    test::until_clean([&](std::size_t nth) {
      const long before = memory::live();
      const std::size_t files = test::open_files();
      memory::fail_after(nth, GetParam());
      const verdict v = test::judge(make_and_use);
      const std::size_t failed = memory::stop_failing();
      expect_none_strange(v);
      test::until_alone();
      EXPECT_EQ(memory::live(), before);
      EXPECT_EQ(test::open_files(), files);
      return failed;
    });
  }
};

TEST_P(allocations_of_a_runtime, fail_while_it_is_created_and_destroyed) {
  make_with_each_failure([] { const runtime rt(short_of_memory(2)); });
}

TEST_P(allocations_of_a_runtime, fail_while_its_blocking_threads_start) {
  make_with_each_failure([] {
    runtime_options o = short_of_memory();
    o.blocking.min_threads = 3;
    const runtime rt(o);
  });
}

TEST_P(allocations_of_a_runtime, fail_with_a_clock_of_its_own) {
  make_with_each_failure([] {
    rota::testing::virtual_clock clock;
    runtime rt(short_of_memory(), clock);
    rt.block_on([]() -> task<> { co_await sleep_for(1h); });
  });
}

TEST_P(allocations_of_a_runtime, fail_while_it_is_destroyed_with_live_tasks) {
  make_with_each_failure([] {
    runtime rt(short_of_memory());
    for (int i = 0; i < 3; ++i) {
      rt.spawn([](guest /*g*/) -> task<> { co_await sleep_for(1h); }, guest()).detach();
    }
  });
  EXPECT_EQ(guest::count(), 0);
}

TEST_P(allocations_of_a_runtime, fail_in_a_refused_option) {
  test::until_clean([](std::size_t nth) {
    const long before = memory::live();
    bool refused = false;
    memory::fail_after(nth, GetParam());
    try {
      const runtime rt(runtime_options{.workers = 5000});
    } catch (const std::invalid_argument&) {
      refused = true;
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    const std::size_t failed = memory::stop_failing();
    EXPECT_TRUE(refused);
    EXPECT_EQ(memory::live(), before);
    return failed;
  });
}

INSTANTIATE_TEST_SUITE_P(once_and_three_times, allocations_of_a_runtime, ::testing::Values(1, 3));

}  // namespace
}  // namespace rota::allocations_around_tasks_test
