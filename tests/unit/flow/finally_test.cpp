#include "flow_support.hpp"

#include <rota/cancel.hpp>
#include <rota/finally.hpp>
#include <rota/scope.hpp>
#include <rota/time.hpp>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace finally_test {
namespace {

using namespace rota;
using namespace rota::test;

class finally_in_order : public in_every_order {
 protected:
  std::string log;

  /// Returns a clean-up that waits, and logs its argument.
  auto noting() {
    return [this](const outcome<int>& end) -> task<void> {
      log += in_words(end) + ";";
      co_await sleep_for(1ms);
      log += "clean;";
    };
  }
  template <class Body>
  join_handle<int> start(Body body) {
    auto work = [](finally_in_order& self, Body b) -> task<int> {
      auto cleanup = self.noting();
      co_return co_await finally(std::move(b), cleanup, 1s);
    };
    return s.spawn(work(*this, std::move(body)));
  }
};
ROTA_IN_EVERY_ORDER(finally_in_order);

TEST_P(finally_in_order, cleans_up_after_a_value) {
  auto h = start(gives(3));
  s.run_with_time();
  EXPECT_EQ(end_of(h), "value 3");
  EXPECT_EQ(log, "value 3;clean;");
}

TEST_P(finally_in_order, cleans_up_after_an_exception) {
  auto h = start(throws(4));
  s.run_with_time();
  EXPECT_EQ(end_of(h), "failure 4");
  EXPECT_EQ(log, "failure 4;clean;");
}

TEST_P(finally_in_order, cleans_up_after_a_cancellation) {
  auto h = start(waits());
  s.run_until_idle();
  h.cancel(cancel_reason::shutdown);
  s.run_until_idle();
  EXPECT_EQ(log, "cancelled shutdown;");
  EXPECT_FALSE(h.is_done());
  s.run_with_time();
  EXPECT_EQ(end_of(h), "cancelled shutdown");
  EXPECT_EQ(log, "cancelled shutdown;clean;");
}

TEST_P(finally_in_order, takes_a_callable_for_the_body) {
  auto h = start([] { return gives(5); });
  s.run_with_time();
  EXPECT_EQ(end_of(h), "value 5");
}

TEST_P(finally_in_order, cleans_up_after_a_body_callable_that_throws) {
  auto h = start([]() -> task<int> {
    if (true) throw failure(6);
    return gives(1);
  });
  s.run_with_time();
  EXPECT_EQ(end_of(h), "failure 6");
  EXPECT_EQ(log, "failure 6;clean;");
}

TEST_P(finally_in_order, a_clean_up_need_not_ask_for_the_outcome) {
  bool cleaned = false;
  auto h = s.spawn([&]() -> task<void> {
    auto nothing = []() -> task<void> { co_return; };
    auto cleanup = [&]() -> task<void> {
      cleaned = true;
      co_return;
    };
    co_await finally(nothing, cleanup, 1s);
  });
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "value");
  EXPECT_TRUE(cleaned);
}

TEST_P(finally_in_order, a_body_that_never_starts_needs_no_clean_up) {
  auto h = start(gives(1));
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(log, "");
}

TEST_P(finally_in_order, locals_of_the_body_are_destroyed_before_the_clean_up) {
  auto h = s.spawn([&]() -> task<int> {
    const witness around(log, 'a');
    auto body = [&]() -> task<int> {
      const witness outer(log, 'o');
      auto deeper = [&]() -> task<int> {
        const witness inner(log, 'i');
        co_return co_await waits();
      };
      co_return co_await deeper();
    };
    auto cleanup = [&]() -> task<void> {
      co_await yield();
      log.push_back('C');
    };
    co_return co_await finally(body, cleanup, 1s);
  });
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(log, "ioCa");
}

