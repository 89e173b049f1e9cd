// A scripted run: real workers, played by this thread, on a clock that only the script moves. So every figure
// that the scheduler promises is exact. It is read from the counters; `ctest -R scripted_run -V` prints it.
#include "base/tls_slot.hpp"
#include "sched/scheduler.hpp"

#include <rota/detail/spawn_on.hpp>
#include <rota/spawn.hpp>
#include <rota/testing/virtual_clock.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace rota::sched::scripted_run_test {
namespace {

using namespace std::chrono_literals;

void print(const std::string& what, std::uint64_t figure) {
  std::printf("  %-60s %6llu\n", what.c_str(), static_cast<unsigned long long>(figure));
}

/// A scheduler. This thread plays its workers, one after the other.
class stage {
 public:
  explicit stage(unsigned workers) : tasks(workers, 1, clock_.now()) {
    tasks.around.driver = {&driver_table, this};
    tasks.around.abandoned = [](void*) noexcept {};
    tasks.around.clock = &clock_;
    core::install_thread_ports(scheduler::ports_of_thread);
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;
  /// Plays every worker until it finds nothing, so that every task ends.
  ~stage() {
    when_idle = [this] { tasks.set_phase(phase::stopping); };
    finishes_ = false;
    for (unsigned i = 0; i < tasks.workers(); ++i) play(i);
    tasks.drain();
    EXPECT_TRUE(tasks.books().let_go()) << "a task's memory is still held";
  }

  /// Runs worker `index` until a task or `when_idle` calls finish().
  void play(unsigned index = 0) {
    tasks.set_phase(phase::open);
    EXPECT_EQ(tasks.at(index).play(), worker::on_play::stopped);
  }
  void finish() noexcept {
    if (finishes_) tasks.set_phase(phase::stopping);
  }
  void pass(std::chrono::nanoseconds span) noexcept { clock_.advance(span); }
  /// Like pass(), with a watchdog that begins a time slice each millisecond.
  void pass_watched(std::chrono::nanoseconds span) noexcept {
    for (unwatched_ += span; unwatched_ >= 1ms; unwatched_ -= 1ms) tasks.begin_slice();
    pass(span);
  }

  [[nodiscard]] worker_counters& counts(unsigned index = 0) { return tasks.at(index).counts(); }

  /// Spawns on the worker that runs, or else into the injector.
  template <class T>
  void spawn(task<T> work) {
    core::spawn_on(tasks, std::move(work)).detach();
  }
  /// Spawns as worker `index` would.
  template <class T>
  void spawn_as(unsigned index, task<T> work) {
    void* const before = std::exchange(base::this_thread_locals().worker, &tasks.at(index));
    spawn(std::move(work));
    base::this_thread_locals().worker = before;
  }
  /// Spawns as a foreign thread would.
  template <class T>
  void inject(task<T> work) {
    void* const before = std::exchange(base::this_thread_locals().worker, nullptr);
    spawn(std::move(work));
    base::this_thread_locals().worker = before;
  }

 private:
  static const driver_ops driver_table;
  testing::virtual_clock clock_{testing::clock_mode::manual};
  std::chrono::nanoseconds unwatched_{0};
  bool finishes_ = true;

 public:
  scheduler tasks;
  /// Called when the poller would wait, since nothing is left to do.
  std::function<void()> when_idle = [] {};
  /// True while an operation that a task or an event has prepared for the kernel is not flushed.
  bool is_prepared = false;
  /// If true the next wait finds one event, which prepares an operation.
  bool has_event = false;
  /// The effect of that event.
  std::function<void()> on_event = [] {};
  /// How often a worker has polled the driver between its tasks.
  unsigned looks = 0;
};

const driver_ops stage::driver_table{
    .wait = [](void* self, base::time_point deadline, event_buffer&) noexcept -> unsigned {
      auto& s = *static_cast<stage*>(self);
      if (deadline != base::time_point::min()) {
        s.when_idle();
      } else {
        ++s.looks;
      }
      return std::exchange(s.has_event, false) ? 1 : 0;
    },
    .dispatch =
        [](void* self, const event_buffer&, unsigned) noexcept {
          auto& s = *static_cast<stage*>(self);
          s.is_prepared = true;
          s.on_event();
        },
    .interrupt = [](void*) noexcept {},
    .flush = [](void* self) noexcept { static_cast<stage*>(self)->is_prepared = false; },
};

using script = std::vector<std::string>;

task<> note(script& s, std::string what) {
  s.push_back(what);
  co_return;
}
task<> finish(stage& s) {
  s.finish();
  co_return;
}
task<> nothing() { co_return; }

task<> note_looks(stage& s, std::vector<unsigned>& seen) {
  seen.push_back(s.looks);
  co_return;
}

TEST(scripted_run, events_wait_in_the_driver_until_the_ring_has_free_space) {
  stage s(1);
  std::vector<unsigned> seen;
  for (int i = 0; i < 200; ++i) s.spawn_as(0, note_looks(s, seen));
  s.when_idle = [&] { s.finish(); };
  s.play();
  ASSERT_EQ(seen.size(), 200U);
  print("tasks of 200 that ran before the first look at the driver",
        static_cast<std::uint64_t>(std::ranges::count(seen, 0U)));
  EXPECT_GE(std::ranges::count(seen, 0U), 72) << "128 tasks are half of the ring";
  EXPECT_GE(seen.back(), 1U);
}

task<> yield_until(stage& s, std::uint64_t polled) {
  while (s.counts().polled.read() < polled) co_await yield();
  s.finish();
}

TEST(scripted_run, tasks_that_yield_do_not_keep_the_driver_from_being_asked) {
  stage s(1);
  for (int i = 0; i < 200; ++i) s.spawn_as(0, yield_until(s, 10'000));
  s.play();
  print("looks at the driver beside 200 tasks that yield 10,000 times", s.looks);
  EXPECT_GE(s.looks, 10'000 / (4 * polls_between_driver_looks));
  EXPECT_LE(s.looks, 10'000 / 128);
}

task<> note_each_look(stage& s, std::vector<std::uint64_t>& polls, std::size_t most) {
  unsigned seen = 0;
  while (polls.size() < most) {
    if (std::exchange(seen, s.looks) != s.looks) polls.push_back(s.counts().polled.read());
    co_await yield();
  }
  s.finish();
}

/// The numbers come from the specification, not from the source's constants, so a change of either shows.
void expect_looks_after_128_and_every_61(const std::vector<std::uint64_t>& polls, std::uint64_t slack) {
  constexpr std::uint64_t expected[] = {0, 61, 122, 128, 128 + 61, 128 + 122, 256};
  ASSERT_EQ(polls.size(), std::size(expected));
  for (std::size_t i = 0; i < polls.size(); ++i) {
    EXPECT_GE(polls[i], expected[i]);
    EXPECT_LE(polls[i], expected[i] + slack);
    print("polls before a look at the driver", polls[i]);
  }
}

TEST(scripted_run, the_driver_is_asked_after_128_polls_and_every_61_between) {
  std::vector<std::uint64_t> polls;
  stage s(1);
  s.spawn_as(0, note_each_look(s, polls, 7));
  s.spawn_as(0, yield_until(s, 1'000));
  s.play();
  // Two tasks take turns and only one takes notes, so each figure may be one too high.
  expect_looks_after_128_and_every_61(polls, 1);
}

/// A chain of tasks, each of which is polled once.
task<> note_looks_in_a_chain(stage& s, std::vector<std::uint64_t>& polls, unsigned& seen, int left) {
  if (std::exchange(seen, s.looks) != s.looks) polls.push_back(s.counts().polled.read());
  if (left > 0 && polls.size() < 7) {
    s.spawn(note_looks_in_a_chain(s, polls, seen, left - 1));
  } else {
    s.finish();
  }
  co_return;
}

// The count of polls belongs to the worker, not to a task.
TEST(scripted_run, a_tick_counts_the_polls_of_all_tasks) {
  std::vector<std::uint64_t> polls;
  unsigned seen = 0;
  stage s(1);
  s.spawn_as(0, note_looks_in_a_chain(s, polls, seen, 1'000));
  s.play();
  expect_looks_after_128_and_every_61(polls, 0);
}

// ---- a timer between tasks that yield

task<> yield_for(stage& s, std::chrono::nanoseconds each, const bool& over) {
  bool goes_on = true;
  while (goes_on) {
    s.pass(each);
    co_await yield();
    goes_on = !over;
  }
}

task<> note_delay(stage& s, std::chrono::nanoseconds span, std::chrono::nanoseconds& late, bool& over) {
  const auto due = s.tasks.now() + span;
  co_await sleep_for(span);
  late = s.tasks.now() - due;
  over = true;
  s.finish();
}

/// How late a timer of 1 ms is beside `others` tasks that yield every 50 us.
std::chrono::nanoseconds delay_beside(int others) {
  std::chrono::nanoseconds late{};
  bool over = false;
  stage s(1);
  s.spawn_as(0, note_delay(s, 1ms, late, over));
  for (int i = 0; i < others; ++i) s.spawn_as(0, yield_for(s, 50us, over));
  s.play();
  return late;
}

TEST(scripted_run, timer_waits_for_the_next_driver_poll_and_not_for_the_ring) {
  for (const int others : {20, 120, 220}) {  // with 220 the ring is more than half full
    const std::chrono::nanoseconds late = delay_beside(others);
    print("us that a timer is late beside " + std::to_string(others) + " tasks that yield every 50 us",
          static_cast<std::uint64_t>(late / 1us));
    EXPECT_GE(late, 0us);
    EXPECT_LE(late, polls_between_driver_looks * 50us);
  }
}

task<> yield_at_most(stage& s, int times, const bool& over) {
  for (int i = 0; i < times && !over; ++i) {
    s.pass(50us);
    co_await yield();
  }
  s.finish();
}

// Another worker has taken the poller token and then lost its processor.
TEST(scripted_run, a_worker_without_the_poller_token_polls_its_own_timers) {
  std::chrono::nanoseconds late{};
  bool over = false;
  stage s(2);
  EXPECT_TRUE(s.tasks.poll().try_take());
  s.spawn_as(0, note_delay(s, 1ms, late, over));
  for (int i = 0; i < 20; ++i) s.spawn_as(0, yield_at_most(s, 100, over));
  s.play();
  EXPECT_TRUE(over) << "the timer waits for the holder of the token";
  EXPECT_LE(late, polls_between_driver_looks * 50us);
  EXPECT_EQ(s.looks, 0U) << "the driver is the holder's";
  s.tasks.poll().give_back();
}

task<> note_after(std::chrono::nanoseconds span, script& book, std::string what) {
  co_await sleep_for(span);
  book.push_back(what);
}

task<> pass_time(stage& s, std::chrono::nanoseconds span) {
  s.pass(span);
  co_return;
}

/// Spawns `child` into the slot of the worker that runs this task.
task<> note_and_spawn(stage& s, script& book, std::string what, std::string child) {
  book.push_back(what);
  s.spawn(note(book, child));
  co_return;
}

// Each link spawns the next, which goes to the LIFO slot.
task<> link(stage& s, script& book, int left) {
  book.push_back("link");
  if (left > 0) s.spawn(link(s, book, left - 1));
  co_return;
}

/// Makes the next poll of the driver and the injector due. The injector's task fills the slot.
task<> begin_slice_and_inject(stage& s, script& book) {
  book.push_back("ring");
  s.inject(note_and_spawn(s, book, "injector", "slot"));
  s.tasks.begin_slice();
  co_return;
}

constexpr int tasks_before_look = static_cast<int>(polls_between_driver_looks) - 5;

/// Three timers are due at the driver poll after 61 task polls, beside 100 tasks in the ring. `special` makes
/// the task at `place`, counted from 1.
template <class F>
script three_timers_beside_a_ring(int place, F special) {
  script book;
  stage s(1);
  for (const char* which : {"first", "second", "third"}) s.spawn_as(0, note_after(1ms, book, which));
  s.spawn_as(0, pass_time(s, 2ms));
  for (int i = 1; i <= 100; ++i) s.spawn_as(0, i == place ? special(s, book) : note(book, "ring"));
  s.spawn_as(0, nothing());  // runs before all of them
  s.when_idle = [&] { s.finish(); };
  s.play();
  return book;
}

script ring_of(int count) { return script(static_cast<std::size_t>(count), "ring"); }
script words(std::initializer_list<const char*> all) { return script(all.begin(), all.end()); }
script operator+(script all, const script& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(scripted_run, first_timer_of_a_driver_poll_runs_before_the_ring_and_others_after_it) {
  const auto book = three_timers_beside_a_ring(1, [](stage&, script& to) { return note(to, "ring"); });
  EXPECT_EQ(book, ring_of(56) + words({"first"}) + ring_of(44) + words({"second", "third"}));
}

TEST(scripted_run, a_timer_displaces_the_task_in_the_slot) {
  const auto book = three_timers_beside_a_ring(
      tasks_before_look, [](stage& s, script& to) { return note_and_spawn(s, to, "ring", "slot"); });
  EXPECT_EQ(book, ring_of(56) + words({"first"}) + ring_of(44) + words({"slot", "second", "third"}));
}

TEST(scripted_run, a_timer_runs_next_when_the_slot_has_had_its_polls) {
  const auto book =
      three_timers_beside_a_ring(tasks_before_look - 3, [](stage& s, script& to) { return link(s, to, 4); });
  const script four_polls(4, "link");
  EXPECT_EQ(book,
            ring_of(52) + four_polls + words({"first"}) + ring_of(47) + words({"link", "second", "third"}));
}

TEST(scripted_run, a_timer_runs_before_a_task_of_the_injector_that_fills_the_slot) {
  const auto book =
      three_timers_beside_a_ring(10, [](stage& s, script& to) { return begin_slice_and_inject(s, to); });
  EXPECT_EQ(book,
            ring_of(10) + words({"first", "injector", "slot"}) + ring_of(90) + words({"second", "third"}));
}

task<> make_timers_due(stage& s, script& book) {
  book.push_back("ring");
  s.pass(2ms);
  s.tasks.begin_slice();
  s.has_event = true;
  co_return;
}

// After the 128th poll the driver is polled twice, by time and before the next 128. Each time a timer is due.
TEST(scripted_run, a_timer_does_not_displace_an_earlier_one_that_was_not_polled) {
  script book;
  int events = 0;
  stage s(1);
  s.on_event = [&] {
    s.has_event = ++events == 1;
    if (events == 2) s.pass(2ms);
  };
  s.spawn_as(0, note_after(1ms, book, "first"));
  s.spawn_as(0, note_after(3ms, book, "second"));
  for (int i = 1; i <= 130; ++i) s.spawn_as(0, i == 125 ? make_timers_due(s, book) : note(book, "ring"));
  s.spawn_as(0, nothing());  // runs before all of them
  s.when_idle = [&] { s.finish(); };
  s.play();
  EXPECT_EQ(events, 2);
  EXPECT_EQ(book, ring_of(125) + words({"first"}) + ring_of(5) + words({"second"}));
}

// The other worker has lost its processor. This one finds an event at each driver poll and never searches.
TEST(scripted_run, events_do_not_starve_the_ring_of_another_worker) {
  for (const unsigned workers : {2U, 3U}) {
    constexpr int events = 100;
    int left = events;
    script order;  // outlives `s`: the last task of the other worker writes to it at the stage's end
    stage s(workers);
    s.on_event = [&] {
      s.spawn(note(order, "event"));
      s.has_event = --left != 0;
    };
    s.has_event = true;
    for (int i = 0; i < 8; ++i) s.spawn_as(workers - 1, note(order, "theirs"));
    s.spawn_as(0, nothing());
    s.when_idle = [&] { s.finish(); };
    s.play();
    const auto last = std::ranges::find(std::views::reverse(order), "theirs");
    const auto before = std::count(last, std::views::reverse(order).end(), "event");
    print("events that came before the last task of the other, of 100", static_cast<std::uint64_t>(before));
    // The last task stays in its slot until the watchdog allows others to take it.
    EXPECT_EQ(std::ranges::count(order, "theirs"), 7);
    EXPECT_LE(before, 20);
    EXPECT_EQ(std::ranges::count(order, "event"), events);
  }
}

// As above, but the neighbour begins a poll beside each event: it has its processor.
TEST(scripted_run, ring_of_a_running_worker_is_not_stolen_from) {
  constexpr int events = 100;
  int left = events;
  script order;
  stage s(2);
  std::size_t kept = 0;
  s.on_event = [&] {
    s.tasks.at(1).note_poll(0);
    s.spawn(note(order, "event"));
    s.has_event = --left != 0;
    if (left == 0) kept = s.tasks.at(1).thief_end().length_guess();
  };
  s.has_event = true;
  for (int i = 0; i < 8; ++i) s.spawn_as(1, note(order, "theirs"));
  s.spawn_as(0, nothing());
  s.when_idle = [&] { s.finish(); };
  s.play();
  print("tasks of 7 that a neighbour that runs keeps beside 100 events", kept);
  EXPECT_EQ(kept, 7U) << "seven in its ring and one in its slot";
}

// Events wake tasks into the ring, where all workers can take them, not the slot; also between two tasks.
TEST(scripted_run, tasks_woken_by_events_go_to_the_ring_for_all_workers) {
  script order;
  stage s(2);
  s.on_event = [&] {
    for (const char* which : {"first", "second", "third"}) s.spawn(note(order, which));
    EXPECT_TRUE(s.tasks.at(0).slot().is_empty());
    EXPECT_TRUE(s.tasks.at(0).thief_end().has_items());
  };
  s.has_event = true;
  s.when_idle = [&] { s.finish(); };
  s.play();
  EXPECT_EQ(order, (script{"first", "second", "third"}));
}

TEST(scripted_run, lifo_slot_is_flushed_after_three_polls_in_a_row) {
  stage s(1);
  script book;
  s.spawn_as(0, note(book, "first in the ring"));
  s.spawn_as(0, finish(s));
  s.spawn_as(0, link(s, book, 3));
  s.play();
  const script expected{"link", "link", "link", "first in the ring"};
  EXPECT_EQ(book, expected) << "the fourth link went behind the ring";
  EXPECT_EQ(s.counts().lifo_hits.read(), 3U);
  print("polls of the LIFO slot in a row", s.counts().lifo_hits.read());
}

TEST(scripted_run, an_overflow_moves_half_of_the_ring) {
  stage s(1);
  for (int i = 0; i < 257; ++i) s.spawn_as(0, nothing());  // one in the slot, 256 in the ring
  EXPECT_EQ(s.counts().overflows.read(), 0U);
  EXPECT_EQ(s.tasks.injector().length_guess(), 0U);
  s.spawn_as(0, nothing());
  EXPECT_EQ(s.counts().overflows.read(), 1U);
  // The task that did not fit moves with them, as the ring's newest.
  EXPECT_EQ(s.tasks.injector().length_guess(), 128U + 1U);
  print("tasks of a full ring of 256 that an overflow moves", s.tasks.injector().length_guess() - 1);
}

TEST(scripted_run, a_steal_takes_half) {
  stage s(2);
  s.spawn_as(0, finish(s));  // the oldest: the thief runs it first
  for (int i = 0; i < 100; ++i) s.spawn_as(0, nothing());
  s.play(1);
  EXPECT_EQ(s.counts(1).searches.read(), 1U);
  EXPECT_EQ(s.counts(1).steals.read(), 1U);
  EXPECT_EQ(s.counts(1).stolen.read(), 50U);
  print("tasks that one steal takes from a ring of 100", s.counts(1).stolen.read());
}

// ---- forks beside the ring

task<> forked(stage& s, script& book, bool called) {
  book.push_back("fork");
  if (called) s.tasks.at(0).forks().waiting.call();  // as the watchdog does beside a long poll
  co_await when_all(nothing(), nothing());
  co_await yield();
}

task<> forks(stage& s, script& book, unsigned count, bool called) {
  std::vector<task<>> children;
  for (unsigned i = 0; i < count; ++i) children.push_back(forked(s, book, called));
  co_await when_all(std::move(children));
}

/// Two tasks wait in the ring, and the worker has `count` forks to run.
script forks_beside_two_others(unsigned count, bool called) {
  script book;
  stage s(1);
  s.spawn_as(0, note(book, "first in the ring"));
  s.spawn_as(0, note(book, "second in the ring"));
  s.spawn_as(0, forks(s, book, count, called));
  s.when_idle = [&] { s.finish(); };
  s.play();
  return book;
}

TEST(scripted_run, ring_has_a_turn_after_eight_forks_in_a_row) {
  script expected(1 + 8, "fork");  // the first runs in place of its parent
  expected.emplace_back("first in the ring");
  expected.insert(expected.end(), 8, "fork");
  expected.emplace_back("second in the ring");
  expected.insert(expected.end(), 3, "fork");
  EXPECT_EQ(forks_beside_two_others(20, false), expected);
}

TEST(scripted_run, ring_has_a_turn_after_each_fork_when_the_worker_is_called) {
  const script expected{"fork", "fork", "first in the ring", "fork", "second in the ring", "fork"};
  EXPECT_EQ(forks_beside_two_others(4, true), expected);
}

/// Returns how many of `length` tasks in the injector the first fetch takes, on worker 0 of `workers`.
std::uint64_t fetched(unsigned workers, std::size_t length) {
  struct body {
    static task<> first(stage& t, std::size_t& left) {
      left = t.tasks.injector().length_guess();
      t.finish();
      co_return;
    }
  };
  std::size_t left = 0;
  stage s(workers);
  s.inject(body::first(s, left));
  for (std::size_t i = 1; i < length; ++i) s.inject(nothing());
  s.play();
  return length - left;
}

TEST(scripted_run, a_fetch_takes_a_worker_s_share) {
  struct row {
    unsigned workers;
    std::size_t length;
    std::uint64_t taken;
  };
  for (const row& r : {row{1, 3, 3},
                       row{1, 20, 20},
                       row{1, 1000, 32},
                       row{4, 8, 4},
                       row{4, 60, 15},
                       row{4, 1000, 32},
                       row{64, 100, 4}}) {
    EXPECT_EQ(fetched(r.workers, r.length), r.taken);
    print("tasks fetched by one of " + std::to_string(r.workers) + " workers out of " +
              std::to_string(r.length),
          r.taken);
  }
}

TEST(scripted_run, half_of_the_workers_may_search_and_at_most_eight) {
  for (const unsigned workers : {1U, 2U, 3U, 8U, 100U}) {
    stage s(workers);
    unsigned granted = 0;
    while (s.tasks.sleepers().try_search()) ++granted;
    EXPECT_EQ(granted, std::min((workers + 1) / 2, 8U));
    print("searchers that " + std::to_string(workers) + " workers allow themselves", granted);
    for (unsigned i = 0; i < granted; ++i) static_cast<void>(s.tasks.sleepers().leave_with_work());
  }
}

// ---- the injector's interval: two tasks yield in the ring, a third always comes through the injector

struct rhythm {
  std::chrono::nanoseconds task_time;
  bool watched = false;
  std::uint64_t last = 0;  // the count of polls when the third task ran last
  std::uint64_t interval = 0;
};
constexpr std::uint64_t long_enough = 50'000;  // polls: the average is stable by then

void pass_one(stage& s, const rhythm& r) { r.watched ? s.pass_watched(r.task_time) : s.pass(r.task_time); }

task<> beat(stage& s, rhythm& r, const bool& over) {
  bool goes_on = true;
  while (goes_on) {
    pass_one(s, r);
    co_await yield();
    goes_on = !over;
  }
}

task<> mark(stage& s, rhythm& r, bool& over) {
  pass_one(s, r);
  const std::uint64_t polled = s.counts().polled.read();
  r.interval = polled - std::exchange(r.last, polled);
  over = polled > long_enough;
  if (over) {
    s.finish();
  } else {
    s.inject(mark(s, r, over));
  }
  co_return;
}

std::uint64_t settled_interval(std::chrono::nanoseconds task_time, bool watched = false) {
  bool over = false;
  rhythm r{.task_time = task_time, .watched = watched};
  stage s(1);
  s.spawn_as(0, beat(s, r, over));
  s.spawn_as(0, beat(s, r, over));
  s.inject(mark(s, r, over));
  s.play();
  return r.interval;
}

TEST(scripted_run, the_injector_is_asked_about_once_a_millisecond) {
  const std::pair<std::chrono::nanoseconds, std::uint64_t> rows[] = {
      {1us, 255}, {10us, 100}, {50us, 20}, {100us, 10}, {1ms, 8}};
  for (const auto& [task_time, interval] : rows) {
    EXPECT_EQ(settled_interval(task_time), interval);
    print("tasks of " + std::to_string(task_time.count() / 1000) + " us between two looks into the injector",
          interval);
  }
}

TEST(scripted_run, a_long_task_counts_by_its_time_and_the_ring_has_every_second_turn) {
  const std::pair<std::chrono::nanoseconds, std::uint64_t> rows[] = {
      {1us, 255}, {500us, 2}, {1ms, 2}, {10ms, 2}};
  for (const auto& [task_time, interval] : rows) {
    EXPECT_EQ(settled_interval(task_time, true), interval);
    print("the same with a watchdog, tasks of " + std::to_string(task_time.count() / 1000) + " us", interval);
  }
}

// ---- time slices

task<> yield_watched(stage& s, std::chrono::nanoseconds each, int times) {
  for (int i = 0; i < times; ++i) {
    s.pass_watched(each);
    co_await yield();
  }
  s.finish();
}

TEST(scripted_run, the_driver_is_asked_once_a_millisecond_beside_long_tasks) {
  constexpr int times = 100;
  for (const int tasks : {1, 3}) {  // one alone keeps its turn
    for (const auto each : {1ms, 10ms}) {
      stage s(1);
      for (int i = 1; i < tasks; ++i) s.spawn_as(0, yield_watched(s, each, 10 * times));
      s.spawn_as(0, yield_watched(s, each, times));
      s.play();
      print("looks at the driver beside 100 polls of each of " + std::to_string(tasks) + " tasks", s.looks);
      EXPECT_GE(s.looks, static_cast<unsigned>(tasks * times));
    }
  }
}

TEST(scripted_run, the_driver_is_asked_once_a_millisecond_beside_short_tasks) {
  stage s(1);
  s.spawn_as(0, yield_watched(s, 50us, 60));
  s.play();
  EXPECT_EQ(s.looks, 1U + 3U) << "before the first poll, and after each of three milliseconds";
}

/// 200 tasks that yield keep the ring more than half full.
void play_beside_full_ring(stage& s) {
  for (int i = 0; i < 200; ++i) s.spawn_as(0, yield_watched(s, 1ms, 20));
  s.play();
}

// Each poll ends a time slice. Driver polls by time are left out, and only every fourth one by count happens.
TEST(scripted_run, driver_polls_beside_a_full_ring_do_not_depend_on_task_length) {
  stage s(1);
  play_beside_full_ring(s);
  const std::uint64_t polled = s.counts().polled.read();
  print("polls of 1 ms in a full ring for each look at the driver", polled / std::max(s.looks, 1U));
  EXPECT_GE(s.looks, polled / (4 * polls_between_driver_looks));
  EXPECT_LE(s.looks, polled / 128);
}

// The ring is more than half full of tasks that yield, and each poll of the driver finds 32 events.
TEST(scripted_run, events_do_not_overflow_a_ring_of_long_tasks) {
  constexpr int looks_with_events = 10;
  constexpr int batch = 32;
  int left = looks_with_events;
  script order;
  stage s(1);
  s.on_event = [&] {
    for (int i = 0; i < batch; ++i) s.spawn(note(order, "event"));
    s.has_event = --left != 0;
  };
  for (int i = 0; i < 140; ++i) s.spawn_as(0, yield_watched(s, 1ms, 30));
  s.has_event = true;
  s.play();
  print("overflows of a ring of 140 tasks of 1 ms and 320 events", s.counts().overflows.read());
  EXPECT_EQ(s.counts().overflows.read(), 0U);
  EXPECT_EQ(std::ranges::count(order, "event"), looks_with_events * batch);
}

task<> note_delay_watched(stage& s, std::chrono::nanoseconds& late) {
  const auto due = s.tasks.now() + 1ms;
  co_await sleep_for(1ms);
  late = s.tasks.now() - due;
  s.finish();
}

TEST(scripted_run, timer_beside_long_tasks_is_late_by_at_most_one_task) {
  std::chrono::nanoseconds late{};
  stage s(1);
  for (int i = 0; i < 100; ++i) s.spawn_as(0, yield_watched(s, 10ms, 1'000));
  s.spawn_as(0, note_delay_watched(s, late));
  s.play();
  print("ms that a timer is late beside 100 tasks that yield every 10 ms",
        static_cast<std::uint64_t>(late / 1ms));
  EXPECT_LE(late, 10ms);
}

task<> sleep_and_compute(stage& s, const bool& over) {
  bool goes_on = true;
  while (goes_on) {
    co_await sleep_for(1ms);
    s.pass_watched(10ms);
    goes_on = !over;
  }
}

/// Like sleep_and_compute(), and fills the slot each time.
task<> sleep_and_spawn(stage& s, const bool& over) {
  bool goes_on = true;
  while (goes_on) {
    co_await sleep_for(1ms);
    s.pass_watched(10ms);
    s.spawn(nothing());
    goes_on = !over;
  }
}

task<> inject_again(stage& s, const bool& over) {
  s.pass_watched(10ms);
  if (!over) s.inject(inject_again(s, over));
  co_return;
}

task<> count_down(stage& s, int& left, bool& over) {
  s.pass_watched(10ms);
  if (--left != 0) co_return;
  over = true;
  s.finish();
}

/// Returns the polls until 20 tasks of the ring have run. A timer is always due; the injector is never empty.
std::uint64_t polls_beside_timers(task<> (*timer)(stage& s, const bool& over)) {
  constexpr int in_the_ring = 20;
  int left = in_the_ring;
  bool over = false;
  stage s(1);
  for (int i = 0; i < 3; ++i) s.spawn_as(0, timer(s, over));
  for (int i = 0; i < in_the_ring; ++i) s.spawn_as(0, count_down(s, left, over));
  for (int i = 0; i < 3; ++i) s.inject(inject_again(s, over));
  s.play();
  EXPECT_EQ(left, 0);
  return s.counts().polled.read();
}

TEST(scripted_run, the_ring_has_its_turn_beside_timers_that_are_always_due_and_a_full_injector) {
  const std::uint64_t polls = polls_beside_timers(sleep_and_compute);
  print("polls until 20 tasks of the ring have run beside both", polls);
  EXPECT_LE(polls, 4U * 20);
}

TEST(scripted_run, the_ring_has_its_turn_beside_timers_whose_tasks_fill_the_slot) {
  const std::uint64_t polls = polls_beside_timers(sleep_and_spawn);
  print("the same, and each timer's task fills the slot", polls);
  EXPECT_LE(polls, 8U * 20);
}

// ---- operations that are prepared for the kernel

task<> prepare_beside_others(stage& s, std::uint64_t& looks) {
  s.is_prepared = true;
  const std::uint64_t before = s.counts().polled.read();
  while (s.is_prepared) co_await yield();
  looks = s.counts().polled.read() - before;
  s.finish();
}

TEST(scripted_run, operation_prepared_by_a_task_is_flushed_at_the_next_driver_poll) {
  std::uint64_t looks = 0;
  stage s(1);
  s.spawn_as(0, prepare_beside_others(s, looks));
  s.play();
  EXPECT_GE(looks, 1U);
  EXPECT_LE(looks, std::uint64_t{polls_between_driver_looks});
  print("looks at tasks until what one has prepared is flushed", looks);
}

TEST(scripted_run, operation_prepared_by_an_event_is_flushed_before_the_worker_sleeps) {
  int naps = 0;
  stage s(1);
  s.when_idle = [&] {
    s.has_event = ++naps == 1;
    if (naps == 1) return;
    EXPECT_FALSE(s.is_prepared);
    s.finish();
  };
  s.play();
  EXPECT_EQ(naps, 2);
}

task<> prepare_and_block(stage& s) {
  s.is_prepared = true;
  block_in_place([&] { EXPECT_FALSE(s.is_prepared); });
  s.finish();
  co_return;
}

TEST(scripted_run, operation_prepared_by_a_task_is_flushed_before_it_blocks) {
  stage s(1);
  s.tasks.around.start_role = [](void*, worker&) noexcept { return false; };  // there is no thread for it
  s.tasks.around.offer_role = [](void*, worker&) noexcept {};
  s.tasks.around.take_role_back = [](void*, worker&) noexcept { return true; };
  s.spawn_as(0, prepare_and_block(s));
  s.play();
  EXPECT_EQ(s.tasks.shortages(), 1U);
}

// ---- what a worker counts, each figure exactly

TEST(scripted_run, worker_counters_are_exact) {
  stage s(2);
  int naps = 0;
  s.when_idle = [&] {
    ++naps;
    if (naps == 1) {
      s.spawn_as(1, nothing());  // into its slot: wakes no worker
      EXPECT_EQ(s.counts(1).wakes_sent.read(), 0U);
      s.spawn_as(1, nothing());  // displaces it into the ring, where worker 0 can take it
      EXPECT_EQ(s.counts(1).wakes_sent.read(), 1U);
      s.inject(nothing());
    } else if (naps == 2) {
      s.tasks.wake_all();  // a spurious wakeup
    } else {
      s.finish();
    }
  };
  s.play(0);
  worker_counters& c = s.counts(0);
  EXPECT_EQ(c.stolen.read(), 1U);
  EXPECT_EQ(c.steals.read(), 1U);
  EXPECT_EQ(c.injector_fetches.read(), 1U);
  EXPECT_EQ(c.polled.read(), 2U);
  EXPECT_EQ(c.ended.read(), 2U);
  EXPECT_EQ(c.lifo_hits.read(), 0U);
  EXPECT_EQ(c.overflows.read(), 0U);
  EXPECT_EQ(c.parked.read(), 3U);
  EXPECT_EQ(c.wakes_spurious.read(), 1U);
  EXPECT_EQ(s.counts(1).spawned.read(), 2U);
  EXPECT_EQ(s.tasks.foreign_spawned(), 1U);
}

}  // namespace
}  // namespace rota::sched::scripted_run_test
