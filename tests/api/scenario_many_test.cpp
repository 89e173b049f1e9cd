// A great many: of sleeping tasks, of awaits, of frames one inside the other.
//
//  scenario 19  a million tasks asleep at once     many_tasks_sleep_at_once (fewer); stress/sleepers.cpp
//  scenario 37  a million awaits, one in the next  *_through_a_million_frames
//  scenario 38  a million awaits that are ready    a_task_that_is_always_ready_does_not_starve_another
#include "api/scenario_support.hpp"

#include <pthread.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

namespace rota::test {
namespace {

TEST(scenario_many, many_tasks_sleep_at_once) {
  constexpr std::size_t many = sanitized ? 10'000 : 100'000;
  runtime rt(with_workers(2));
  struct body {
    static task<> naps(std::atomic<std::size_t>& awake, witness /*mine*/) {
      co_await sleep_for(20ms);
      ++awake;
    }
  };
  for (int round = 0; round < 3; ++round) {
    std::atomic<std::size_t> awake = 0;
    std::atomic<int> ended = 0;
    std::vector<join_handle<void>> all;
    all.reserve(many);
    for (std::size_t i = 0; i < many; ++i) all.push_back(rt.spawn(body::naps(awake, witness(ended))));
    for (auto& h : all) h.join();
    EXPECT_EQ(awake, many);
    EXPECT_EQ(ended, static_cast<int>(many));
  }
  EXPECT_EQ(rt.stats().total_completed, 3 * many);
  EXPECT_EQ(rt.stats().alive_tasks, 0U);
}

// --- depth

constexpr int million = 1'000'000;
/// An exception costs several microseconds in each frame; under a sanitizer ten times that. A quarter of a
/// million frames still have but one byte of native stack each.
constexpr int deep_exception = sanitized ? million / 4 : million;

enum class bottom : unsigned char { value, exception, nothing };

/// Each awaits the next one.
task<int> chain(event& e, int left, bottom end) {
  int below = 0;
  if (left > 0) {
    below = co_await chain(e, left - 1, end);
  } else if (end == bottom::exception) {
    throw std::runtime_error("from the bottom");
  } else if (end == bottom::nothing) {
    co_await e();
  }
  co_return below + 1;
}

/// A quarter of a byte of stack for each level.
template <class F>
void on_a_small_stack(F f) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  pthread_t thread{};
  const auto entry = [](void* data) -> void* {
    (*static_cast<F*>(data))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, entry, &f), 0);
  pthread_attr_destroy(&attributes);
  pthread_join(thread, nullptr);
}

TEST(scenario_many, a_value_comes_up_through_a_million_frames) {
  runtime rt(with_workers(1));
  event e;
  on_a_small_stack([&] { EXPECT_EQ(rt.block_on(chain(e, million, bottom::value)), million + 1); });
}

TEST(scenario_many, an_exception_comes_up_through_a_million_frames) {
  runtime rt(with_workers(1));
  event e;
  on_a_small_stack([&] {
    try {
      static_cast<void>(rt.block_on(chain(e, deep_exception, bottom::exception)));
      ADD_FAILURE() << "it threw";
    } catch (const std::runtime_error& thrown) {
      EXPECT_STREQ(thrown.what(), "from the bottom");
    }
  });
}

TEST(scenario_many, a_cancellation_goes_through_a_million_frames) {
  runtime rt(with_workers(1));
  event e;
  auto h = rt.spawn(chain(e, million, bottom::nothing));
  wait_until([&e] { return e.is_awaited(); });
  h.cancel();
  EXPECT_THROW(static_cast<void>(h.join()), cancelled_error);
}

// --- no starvation

class always_ready final : public leaf {
 public:
  always_ready() noexcept = default;
  [[nodiscard]] bool is_ready() noexcept override { return true; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  static void await_resume() noexcept {}
};

// One worker. 128 ready operations cost a turn, so the other task gets a turn for each 128 of them.
TEST(scenario_many, a_task_that_is_always_ready_does_not_starve_another) {
  runtime rt(with_workers(1));
  struct turns {
    std::atomic<bool> over = false;
    int taken = 0;
    std::chrono::nanoseconds longest{0};
  } other;
  struct body {
    static task<> never_waits(turns& t) {
      for (int i = 0; i < million; ++i) co_await always_ready();
      t.over = true;
    }
    static task<> counts(turns& t) {
      auto last = std::chrono::steady_clock::now();
      while (!t.over) {
        co_await yield();
        const auto now = std::chrono::steady_clock::now();
        t.longest = std::max(t.longest, std::chrono::nanoseconds(now - last));
        last = now;
        ++t.taken;
      }
    }
    /// Both begin with an empty queue.
    static task<> both(turns& t) {
      auto counter = spawn(counts(t));
      auto hot = spawn(never_waits(t));
      co_await hot;
      co_await counter;
    }
  };
  rt.spawn(body::both(other)).join();
  EXPECT_GE(other.taken, million / 128 - 1);
  EXPECT_LE(other.taken, million / 128 + 2);
  std::printf("%d turns, the longest wait %.3f ms\n",
              other.taken,
              std::chrono::duration<double, std::milli>(other.longest).count());
}

}  // namespace
}  // namespace rota::test