TEST_P(finally_in_order, a_clean_up_may_do_all_that_a_task_may) {
  int sum = 0;
  auto h = s.spawn([&]() -> task<int> {
    auto cleanup = [&]() -> task<void> {
      EXPECT_FALSE(this_task::unwinding());
      EXPECT_TRUE(this_task::cancel_requested());
      co_await with_scope([&](scope& c) -> task<void> {
        auto one = c.spawn(gives, 1);
        c.fork([&]() -> task<void> {
          co_await sleep_for(3ms);
          sum += 10;
        });
        sum += co_await one;
      });
      try {
        co_await throws(100);
      } catch (const failure& f) {
        sum += f.number;
      }
    };
    co_return co_await finally(waits(), cleanup, 1s);
  });
  s.run_until_idle();
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(sum, 111);
}

TEST_P(finally_in_order, a_cancellation_that_comes_during_the_clean_up_waits_for_its_end) {
  bool went_on = false;
  auto h = s.spawn([&]() -> task<int> {
    auto cleanup = noting();
    const int value = co_await finally(gives(7), cleanup, 1s);
    log += std::to_string(value) + ";";
    co_await yield();
    went_on = true;
    co_return value;
  });
  s.run_until_idle();
  EXPECT_EQ(log, "value 7;");
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(log, "value 7;clean;7;");
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_FALSE(went_on);
}

TEST_P(finally_in_order, deadline_that_passes_during_the_clean_up_waits_for_its_end) {
  auto h = s.spawn([&]() -> task<int> {
    auto cleanup = noting();
    auto work = [&]() -> task<int> {
      const int value = co_await finally(gives(7), cleanup, 1s);
      co_await forever();
      co_return value;
    };
    const auto end = co_await timeout(500us, work());
    co_return end.has_value() ? 1 : 2;
  });
  s.run_with_time();
  EXPECT_EQ(log, "value 7;clean;");
  EXPECT_EQ(end_of(h), "value 2");
}

TEST_P(finally_in_order, outer_deadline_unwinds_the_body_then_cleans_up_then_unwinds_the_rest) {
  auto h = s.spawn([&]() -> task<int> {
    auto cleanup = noting();
    auto work = [&]() -> task<int> {
      const witness w(log, 'w');
      co_return co_await finally(waits(), cleanup, 1s);
    };
    const auto end = co_await timeout(500us, work());
    log += "then;";
    co_await yield();
    co_return end.has_value() ? 1 : 2;
  });
  s.run_with_time();
  EXPECT_EQ(log, "cancelled timeout;clean;wthen;");
  EXPECT_EQ(end_of(h), "value 2");
}

TEST_P(finally_in_order, deadline_inside_the_clean_up_is_its_time_limit) {
  const base::time_point start_time = s.time;
  auto h = s.spawn([&]() -> task<int> {
    auto work = [&]() -> task<int> {
      auto cleanup = [&]() -> task<void> {
        EXPECT_EQ(this_task::deadline(), start_time + 5ms + 1s);
        co_return;
      };
      co_return co_await finally(waits(), cleanup, 1s);
    };
    const auto end = co_await timeout(5ms, work());
    co_return end.has_value() ? 1 : 2;
  });
  s.run_with_time();
  EXPECT_EQ(end_of(h), "value 2");
}

// --- failures of the clean-up itself

struct slow_cleanup {
  std::string* log;
  task<void> operator()() const {
    const witness w(*log, 's');
    co_await forever();
  }
};
struct throwing_cleanup {
  task<void> operator()() const {
    co_await yield();
    throw failure(99);
  }
};

template <class Cleanup>
task<int> finally_with(task<int> body, Cleanup cleanup) {
  co_return co_await finally(std::move(body), cleanup, 10ms);
}

