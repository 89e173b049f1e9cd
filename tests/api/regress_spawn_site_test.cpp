// Reports find every task that lives, also one that never ran, and name the line that spawned it.
#include "api/scenario_support.hpp"

#include <rota/async_scope.hpp>
#include <rota/join_set.hpp>
#include <rota/scope.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace rota::test {
namespace {

/// How often `words` stands in `text`.
std::size_t count_of(const std::string& text, const std::string& words) {
  std::size_t found = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
  return found;
}

std::string site(unsigned line) { return "spawned at " + std::string(__FILE__) + ":" + std::to_string(line); }
std::string never_ran(unsigned line) { return ": queued, never ran, " + site(line) + "\n"; }

task<> ends() { co_return; }
task<> takes(int, int, int) { co_return; }
task<> takes_one(int) { co_return; }

/// A runtime with one worker, which is inside of a task from construction to the end.
class held_runtime {
 public:
  held_runtime() : rt_(options()) {
    holder_ = rt_.spawn(holds(*this));
    holder_line_ = __LINE__ - 1;
    wait_until([this] { return is_held_.load(); });
  }
  held_runtime(const held_runtime&) = delete;
  held_runtime& operator=(const held_runtime&) = delete;
  ~held_runtime() { release(); }

  void release() {
    if (!is_released_.exchange(true)) holder_.join();
  }
  /// Runs `function` inside of the holder.
  template <class F>
  void inside(F function) {
    step_ = std::move(function);
    has_step_ = true;
    wait_until([this] { return !has_step_.load(); });
  }
  [[nodiscard]] runtime& rt() noexcept { return rt_; }
  [[nodiscard]] unsigned holder_line() const noexcept { return holder_line_; }

 private:
  static runtime_options options() {
    runtime_options o = with_workers(1);
    o.blocking.max_threads = 1;
    return o;
  }
  static task<> holds(held_runtime& me) {
    me.is_held_ = true;
    while (!me.is_released_) {
      if (me.has_step_) {
        me.step_();
        me.has_step_ = false;
      }
      std::this_thread::yield();
    }
    co_return;
  }

