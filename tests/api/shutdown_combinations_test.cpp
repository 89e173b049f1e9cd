// Every combination of: the task's state when the shutdown begins, the fate of its handle, another
// cancellation, the end of its body, the number of workers. Real threads, no sleeps. Exact outcomes.
#include "api/scenario_support.hpp"

#include <rota/stop_token.hpp>

#include <array>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <utility>
#include <vector>

namespace rota::test {
namespace {

enum class stage { never_polled, suspended, running, completed };
enum class handle_is { kept, dropped_before, dropped_after, awaited };
enum class cancelled_at { none, before, during, after };  // its first run; the stage; the shutdown
enum class body { returns, throws, has_busy_destructors };

struct shape {
  stage at;
  handle_is handle;
  cancelled_at cancel;
  body ends;
  unsigned workers;

  friend std::ostream& operator<<(std::ostream& out, const shape& c) {
    constexpr const char* stages[]{"never_polled", "suspended", "running", "completed"};
    constexpr const char* handles[]{"kept", "dropped_before", "dropped_after", "awaited"};
    constexpr const char* cancels[]{
        "not_cancelled", "cancelled_before", "cancelled_during", "cancelled_after"};
    constexpr const char* bodies[]{"returns", "throws", "has_busy_destructors"};
    return out << stages[static_cast<int>(c.at)] << '_' << handles[static_cast<int>(c.handle)] << '_'
               << cancels[static_cast<int>(c.cancel)] << '_' << bodies[static_cast<int>(c.ends)] << '_'
               << c.workers << (c.workers == 1 ? "_worker" : "_workers");
  }
};

/// The expected outcome, from the rules alone: what has begun and need not wait comes to its end, all else is
/// cancelled, and the first reason stands.
struct expectation {
  explicit expectation(const shape& c)
      : never_starts(c.cancel == cancelled_at::before || c.at == stage::never_polled),
        is_cancelled(never_starts || c.at == stage::suspended),
        by_user(is_cancelled && (c.cancel == cancelled_at::before || c.cancel == cancelled_at::during)),
        throws(!is_cancelled && c.ends == body::throws),
        is_unseen(c.handle == handle_is::dropped_before || c.handle == handle_is::dropped_after) {}
  bool never_starts;
  bool is_cancelled;
  bool by_user;
  bool throws;
  bool is_unseen;
};

enum class seen { nothing, value, exception, cancelled_by_user, cancelled_by_shutdown };

template <class F>
seen look_at(F take) {
  try {
    return take() == 42 ? seen::value : seen::nothing;
  } catch (const cancelled_error& e) {
    if (e.reason() == cancel_reason::user) return seen::cancelled_by_user;
    return e.reason() == cancel_reason::shutdown ? seen::cancelled_by_shutdown : seen::nothing;
  } catch (int) {
    return seen::exception;
  }
}

std::atomic<int> unhandled{0};

/// A local with a destructor that spawns, joins, wakes and cancels.
class busy {
 public:
  busy(std::atomic<int>& ends, event& other) noexcept : ends_(&ends), other_(&other) {}
  busy(const busy&) = delete;
  busy& operator=(const busy&) = delete;
  ~busy() {
    auto child = rota::spawn([](witness) -> task<> { co_return; }, witness(*ends_));
    try {
      child.join();
    } catch (const cancelled_error&) {  // refused
    }
    child.cancel();
    other_->fire();
  }

 private:
  std::atomic<int>* ends_;
  event* other_;
};

/// Keeps every worker busy until told otherwise. Outlives the runtime: a task may still be on its way out.
class crowd {
 public:
  void come(runtime& rt, unsigned workers) {
    for (unsigned i = 0; i < workers; ++i) rt.spawn(stay(*this)).detach();
    for (unsigned i = 0; i < workers; ++i) here_.acquire();
  }
  void leave(unsigned workers) { go_.release(workers); }

 private:
  static task<> stay(crowd& c) {
    c.here_.release();
    c.go_.acquire();
    co_return;
  }
  std::counting_semaphore<> here_{0};
  std::counting_semaphore<> go_{0};
};

class shutdown_combination : public ::testing::TestWithParam<shape> {
 protected:
  task<int> work(witness /*argument*/) {
    ++starts_;
    const stop_link linked(stop_.get_token());
    const witness local(ends_of_locals_);
    std::optional<busy> trouble;
    if (GetParam().ends == body::has_busy_destructors) trouble.emplace(ends_of_children_, side_effect_);
    if (GetParam().at == stage::running) {
      runs_.release();
      may_go_on_.acquire();
    } else {
      co_await event_();
    }
    ++finishes_;
    if (GetParam().ends == body::throws) throw 7;
    co_return 42;
  }

  task<> awaits(join_handle<int> h) {
    auto got = co_await h.result();
    saw_ = look_at([&got] { return std::move(got).value(); });
  }

  /// The handle is the caller's, or gone; a link to a stop_source reaches the task in any case, once it runs.
  void cancel() {
    if (handle_.valid()) {
      handle_.cancel();
    } else {
      stop_.request_stop();
    }
  }

  void give_handle_away(runtime& elsewhere) {
    if (GetParam().handle == handle_is::dropped_before) handle_.detach();
    if (GetParam().handle != handle_is::awaited) return;
    awaiter_ = elsewhere.spawn(awaits(std::move(handle_)));
    wait_until(
        [&] { return awaiter_.is_done() || elsewhere.dump().find("waiting for join") != std::string::npos; });
  }