TEST_P(finally_in_order, exception_of_the_clean_up_is_rethrown_after_a_value) {
  auto h = s.spawn(finally_with(gives(1), throwing_cleanup()));
  s.run_with_time();
  EXPECT_EQ(end_of(h), "failure 99");
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST_P(finally_in_order, exception_of_the_clean_up_is_only_counted_after_an_exception) {
  auto h = s.spawn(finally_with(throws(1), throwing_cleanup()));
  s.run_with_time();
  EXPECT_EQ(end_of(h), "failure 1");
  EXPECT_EQ(s.unhandled_count, 1);
}

TEST_P(finally_in_order, exception_of_the_clean_up_is_only_counted_during_a_cancellation) {
  auto h = s.spawn(finally_with(waits(), throwing_cleanup()));
  s.run_until_idle();
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(s.unhandled_count, 1);
}

struct joining_cleanup {
  join_handle<int>* other;
  task<void> operator()() const { static_cast<void>(co_await *other); }
};

TEST_P(finally_in_order, joining_a_task_cancelled_for_the_same_reason_is_no_failure) {
  auto other = s.spawn(waits());
  auto h = s.spawn(finally_with(waits(), joining_cleanup{&other}));
  s.run_until_idle();
  other.cancel();
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST_P(finally_in_order, joining_a_task_cancelled_for_another_reason_is_a_failure) {
  auto other = s.spawn(waits());
  auto h = s.spawn(finally_with(waits(), joining_cleanup{&other}));
  s.run_until_idle();
  other.cancel(cancel_reason::sibling_failed);
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(s.unhandled_count, 1);
}

TEST_P(finally_in_order, joining_a_cancelled_task_after_an_exception_is_a_failure) {
  auto other = s.spawn(waits());
  auto h = s.spawn(finally_with(throws(1), joining_cleanup{&other}));
  other.cancel();
  s.run_with_time();
  EXPECT_EQ(end_of(h), "failure 1");
  EXPECT_EQ(s.unhandled_count, 1);
}

TEST_P(finally_in_order, clean_up_callable_that_throws_is_rethrown_after_a_value) {
  auto cannot = []() -> task<void> { throw failure(98); };
  auto h = s.spawn(finally_with(gives(1), +cannot));
  s.run_with_time();
  EXPECT_EQ(end_of(h), "failure 98");
}

TEST_P(finally_in_order, clean_up_past_its_limit_is_unwound_and_throws_after_a_value) {
  auto h = s.spawn(finally_with(gives(1), slow_cleanup{&log}));
  s.run_until_idle();
  s.advance(9ms);
  s.run_until_idle();
  EXPECT_EQ(log, "");
  s.advance(1ms);
  s.run_until_idle();
  EXPECT_EQ(log, "s");
  EXPECT_EQ(end_of(h), "the deadline passed");
  EXPECT_EQ(s.overrides, 0);
}

TEST_P(finally_in_order, clean_up_past_its_limit_is_only_counted_after_an_exception) {
  auto h = s.spawn(finally_with(throws(1), slow_cleanup{&log}));
  s.run_with_time();
  EXPECT_EQ(log, "s");
  EXPECT_EQ(end_of(h), "failure 1");
  EXPECT_EQ(s.overrides, 1);
}

TEST_P(finally_in_order, clean_up_past_its_limit_is_only_counted_during_a_cancellation) {
  auto h = s.spawn(finally_with(waits(), slow_cleanup{&log}));
  s.run_until_idle();
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(log, "s");
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(s.overrides, 1);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST_P(finally_in_order, the_end_of_a_shutdown_unwinds_a_clean_up) {
  auto h = s.spawn([&]() -> task<int> {
    const witness around(log, 'a');
    const slow_cleanup cleanup{&log};
    const int value = co_await finally(waits(), cleanup, std::chrono::hours::max());
    log += "NO";
    co_return value;
  });
  s.run_until_idle();
  core::header* task_header = nullptr;
  // The handle's only member is the header.
  static_assert(sizeof(h) == sizeof(task_header));
  std::memcpy(&task_header, &h, sizeof(task_header));
  h.cancel(cancel_reason::shutdown);
  s.run_until_idle();
  EXPECT_EQ(log, "");
  core::override_shields(*task_header);
  s.run_until_idle();
  EXPECT_EQ(log, "sa");
  EXPECT_EQ(end_of(h), "cancelled shutdown");
}

// --- together

task<int> nested(int depth, std::string& log) {
  if (depth == 0) co_return co_await waits();
  auto cleanup = [&]() -> task<void> {
    co_await yield();
    log.push_back(static_cast<char>('a' + depth % 26));
  };
  co_return co_await finally(nested(depth - 1, log), cleanup, 1s);
}

TEST_P(finally_in_order, nested_clean_ups_run_from_the_innermost_outwards) {
  auto h = s.spawn(nested(10, log));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(log, "bcdefghijk");
  EXPECT_EQ(end_of(h), "cancelled user");
}

TEST_P(finally_in_order, a_thousand_nested_clean_ups_all_run) {
  auto h = s.spawn(nested(1000, log));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(log.size(), 1000U);
  EXPECT_EQ(end_of(h), "cancelled user");
}

TEST_P(finally_in_order, clean_up_can_run_another_clean_up) {
  auto h = s.spawn([&]() -> task<int> {
    auto cleanup = [&]() -> task<void> {
      auto inner = [&]() -> task<void> {
        co_await sleep_for(1ms);
        log.push_back('2');
      };
      auto body = [&]() -> task<void> {
        co_await sleep_for(1ms);
        log.push_back('1');
      };
      co_await finally(body, inner, 1s);
      log.push_back('3');
    };
    co_return co_await finally(waits(), cleanup, 1s);
  });
  s.run_until_idle();
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(log, "123");
  EXPECT_EQ(end_of(h), "cancelled user");
}

TEST_P(finally_in_order, cleans_up_when_a_child_of_the_enclosing_scope_fails) {
  auto h = s.spawn([&]() -> task<int> {
    co_return co_await with_scope([&](scope& c) -> task<int> {
      const witness body(log, 'b');
      c.spawn([&]() -> task<void> {
        const witness child(log, 'c');
        co_await forever();
      });
      c.spawn(throws, 1);
      auto cleanup = noting();
      co_return co_await finally(waits(), cleanup, 1s);
    });
  });
  s.run_with_time();
  EXPECT_EQ(end_of(h), "failure 1");
  // The clean-up does not wait for the sibling. The body's locals, which both may use, outlive both.
  EXPECT_TRUE(log == "ccancelled sibling failed;clean;b" || log == "cancelled sibling failed;cclean;b")
      << log;
}

TEST_P(finally_in_order, leaves_the_shields_as_they_were) {
  auto h = s.spawn([&]() -> task<int> {
    auto cleanup = noting();
    std::vector<shield_guard> most;
    for (int i = 0; i < 255; ++i) most.push_back(shield(1h));
    const int value = co_await finally(gives(1), cleanup, 1s);
    EXPECT_THROW(static_cast<void>(shield(1h)), shield_overflow);
    most.clear();
    const auto one_more = shield(1h);
    co_await sleep_for(1ms);
    co_return value;
  });
  s.run_with_time();
  EXPECT_EQ(end_of(h), "value 1");
}

/// A deadline that never passes. It counts how often the task checks it.
class counted_region final : public core::region {
 public:
  counted_region(core::promise_base& frame, std::size_t& looks) noexcept
      : region(kind::deadline, core::task_of(*frame.root), &frame), looks_(looks) {}
  ~counted_region() = default;
  [[nodiscard]] bool passed() noexcept override {
    ++looks_;
    return false;
  }
  void watch() noexcept override { ++looks_; }
  [[nodiscard]] core::timed_region* as_timed() noexcept override {
    ++looks_;
    return nullptr;
  }

 private:
  std::size_t& looks_;
};

struct nest {
  unsigned depth;
  unsigned cleaned = 0;
  std::size_t looks = 0;

  /// Nested clean-ups around a wait without an end. `counted` adds a region at each depth.
  task<void> around(unsigned more, bool counted) {
    if (more == 0) {
      co_await forever();
      co_return;
    }
    core::promise_base& here = co_await core::this_frame();
    std::optional<counted_region> region;
    if (counted) region.emplace(here, looks);
    const auto body = [&] { return around(more - 1, counted); };
    const auto cleanup = [&]() -> task<void> {
      co_await yield();
      if (counted) co_await sleep_for(1ms);
      ++cleaned;
    };
    co_await finally(body, cleanup, 1h);
  }
};

/// Each clean-up checks only the regions inside of it, not the thousand around it.
TEST_P(finally_in_order, nested_clean_up_does_not_check_the_enclosing_regions) {
  nest all{.depth = 1000};
  auto h = s.spawn([&]() -> task<int> {
    co_await all.around(all.depth, true);
    co_return 1;
  });
  s.run_until_idle();
  all.looks = 0;
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(all.cleaned, all.depth);
  EXPECT_LE(all.looks, std::size_t{20} * all.depth);
}

/// The same in a deadline, which is the unwinding's target: each stop keeps it; the outermost restores it.
TEST_P(finally_in_order, deadline_around_nested_clean_ups_returns_after_the_last_one) {
  nest all{.depth = 1000};
  auto h = s.spawn([&]() -> task<int> {
    const auto in_time = co_await timeout(1ms, all.around(all.depth, true));
    EXPECT_EQ(all.cleaned, all.depth);
    co_return in_time.has_value() ? 1 : 2;
  });
  s.run_with_time();
  EXPECT_EQ(end_of(h), "value 2");
  EXPECT_LE(all.looks, std::size_t{20} * all.depth);
}

/// Clean-ups that wait until their limit unwinds them.
struct late_nest {
  unsigned depth;
  unsigned begun = 0;
  std::size_t looks = 0;

  /// Nested clean-ups of this kind around `innermost`, with a region at each depth.
  task<int> around(unsigned more, task<int> (*innermost)()) {
    if (more == 0) co_return co_await innermost();
    core::promise_base& here = co_await core::this_frame();
    const counted_region region(here, looks);
    const auto body = [&] { return around(more - 1, innermost); };
    const auto cleanup = [&]() -> task<void> {
      ++begun;
      co_await forever();
    };
    co_return co_await finally(body, cleanup, 1ms);
  }
};

/// When its limit passes, a clean-up finds what holds around it without checking the thousand regions.
TEST_P(finally_in_order, limit_that_passes_does_not_check_the_enclosing_regions) {
  late_nest all{.depth = 1000};
  auto h = s.spawn([&] { return all.around(all.depth, waits); });
  s.run_until_idle();
  all.looks = 0;
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(all.begun, all.depth);
  EXPECT_EQ(s.overrides, static_cast<int>(all.depth));
  EXPECT_LE(all.looks, std::size_t{20} * all.depth);
}

/// The clean-ups run after an exception. The cancellation arrives when half of them have ended and one waits.
TEST_P(finally_in_order, cancellation_in_a_late_clean_up_does_not_check_enclosing_regions) {
  late_nest all{.depth = 1000};
  auto h = s.spawn([&] { return all.around(all.depth, [] { return throws(1); }); });
  s.run_until_idle();
  all.looks = 0;
  for (unsigned over = 0; over < all.depth / 2; ++over) {
    s.advance(1ms);
    s.run_until_idle();
  }
  EXPECT_EQ(all.begun, all.depth / 2 + 1);
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(all.begun, all.depth / 2 + 1) << "it is held off";
  s.run_with_time();
  EXPECT_EQ(end_of(h), "failure 1");
  EXPECT_EQ(all.begun, all.depth);
  EXPECT_EQ(s.overrides, static_cast<int>(all.depth));
  EXPECT_LE(all.looks, std::size_t{20} * all.depth);
}

/// If each clean-up walked along all regions, this would take minutes.
TEST(finally_nested, clean_ups_nested_a_hundred_thousand_deep_are_unwound) {
  manual_scheduler s;
  nest all{.depth = 100'000};
  auto h = s.spawn([&]() -> task<int> {
    co_await all.around(all.depth, false);
    co_return 1;
  });
  s.run_until_idle();
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(all.cleaned, all.depth);
}

}  // namespace
}  // namespace finally_test