  std::atomic<bool> is_held_ = false;
  std::atomic<bool> is_released_ = false;
  std::atomic<bool> has_step_ = false;
  std::function<void()> step_;
  unsigned holder_line_ = 0;
  runtime rt_;
  join_handle<void> holder_;
};

TEST(regress_spawn_site, a_dump_lists_a_task_that_runs_and_has_not_suspended) {
  held_runtime h;
  const std::string text = h.rt().dump();
  EXPECT_EQ(count_of(text, ": running, " + site(h.holder_line()) + "\n"), 1U) << text;
}

TEST(regress_spawn_site, a_dump_lists_tasks_from_outside_that_never_ran) {
  held_runtime h;
  auto one = h.rt().spawn(ends());
  const unsigned line = __LINE__ - 1;
  auto two = h.rt().handle().spawn(takes_one, 1);
  const std::string text = h.rt().dump();
  EXPECT_EQ(count_of(text, never_ran(line)), 1U) << text;
  EXPECT_EQ(count_of(text, never_ran(line + 2)), 1U) << text;
  h.release();
  one.join();
  two.join();
  EXPECT_EQ(count_of(h.rt().dump(), "  task "), 0U) << h.rt().dump();
}

TEST(regress_spawn_site, a_dump_lists_tasks_of_the_slot_and_the_ring_that_never_ran) {
  held_runtime h;
  unsigned line = 0;
  std::vector<join_handle<void>> all;
  h.inside([&] {
    all.push_back(spawn(ends()));
    all.push_back(spawn([] { return ends(); }));
    all.push_back(spawn(takes_one, 1));
    line = __LINE__;
  });
  const std::string text = h.rt().dump();
  for (unsigned back = 1; back <= 3; ++back) EXPECT_EQ(count_of(text, never_ran(line - back)), 1U) << text;
  h.release();
  for (join_handle<void>& each : all) each.join();
  EXPECT_EQ(count_of(h.rt().dump(), "  task "), 0U) << h.rt().dump();
}

// More than the entries of the worker and those of all other threads.
TEST(regress_spawn_site, a_dump_lists_all_of_very_many_tasks_that_never_ran) {
  held_runtime h;
  constexpr std::size_t many = 3000;
  unsigned line = 0;
  std::vector<join_handle<void>> all;
  h.inside([&] {
    for (std::size_t i = 0; i < many; ++i) all.push_back(spawn(ends()));
    line = __LINE__ - 1;
  });
  EXPECT_EQ(count_of(h.rt().dump(), site(line)), many);
  h.release();
  for (join_handle<void>& each : all) each.join();
  EXPECT_EQ(count_of(h.rt().dump(), "  task "), 0U) << h.rt().dump();
}

// Entries are reused: runs three times as many tasks as there are entries.
TEST(regress_spawn_site, table_entries_are_reused_after_their_tasks_end) {
  runtime rt(with_workers(2));
  for (int i = 0; i < 3000; ++i) rt.spawn(ends()).join();
  rt.spawn([]() -> task<> {
      for (int i = 0; i < 3000; ++i) {
        auto child = spawn(ends());
        co_await child;
      }
    }).join();
  EXPECT_EQ(count_of(rt.dump(), "  task "), 0U) << rt.dump();
  held_runtime h;
  auto last = h.rt().spawn(ends());
  EXPECT_EQ(count_of(h.rt().dump(), never_ran(__LINE__ - 1)), 1U) << h.rt().dump();
}

TEST(regress_spawn_site, a_dump_lists_a_closure_that_waits_for_a_thread) {
  held_runtime h;
  std::atomic<bool> is_inside = false;
  std::atomic<bool> may_end = false;
  auto first = h.rt().spawn_blocking([&] {
    is_inside = true;
    while (!may_end) std::this_thread::yield();
  });
  wait_until([&] { return is_inside.load(); });
  auto second = h.rt().spawn_blocking([] {});
  const std::string text = h.rt().dump();
  EXPECT_EQ(count_of(text, never_ran(__LINE__ - 2)), 1U) << text;
  may_end = true;
  first.join();
  second.join();
}

task<> waits_under_a_name(event& e) {
  this_task::set_name("patient");
  this_task::set_name("very patient");
  co_await e();
}
constexpr unsigned line_of_await = __LINE__ - 2;

TEST(regress_spawn_site, a_dump_names_the_spawn_and_the_await_of_a_task_that_waits) {
  runtime rt(with_workers(1));
  event never;
  auto waits = rt.spawn(waits_under_a_name, std::ref(never));
  const std::string spawned = site(__LINE__ - 1);
  wait_for_state(rt, "'very patient': waiting for event, spawned at ");
  const std::string text = rt.dump();
  const std::string awaits = std::string(__FILE__) + ":" + std::to_string(line_of_await);
  EXPECT_EQ(count_of(text, spawned + ", awaits at " + awaits + "\n"), 1U) << text;
  never.fire();
  waits.join();
}

TEST(regress_spawn_site, every_way_to_spawn_is_named) {
  held_runtime h;
  join_set<void> set;
  async_scope scope;
  unsigned line = 0;
  h.inside([&] {
    set.spawn(ends());
    set.spawn(takes_one, 1);
    static_cast<void>(scope.spawn(ends()));
    scope.fork(takes_one, 1);
    scope.fork(ends);
    line = __LINE__;
    spawn(takes, 1, 2, 3).detach();  // not named
  });
  const std::string text = h.rt().dump();
  for (unsigned back = 1; back <= 5; ++back) EXPECT_EQ(count_of(text, never_ran(line - back)), 1U) << text;
  EXPECT_EQ(count_of(text, ": queued, never ran\n"), 1U) << text;
  h.release();
  h.rt().block_on(
      [](async_scope& all, join_set<void>& others) -> task<> {
        co_await others.close();
        co_await all.close();
      },
      std::ref(scope),
      std::ref(set));
}

TEST(regress_spawn_site, every_way_to_spawn_a_closure_is_named) {
  held_runtime h;
  std::atomic<bool> is_inside = false;
  std::atomic<bool> may_end = false;
  auto first = h.rt().spawn_blocking([&] {
    is_inside = true;
    while (!may_end) std::this_thread::yield();
  });
  wait_until([&] { return is_inside.load(); });
  const auto one = [](int) {};
  const auto two = [](int, int) {};
  const runtime_handle handle = h.rt().handle();
  std::vector<join_handle<void>> all;
  unsigned line = 0;
  h.inside([&] {
    all.push_back(spawn_blocking(one, 1));
    all.push_back(spawn_blocking(two, 1, 2));
    all.push_back(h.rt().spawn_blocking(one, 1));
    all.push_back(h.rt().spawn_blocking(two, 1, 2));
    all.push_back(handle.spawn_blocking(one, 1));
    all.push_back(handle.spawn_blocking(two, 1, 2));
    line = __LINE__;
    all.push_back(spawn_blocking([](int, int, int) {}, 1, 2, 3));  // not named
  });
  const std::string text = h.rt().dump();
  for (unsigned back = 1; back <= 6; ++back) EXPECT_EQ(count_of(text, never_ran(line - back)), 1U) << text;
  EXPECT_EQ(count_of(text, ": queued, never ran\n"), 1U) << text;
  may_end = true;
  first.join();
  for (join_handle<void>& each : all) each.join();
}

int sum(int a, int b) { return a + b; }
struct doubles {
  int operator()(int n) && { return 2 * n; }
};

TEST(regress_spawn_site, spawn_blocking_takes_callables_of_every_kind) {
  runtime rt(with_workers(1));
  const auto count = [](auto... all) { return sizeof...(all); };
  EXPECT_EQ(rt.spawn_blocking(sum, 1, 2).join(), 3);
  EXPECT_EQ(rt.spawn_blocking(&sum, 1, 2).join(), 3);
  EXPECT_EQ(rt.spawn_blocking(doubles(), 4).join(), 8);
  EXPECT_EQ(rt.spawn_blocking(count).join(), 0U);
  EXPECT_EQ(rt.spawn_blocking(count, 1, "two").join(), 2U);
  EXPECT_EQ(rt.spawn_blocking(count, 1, 2, 3, 4).join(), 4U);
}

/// Appends what a dump says of the task that calls it.
task<> dumps(runtime& on, std::string& into) {
  into += on.dump();
  co_return;
}

TEST(regress_spawn_site, a_dump_lists_the_root_of_block_on) {
  runtime rt(with_workers(1));
  std::string text;
  rt.block_on(dumps(rt, text));
  EXPECT_EQ(count_of(text, ": running, " + site(__LINE__ - 1)), 1U) << text;
  rt.block_on([&rt](std::string& into) { return dumps(rt, into); }, std::ref(text));
  EXPECT_EQ(count_of(text, ": running, " + site(__LINE__ - 1)), 1U) << text;
  rt.block_on(dumps, std::ref(rt), std::ref(text));
  EXPECT_EQ(count_of(text, ": running, " + site(__LINE__ - 1)), 1U) << text;
}

}  // namespace
}  // namespace rota::test