  /// With all workers busy: cancelled or not, it has not run when its handle goes.
  void begin(runtime& rt, runtime& elsewhere) {
    crowd_.come(rt, GetParam().workers);
    handle_ = rt.spawn(work(witness(ends_of_arguments_)));
    if (GetParam().cancel == cancelled_at::before) cancel();
    if (GetParam().at != stage::never_polled) return crowd_.leave(GetParam().workers);
    if (GetParam().cancel == cancelled_at::during) cancel();
    give_handle_away(elsewhere);
    shut_down_while_held(rt, [this] { crowd_.leave(GetParam().workers); });
  }

  void reach_stage(runtime& rt, runtime& elsewhere) {
    const auto ended = [&] { return rt.stats().alive_tasks == 0; };
    const bool starts = GetParam().cancel != cancelled_at::before;
    switch (GetParam().at) {
      case stage::never_polled: return;
      case stage::suspended: starts ? wait_for_state(rt, "waiting for event") : wait_until(ended); break;
      case stage::running: starts ? runs_.acquire() : wait_until(ended); break;
      case stage::completed:
        event_.fire();
        wait_until(ended);
        break;
    }
    if (GetParam().cancel == cancelled_at::during) cancel();
    give_handle_away(elsewhere);
    if (GetParam().at == stage::running && starts) {
      shut_down_while_held(rt, [this] { may_go_on_.release(); });
    } else {
      EXPECT_TRUE(rt.shutdown(0s).survivors.empty());
    }
  }

  /// Releases the workers only after the shutdown has begun: when a spawn is refused.
  template <class LetGo>
  static void shut_down_while_held(runtime& rt, LetGo let_go) {
    std::thread closing([&rt] { EXPECT_TRUE(rt.shutdown(0s).survivors.empty()); });
    while (!rt.spawn([]() -> task<> { co_return; }).is_done()) std::this_thread::yield();
    let_go();
    closing.join();
  }

  void look_back() {
    if (GetParam().cancel == cancelled_at::after) cancel();
    if (GetParam().handle == handle_is::kept) {
      auto got = handle_.wait_for(0ns);
      ASSERT_TRUE(got.has_value());
      saw_ = look_at([&got] { return std::move(*got).value(); });
    }
    handle_.detach();
    if (awaiter_.valid()) awaiter_.join();
  }

  crowd crowd_;
  event event_;
  event side_effect_;
  std::binary_semaphore runs_{0};
  std::binary_semaphore may_go_on_{0};
  std::stop_source stop_;
  join_handle<int> handle_;
  join_handle<void> awaiter_;
  std::atomic<int> starts_{0};
  std::atomic<int> finishes_{0};
  std::atomic<int> ends_of_arguments_{0};
  std::atomic<int> ends_of_locals_{0};
  std::atomic<int> ends_of_children_{0};
  seen saw_ = seen::nothing;
};

TEST_P(shutdown_combination, comes_out_as_the_rules_say) {
  const shape& c = GetParam();
  const expectation expected(c);
  unhandled = 0;
  std::thread([] {}).join();  // with the first one ThreadSanitizer starts one of its own
  const std::size_t files = open_files();
  const std::size_t threads = threads_of_process();
  {
    runtime elsewhere(with_workers(1));
    {
      runtime_options o = with_workers(c.workers);
      o.on_unhandled = unhandled_policy::callback([](const unhandled_exception&) noexcept { ++unhandled; });
      runtime rt(o);
      begin(rt, elsewhere);
      reach_stage(rt, elsewhere);
      EXPECT_EQ(rt.stats().alive_tasks, 0U);
    }
    look_back();
  }
  const int started = expected.never_starts ? 0 : 1;
  EXPECT_EQ(starts_, started);
  EXPECT_EQ(finishes_, expected.is_cancelled ? 0 : 1);
  EXPECT_EQ(ends_of_arguments_, 1);
  EXPECT_EQ(ends_of_locals_, started);
  EXPECT_EQ(ends_of_children_, c.ends == body::has_busy_destructors ? started : 0);
  EXPECT_EQ(unhandled, expected.throws && expected.is_unseen ? 1 : 0);
  const seen end = expected.by_user        ? seen::cancelled_by_user
                   : expected.is_cancelled ? seen::cancelled_by_shutdown
                   : expected.throws       ? seen::exception
                                           : seen::value;
  EXPECT_EQ(saw_, expected.is_unseen ? seen::nothing : end);
  EXPECT_EQ(open_files(), files);
  wait_until([threads] { return threads_of_process() <= threads; });
}

std::vector<shape> all_shapes() {
  std::vector<shape> all;
  for (const stage at : {stage::never_polled, stage::suspended, stage::running, stage::completed})
    for (const handle_is handle :
         {handle_is::kept, handle_is::dropped_before, handle_is::dropped_after, handle_is::awaited})
      for (const cancelled_at when :
           {cancelled_at::none, cancelled_at::before, cancelled_at::during, cancelled_at::after})
        for (const body ends : {body::returns, body::throws, body::has_busy_destructors})
          for (const unsigned workers : {1U, 2U}) all.push_back({at, handle, when, ends, workers});
  return all;
}

INSTANTIATE_TEST_SUITE_P(all,
                         shutdown_combination,
                         ::testing::ValuesIn(all_shapes()),
                         [](const auto& chosen) { return ::testing::PrintToString(chosen.param); });

TEST(shutdown_combinations, there_are_384) { EXPECT_EQ(all_shapes().size(), 4U * 4U * 4U * 3U * 2U); }

}  // namespace
}  // namespace rota::test
