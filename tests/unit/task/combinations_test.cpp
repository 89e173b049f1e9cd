// Every combination of: the stage of the task, what becomes of its handle, when it is cancelled, how its body
// ends, and whether its awaiter may run it. Exact counts for each.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <ostream>
#include <vector>

#include "unit/task/task_support.hpp"

namespace rota::combinations_test {
namespace {

using test::counted;
using test::event;
using test::manual_scheduler;

enum class stage { never_polled, suspended, running, completed };
enum class handle_is { kept, dropped_before_the_end, dropped_after_the_end, awaited };
enum class cancelled_at { none, before, during, after };
enum class body { returns, throws };
enum class claiming { allowed, refused };

struct shape {
  stage at;
  handle_is handle;
  cancelled_at cancel;
  body ends;
  claiming claims;

  friend std::ostream& operator<<(std::ostream& out, const shape& c) {
    constexpr const char* stages[]{"never_polled", "suspended", "running", "completed"};
    constexpr const char* handles[]{"kept", "dropped_before", "dropped_after", "awaited"};
    constexpr const char* cancels[]{
        "not_cancelled", "cancelled_before", "cancelled_during", "cancelled_after"};
    return out << stages[static_cast<int>(c.at)] << '_' << handles[static_cast<int>(c.handle)] << '_'
               << cancels[static_cast<int>(c.cancel)] << (c.ends == body::returns ? "_returns" : "_throws")
               << (c.claims == claiming::allowed ? "_claimed" : "_queued");
  }
};

/// The expected results, from the table of the specification alone.
struct expectation {
  explicit expectation(const shape& c)
      : before_start(c.cancel == cancelled_at::before ||
                     (c.cancel == cancelled_at::during && c.at == stage::never_polled)),
        ends_cancelled(before_start || (c.cancel == cancelled_at::during && c.at == stage::suspended)),
        throws(!ends_cancelled && c.ends == body::throws),
        unseen(c.handle == handle_is::dropped_before_the_end ||
               c.handle == handle_is::dropped_after_the_end) {}
  bool before_start;
  bool ends_cancelled;
  bool throws;
  bool unseen;
};

enum class seen { nothing, value, exception, cancelled };

template <class F>
seen look_at(F take) {
  try {
    return take() == 42 ? seen::value : seen::nothing;
  } catch (const cancelled_error& e) {
    return e.reason() == cancel_reason::user ? seen::cancelled : seen::nothing;
  } catch (int) {
    return seen::exception;
  }
}

class combination : public ::testing::TestWithParam<shape> {
 protected:
  task<int> body_of(counted argument) {
    const counted local(argument.value);
    ++starts_;
    if (GetParam().at == stage::running) act();
    co_await event_();
    ++resumes_;
    if (GetParam().ends == body::throws) throw 7;
    co_return 42;
  }

  task<> awaiter() {
    auto mine = std::move(*handle_);
    handle_.reset();
    auto got = co_await mine.result();
    awaiter_saw_ = look_at([&got] { return got.value(); });
  }

  /// Applies the combination's actions at its stage.
  void act() {
    if (GetParam().handle == handle_is::dropped_before_the_end) handle_.reset();
    if (GetParam().cancel == cancelled_at::during) {
      EXPECT_EQ(core::cancel(*task_, cancel_reason::user), GetParam().at != stage::completed);
    }
  }

  void begin() {
    auto work = body_of(counted(1));
    task_ = &core::launch(*work.release(), s_, core::result_vtable_of<int>, {});
    keep_ = core::make_waker(*task_);
    handle_.emplace(*task_);
    if (GetParam().cancel == cancelled_at::before) {
      EXPECT_TRUE(core::cancel(*task_, cancel_reason::user));
    }
    if (GetParam().handle == handle_is::awaited) s_.spawn(awaiter()).detach();
  }

  void run_to_the_stage() {
    switch (GetParam().at) {
      case stage::never_polled: return act();
      case stage::suspended: s_.run_until_idle(); return act();
      case stage::running: return event_.fire();
      case stage::completed:
        if (GetParam().handle == handle_is::dropped_before_the_end) handle_.reset();
        event_.fire();
        s_.run_until_idle();
        return act();
    }
  }

  void end() {
    event_.fire();
    s_.run_until_idle();
    if (GetParam().cancel == cancelled_at::after) {
      EXPECT_FALSE(core::cancel(*task_, cancel_reason::user));
      EXPECT_EQ(s_.run_until_idle(), 0);
    }
    if (GetParam().handle == handle_is::kept) {
      auto got = handle_->wait_for(std::chrono::nanoseconds(0));
      ASSERT_TRUE(got.has_value());
      keeper_saw_ = look_at([&got] { return got->value(); });
    }
    handle_.reset();
  }

  manual_scheduler s_;
  event event_;
  core::header* task_ = nullptr;
  waker keep_;
  std::optional<join_handle<int>> handle_;
  int starts_ = 0;
  int resumes_ = 0;
  seen awaiter_saw_ = seen::nothing;
  seen keeper_saw_ = seen::nothing;
};

TEST_P(combination, task_ends_as_the_specification_says) {
  counted::reset();
  const shape& c = GetParam();
  const expectation expected(c);
  s_.claims = c.claims == claiming::allowed;
  begin();
  run_to_the_stage();
  end();

  const bool awaited = c.handle == handle_is::awaited;
  const seen outcome = expected.ends_cancelled ? seen::cancelled
                       : expected.throws       ? seen::exception
                                               : seen::value;
  EXPECT_TRUE(core::is_complete(*task_));
  EXPECT_EQ(starts_, expected.before_start ? 0 : 1);
  EXPECT_EQ(resumes_, expected.ends_cancelled ? 0 : 1);
  EXPECT_EQ(s_.ended, awaited ? 2 : 1);
  EXPECT_EQ(s_.cancelled, expected.ends_cancelled ? 1 : 0);
  EXPECT_EQ(awaiter_saw_, awaited ? outcome : seen::nothing);
  EXPECT_EQ(keeper_saw_, c.handle == handle_is::kept ? outcome : seen::nothing);
  EXPECT_EQ(s_.unhandled_count, expected.throws && expected.unseen ? 1 : 0);
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(s_.enrolled, 0);
  EXPECT_EQ(s_.live, 1) << "the test's own waker";
  EXPECT_EQ(task_->word.load().refs(), 1U);
  keep_.wake();
  EXPECT_EQ(s_.live, 0);
}

std::vector<shape> all_shapes() {
  std::vector<shape> all;
  for (const stage at : {stage::never_polled, stage::suspended, stage::running, stage::completed}) {
    for (const handle_is handle : {handle_is::kept,
                                   handle_is::dropped_before_the_end,
                                   handle_is::dropped_after_the_end,
                                   handle_is::awaited}) {
      for (const cancelled_at when :
           {cancelled_at::none, cancelled_at::before, cancelled_at::during, cancelled_at::after}) {
        for (const body ends : {body::returns, body::throws}) {
          all.push_back({at, handle, when, ends, claiming::allowed});
          all.push_back({at, handle, when, ends, claiming::refused});
        }
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(all, combination, ::testing::ValuesIn(all_shapes()), [](const auto& chosen) {
  return ::testing::PrintToString(chosen.param);
});

TEST(combinations, there_are_256) { EXPECT_EQ(all_shapes().size(), 4U * 4U * 4U * 2U * 2U); }

}  // namespace
}  // namespace rota::combinations_test
