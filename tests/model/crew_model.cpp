// P12: threads that come, sleep, are woken, leave, are lost or cannot be started, beside published jobs. The
// crew is the real one. Its jobs are in a queue under a lock, and do what the pool's jobs do. Sleeps are
// endless where a timeout could hide a lost wakeup.
#include "pool/crew.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <rota/testing/explore.hpp>
#include "base/futex.hpp"
#include "base/tls_slot.hpp"
#include "model/exploring.hpp"

namespace rota::pool::detail {
namespace {

using namespace std::chrono_literals;
using model::at_random;
using model::by_priority;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

constexpr auto for_ever = base::nanoseconds::max();

struct job {
  enum state : std::uint32_t { queued, running, ended, given_up };

  base::atomic<std::uint32_t> now{queued};
  base::cell<int> content;
  unsigned together = 0;  // ends when so many have begun
  bool in_region = false;
  bool lingers = false;  // until release() is called, or for a moment
  int runs = 0;
};

class office final : public crew_client {
 public:
  explicit office(crew::limits how, unsigned extra = 0)
      : threads(*this, "office", how), at_once_(how.max + extra) {}

  // ---- from outside

  void submit(job& j) {
    j.content.set(1);
    {
      const base::lock_guard guard(lock_);
      queue_[length_++] = &j;
      // relaxed. As pool_core::push().
      waiting_.store(length_, base::order::relaxed);
    }
    threads.attract();
  }
  /// Returns false if it is refused: no thread runs it.
  bool hand_over(job& j) {
    j.content.set(1);
    return threads.hand_over(&j);
  }
  /// A lost wake-up is a wait without end.
  void wait_for(unsigned how_many) {
    for (;;) {
      // acquire. What the test counts.
      const std::uint32_t seen = over.load(base::order::acquire);
      if (seen >= how_many) return;
      static_cast<void>(base::futex_wait(over, seen, base::never));
    }
  }
  void end(unsigned how_many) {
    wait_for(how_many);
    threads.stop();
  }
  /// When all have gone.
  void check_end() {
    const crew::counts left = threads.count();
    check(left.threads == 0 && left.idle == 0 && left.lost == 0, "nobody is counted");
    check(left.extra == 0 && left.regions == 0, "nobody has left a place behind");
    check(running_ == 0, "nobody runs anything");
  }
  void note_over() {
    // acq_rel. What the test counts.
    over.fetch_add(1, base::order::acq_rel);
    static_cast<void>(base::futex_wake(&over, 100));
  }
  static bool give_up(void* which) noexcept {
    std::uint32_t seen = job::running;
    // acq_rel. As the work's word.
    return static_cast<job*>(which)->now.compare_exchange_strong(
        seen, job::given_up, base::order::acq_rel, base::order::acquire);
  }
  bool lose(job& j) {
    if (threads.lose(&j, 1, give_up) != crew::on_lose::lost) return false;
    note_over();
    return true;
  }
  /// From now on the end leaves behind the threads that have not come to it.
  void leave_behind_at_the_end() { leaves_ = true; }
  void wait_for_begun(unsigned how_many) {
    for (;;) {
      // acquire. What the test counts.
      const std::uint32_t seen = begun.load(base::order::acquire);
      if (seen >= how_many) return;
      static_cast<void>(base::futex_wait(begun, seen, base::never));
    }
  }
  void release() {
    // release. Lets those go that linger.
    let_go.store(1, base::order::release);
    static_cast<void>(base::futex_wake(&let_go, 100));
  }

  // ---- for the crew

  void* take(seat& /*here*/) noexcept override {
    // relaxed. As pool_core::pop().
    if (waiting_.load(base::order::relaxed) == 0) return nullptr;
    const base::lock_guard guard(lock_);
    if (length_ == 0) return nullptr;
    job* const first = queue_[0];
    std::move(queue_.begin() + 1, queue_.begin() + length_, queue_.begin());
    // relaxed. As pool_core::pop().
    waiting_.store(--length_, base::order::relaxed);
    return first;
  }
  bool has_work() noexcept override {
    const base::lock_guard guard(lock_);
    return length_ != 0;
  }
  std::size_t waiting() noexcept override {
    const base::lock_guard guard(lock_);
    return length_;
  }
  on_run run(seat& here, void* which) noexcept override {
    job& j = *static_cast<job*>(which);
    check(j.content.get() == 1 && ++j.runs == 1, "it is run once");
    check(++running_ <= at_once_, "no more threads than there may be");
    noted_[here.index].set(j.runs);
    // release. As pool_core::run(). Pairs with lose(), for loses().
    here.job.store(&j, base::order::release);
    // relaxed. It is this thread's.
    j.now.store(job::running, base::order::relaxed);
    play(here, j);
    std::uint32_t seen = job::running;
    // acq_rel. As the work's word.
    const bool mine =
        j.now.compare_exchange_strong(seen, job::ended, base::order::acq_rel, base::order::acquire);
    // relaxed. It is this thread's.
    here.job.store(nullptr, base::order::relaxed);
    --running_;
    if (mine) note_over();
    if (!mine && threads.is_lost(here)) return on_run::given_up;
    check(mine, "who was given up is lost");
    return on_run::done;
  }
  void begins(seat& here) noexcept override { check(crew::here() == &here, "it has its seat"); }
  void loses(seat& here) noexcept override { check(noted_[here.index].get() == 1, "what the thread noted"); }
  void ends(seat& /*here*/) noexcept override { ++ended; }
  void gone(void* which) noexcept override {
    check(static_cast<job*>(which)->runs == 1 && crew::here() == nullptr, "it belongs to nobody");
    ++gone_;
  }
  bool leaves_behind(seat& here) noexcept override {
    // relaxed. Giving up decides.
    void* const j = here.job.load(base::order::relaxed);
    return leaves_ && j != nullptr && give_up(j);
  }
  void missing() noexcept override {
    // release. Pairs with next_missing().
    missing_.fetch_add(1, base::order::release);
    static_cast<void>(base::futex_wake(&missing_, 1));
  }

  [[nodiscard]] std::uint32_t next_missing(std::uint32_t done) {
    for (;;) {
      // acquire. Pairs with missing().
      const std::uint32_t seen = missing_.load(base::order::acquire);
      if (seen != done) return seen;
      static_cast<void>(base::futex_wait(missing_, seen, base::never));
    }
  }

  /// The clock of the pool: retries. While a thread exists, nothing may depend on it.
  void keep_trying() {
    for (std::uint32_t done = 0;;) {
      done = next_missing(done);
      if (threads.count().threads == 0 && !threads.grow()) missing();
    }
  }

  std::string describe() {
    return "over " + std::to_string(over.load(base::order::relaxed)) + ", queued " + std::to_string(length_) +
           ", running " + std::to_string(running_) + ", gone " + std::to_string(gone_);
  }
  [[nodiscard]] int gone_threads() const { return gone_; }

  crew threads;
  base::atomic<std::uint32_t> over{0};
  base::atomic<std::uint32_t> begun{0};
  base::atomic<std::uint32_t> let_go{0};
  int ended = 0;

 private:
  void play(seat& here, job& j) {
    if (j.in_region) threads.enter_region(here);
    if (j.together != 0) {
      // acq_rel. What the test counts.
      begun.fetch_add(1, base::order::acq_rel);
      static_cast<void>(base::futex_wake(&begun, 100));
      wait_for_begun(j.together);
    }
    // acquire. Pairs with release().
    while (j.lingers && let_go.load(base::order::acquire) == 0)
      static_cast<void>(base::futex_wait(let_go, 0, base::never));
    if (j.in_region) threads.leave_region(here);
  }

  const unsigned at_once_;
  base::mutex lock_;
  std::array<job*, 8> queue_{};  // under lock_
  unsigned length_ = 0;          // as well
  base::atomic<unsigned> waiting_{0};
  base::atomic<std::uint32_t> missing_{0};
  std::array<base::cell<int>, 4> noted_;  // by each thread, before its seat names the job
  unsigned running_ = 0;
  int gone_ = 0;
  bool leaves_ = false;
};

struct board {
  explicit board(crew::limits how, unsigned extra = 0) : desk(how, extra) {}
  office desk;
  std::array<job, 6> jobs;
};

board& make_board(execution& e, crew::limits how, unsigned extra = 0) {
  auto& b = e.make<board>(how, extra);
  e.on_failure([&b] { return b.desk.describe(); });
  e.finally([&b] { b.desk.check_end(); });
  return b;
}

/// Two submitters, and a thread that ends it all when everything was run.
void submit_and_stop(execution& e, crew::limits how, bool fills) {
  auto& b = make_board(e, how);
  for (unsigned p = 0; p < 2; ++p) e.thread("submitter", [&b, p] { b.desk.submit(b.jobs[p]); });
  e.thread("manager", [&b, fills] {
    if (fills) b.desk.threads.fill();
    b.desk.end(2);
  });
}

TEST(crew_model, one_permanent_thread_runs_every_job) {
  expect_holds(exhaustive("crew_1_1", 1), [](execution& e) { submit_and_stop(e, {1, 1, for_ever}, true); });
}

TEST(crew_model, one_thread_started_on_demand_runs_every_job) {
  expect_holds(exhaustive("crew_0_1", 1), [](execution& e) { submit_and_stop(e, {0, 1, for_ever}, false); });
}

TEST(crew_model, two_threads_started_on_demand_run_every_job) {
  expect_holds(exhaustive("crew_0_2", 1), [](execution& e) { submit_and_stop(e, {0, 2, for_ever}, false); });
  expect_holds(by_priority("crew_0_2 pct", 3'000),
               [](execution& e) { submit_and_stop(e, {0, 2, for_ever}, false); });
}

// Jobs that wait for each other: each needs a thread of its own, so a thread must be called for each.
TEST(crew_model, jobs_that_wait_for_each_other_get_a_thread_each) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {0, 2, for_ever});
    b.jobs[0].together = b.jobs[1].together = 2;
    for (unsigned p = 0; p < 2; ++p) e.thread("submitter", [&b, p] { b.desk.submit(b.jobs[p]); });
    e.thread("manager", [&b] { b.desk.end(2); });
  };
  expect_holds(exhaustive("crew_together", 1), body);
  expect_holds(by_priority("crew_together pct", 4'000), body);
}

// The second round finds sleeping threads, and wakes two: the first that finds a job wakes the other.
TEST(crew_model, threads_that_sleep_are_woken_for_works_that_need_one_each) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {2, 2, for_ever});
    b.jobs[0].together = b.jobs[1].together = 2;
    e.thread("submitter", [&b] {
      b.desk.threads.fill();
      b.desk.submit(b.jobs[0]);
      b.desk.submit(b.jobs[1]);
      b.desk.end(2);
    });
  };
  expect_holds(exhaustive("crew_wake_two", 1), body);
  expect_holds(by_priority("crew_wake_two pct", 4'000), body);
}

// ---- time -------------------------------------------------------------------------------------------------

// An idle thread leaves while a job is submitted for it: it is woken, or another thread comes.
TEST(crew_model, a_submit_while_a_thread_times_out) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {0, 1, 1ms});
    e.thread("submitter", [&b] {
      b.desk.submit(b.jobs[0]);
      b.desk.wait_for(1);
      b.desk.submit(b.jobs[1]);
      b.desk.wait_for(2);
      b.desk.submit(b.jobs[2]);
    });
    e.thread("manager", [&b] { b.desk.end(3); });
  };
  testing::options o = exhaustive("crew_timeout");
  o.early_timeouts = 2;
  o.preemptions = 1;
  expect_holds(o, body);
  testing::options random = by_priority("crew_timeout pct", 4'000);
  random.early_timeouts = 2;
  expect_holds(random, body);
}

/// Sleeps until that much time has gone by.
void pass(base::nanoseconds time) {
  base::atomic<std::uint32_t> nobody{0};
  const base::time_point until = base::now() + time;
  while (base::now() < until) static_cast<void>(base::futex_wait(nobody, 0, until));
}

// Three idle threads time out at the same moment; one must be kept.
TEST(crew_model, the_minimum_of_threads_stays_when_all_time_out_at_once) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {1, 3, 1ms});
    for (unsigned j = 0; j < 3; ++j) b.jobs[j].together = 3;
    e.thread("manager", [&b] {
      for (unsigned j = 0; j < 3; ++j) b.desk.submit(b.jobs[j]);
      b.desk.wait_for(3);
      pass(10ms);
      const crew::counts now = b.desk.threads.count();
      check(now.threads == 1 && now.retired == 2, "as many stay as shall, and no more");
      b.desk.end(3);
    });
  };
  expect_holds(exhaustive("crew_floor", 1), body);
  expect_holds(by_priority("crew_floor pct", 3'000), body);
}

// A smaller floor also holds for threads that sleep already.
TEST(crew_model, a_sleeping_thread_leaves_after_the_minimum_is_lowered) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {2, 2, 1ms});
    e.thread("manager", [&b] {
      b.desk.threads.fill();
      b.desk.submit(b.jobs[0]);
      b.desk.wait_for(1);
      pass(10ms);
      check(b.desk.threads.count().threads == 2, "the floor");
      b.desk.threads.resize(0, 2);
      pass(10ms);
      check(b.desk.threads.count().threads == 0, "there is none any more");
      b.desk.end(1);
    });
  };
  expect_holds(exhaustive("crew_lower_floor", 1), body);
}

// ---- size -------------------------------------------------------------------------------------------------

TEST(crew_model, a_resize_while_works_come) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {0, 2, for_ever});
    for (unsigned p = 0; p < 2; ++p) e.thread("submitter", [&b, p] { b.desk.submit(b.jobs[p]); });
    e.thread("manager", [&b] {
      b.desk.threads.resize(1, 1);
      b.desk.end(2);
    });
  };
  expect_holds(exhaustive("crew_smaller", 1), body);
  expect_holds(by_priority("crew_smaller pct", 3'000), body);
}

// Only after the resize may the second thread come, and the first waits for it.
TEST(crew_model, a_resize_brings_the_thread_that_is_waited_for) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {0, 1, for_ever}, 1);
    b.jobs[0].together = b.jobs[1].together = 2;
    for (unsigned p = 0; p < 2; ++p) e.thread("submitter", [&b, p] { b.desk.submit(b.jobs[p]); });
    e.thread("manager", [&b] {
      b.desk.threads.resize(0, 2);
      b.desk.end(2);
    });
  };
  expect_holds(exhaustive("crew_larger", 1), body);
  expect_holds(by_priority("crew_larger pct", 3'000), body);
}

TEST(crew_model, a_resize_keeps_the_number_of_threads_within_the_limits) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {2, 2, for_ever});
    e.thread("submitter", [&b] { b.desk.submit(b.jobs[0]); });
    e.thread("manager", [&b] {
      b.desk.threads.fill();
      b.desk.threads.resize(1, 1);
      b.desk.wait_for(1);
      pass(1ms);
      check(b.desk.threads.count().threads == 1, "one");
      b.desk.threads.resize(2, 3);
      check(b.desk.threads.count().threads == 2, "the floor, at once");
      b.desk.end(1);
    });
  };
  expect_holds(exhaustive("crew_resize", 1), body);
  expect_holds(by_priority("crew_resize pct", 3'000), body);
}

// ---- the system gives no thread ---------------------------------------------------------------------------

// A job was left to a thread that was to start. Another thread, which could have run it, has gone to sleep.
TEST(crew_model, a_queued_job_is_not_lost_when_its_thread_cannot_be_started) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {0, 2, for_ever});
    e.daemon("clock", [&b] { b.desk.keep_trying(); });
    b.jobs[0].lingers = true;
    e.thread("submitter", [&b] {
      b.desk.submit(b.jobs[0]);
      b.desk.submit(b.jobs[1]);
    });
    e.thread("submitter", [&b] {
      b.desk.release();
      b.desk.wait_for(2);
      b.desk.submit(b.jobs[2]);
    });
    e.thread("manager", [&b] { b.desk.end(3); });
  };
  testing::options o = exhaustive("crew_no_thread", 0);
  o.thread_failures = 1;
  expect_holds(o, body);
  testing::options random = by_priority("crew_no_thread pct", 6'000);
  random.thread_failures = 2;
  expect_holds(random, body);
}

TEST(crew_model, the_minimum_is_reached_once_threads_can_be_started_again) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {2, 2, for_ever});
    e.thread("manager", [&b] {
      b.desk.threads.fill();
      while (!b.desk.threads.grow()) {
      }
      const crew::counts now = b.desk.threads.count();
      check(now.threads == 2, "as many as shall be");
      b.desk.threads.stop();
    });
  };
  testing::options o = exhaustive("crew_floor_later", 1);
  o.thread_failures = 2;
  expect_holds(o, body);
}

// ---- jobs that are handed over ----------------------------------------------------------------------------

// Each of two jobs needs a thread: the queued one, and the handed-over one, which is refused while there is
// one thread for both. The thread of one job must not be counted for the other job.
TEST(crew_model, a_handed_over_job_and_a_queued_job_get_a_thread_each) {
  const auto body = [](execution& e, unsigned min) {
    auto& b = make_board(e, {min, 2, for_ever});
    b.jobs[0].together = b.jobs[1].together = 2;
    e.thread("submitter", [&b] { b.desk.submit(b.jobs[0]); });
    e.thread("giver", [&b] {
      b.desk.threads.fill();
      if (!b.desk.hand_over(b.jobs[1])) b.desk.submit(b.jobs[1]);  // to those that the other one has called
    });
    e.thread("manager", [&b] { b.desk.end(2); });
  };
  for (const unsigned min : {0U, 1U, 2U}) {
    const std::string name = "crew_hand_over_" + std::to_string(min);
    expect_holds(exhaustive(name, 1), [&](execution& e) { body(e, min); });
    expect_holds(by_priority(name + " pct", 3'000), [&](execution& e) { body(e, min); });
  }
}

// The queued job lasts until the handed-over one has ended: a thread runs a handed-over job first.
TEST(crew_model, a_job_that_is_handed_over_waits_for_nothing_in_the_queue) {
  const auto body = [](execution& e, base::nanoseconds keep_alive) {
    auto& b = make_board(e, {0, 1, keep_alive});
    b.jobs[0].lingers = true;
    e.thread("submitter", [&b] { b.desk.submit(b.jobs[0]); });
    e.thread("giver", [&b] {
      b.desk.submit(b.jobs[1]);  // so that a thread may sleep
      const bool given = b.desk.hand_over(b.jobs[2]);
      if (given) {
        // acquire. What the test counts.
        while (b.jobs[2].now.load(base::order::acquire) != job::ended) {
          const std::uint32_t seen = b.desk.over.load(base::order::acquire);
          // acquire, both. What the test counts.
          if (b.jobs[2].now.load(base::order::acquire) == job::ended) break;
          static_cast<void>(base::futex_wait(b.desk.over, seen, base::never));
        }
      }
      b.desk.release();
      b.desk.end(given ? 3 : 2);
      check(given || b.jobs[2].runs == 0, "one that was refused is nobody's");
    });
  };
  for (const auto keep_alive : {for_ever, base::nanoseconds(1ms)}) {
    const std::string name = keep_alive == for_ever ? "crew_given_first" : "crew_given_timeout";
    testing::options o = exhaustive(name, 1);
    o.early_timeouts = keep_alive == for_ever ? 0 : 1;
    expect_holds(o, [&](execution& e) { body(e, keep_alive); });
    const std::string at_random = name + " pct";
    testing::options random = by_priority(at_random, 4'000);
    random.early_timeouts = keep_alive == for_ever ? 0 : 2;
    expect_holds(random, [&](execution& e) { body(e, keep_alive); });
  }
}

// The giver waits for its queued job. The handed-over job lasts until then: it must not have the only thread.
TEST(crew_model, a_handed_over_job_leaves_a_thread_for_the_queued_job) {
  const auto body = [](execution& e, unsigned min) {
    auto& b = make_board(e, {min, 1, for_ever});
    b.jobs[1].lingers = true;
    e.thread("giver", [&b] {
      b.desk.threads.fill();
      b.desk.submit(b.jobs[0]);
      const bool given = b.desk.hand_over(b.jobs[1]);
      b.desk.wait_for(1);
      // acquire. What the test counts.
      check(b.jobs[0].now.load(base::order::acquire) == job::ended, "it did not wait for the other");
      b.desk.release();
      b.desk.end(given ? 2 : 1);
    });
  };
  for (const unsigned min : {0U, 1U}) {
    const std::string name = "crew_given_waits_" + std::to_string(min);
    expect_holds(exhaustive(name, 1), [&](execution& e) { body(e, min); });
    expect_holds(by_priority(name + " pct", 3'000), [&](execution& e) { body(e, min); });
  }
}

// Of two threads one has taken a job, and has not said so yet: what is queued now waits for the other, which
// sleeps. No third one starts. The sleeper is for the queued job; the job that is handed over is refused.
TEST(crew_model, hand_over_is_refused_if_a_queued_job_needs_the_only_sleeping_thread) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {2, 3, for_ever});
    b.jobs[1].lingers = b.jobs[2].lingers = true;
    e.thread("giver", [&b] {
      while (b.desk.threads.count().threads < 2) b.desk.threads.fill();
      while (b.desk.threads.count().idle < 2) base::yield_thread();
      b.desk.submit(b.jobs[2]);
      b.desk.submit(b.jobs[0]);
      const bool given = b.desk.hand_over(b.jobs[1]);
      b.desk.wait_for(1);
      b.desk.release();
      b.desk.end(given ? 3 : 2);
    });
  };
  testing::options o = by_priority("crew_given_refused", 4'000);
  o.thread_failures = 3;
  expect_holds(o, body);
}

// Its thread cannot be started. Meanwhile another thread submits, and finds that no more threads are allowed.
TEST(crew_model, hand_over_is_refused_without_effect_if_its_thread_cannot_start) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {0, 1, for_ever});
    e.daemon("clock", [&b] { b.desk.keep_trying(); });
    e.thread("submitter", [&b] { b.desk.submit(b.jobs[0]); });
    e.thread("giver", [&b] {
      const bool given = b.desk.hand_over(b.jobs[1]);
      b.desk.end(given ? 2 : 1);
      check(given || b.jobs[1].runs == 0, "one that was refused is nobody's");
    });
  };
  testing::options o = exhaustive("crew_given_none", 1);
  o.thread_failures = 1;
  expect_holds(o, body);
  testing::options random = by_priority("crew_given_none pct", 4'000);
  random.thread_failures = 2;
  expect_holds(random, body);
}

TEST(crew_model, after_the_end_nothing_is_handed_over) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {0, 2, for_ever});
    auto& given = e.make<base::atomic<std::uint32_t>>(0U);
    e.thread("giver", [&b, &given] {
      // relaxed. Read when all have gone.
      if (b.desk.hand_over(b.jobs[0])) given.store(1, base::order::relaxed);
    });
    e.thread("manager", [&b] {
      b.desk.threads.stop();
      check(!b.desk.hand_over(b.jobs[1]), "there is nobody");
    });
    // relaxed. Read when all have gone.
    e.finally([&b, &given] {
      check(b.jobs[0].runs == static_cast<int>(given.load(base::order::relaxed)), "what was given is run");
    });
  };
  expect_holds(exhaustive("crew_given_late", 2), body);
}

// ---- regions ----------------------------------------------------------------------------------------------

// A thread blocks in a region, waiting for a job that has no other thread.
TEST(crew_model, another_thread_starts_while_one_blocks_in_a_region) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {0, 1, for_ever}, 1);
    b.jobs[0].in_region = b.jobs[1].in_region = true;
    b.jobs[0].together = b.jobs[1].together = 2;
    for (unsigned p = 0; p < 2; ++p) e.thread("submitter", [&b, p] { b.desk.submit(b.jobs[p]); });
    e.thread("manager", [&b] {
      b.desk.wait_for(2);
      pass(1ms);
      const crew::counts now = b.desk.threads.count();
      check(now.extra == 0 && now.regions == 0, "what was added has been taken away");
      check(now.threads == 1 && now.idle == 1, "no more than there may be");
      b.desk.end(2);
    });
  };
  expect_holds(exhaustive("crew_region", 1), body);
  expect_holds(by_priority("crew_region pct", 3'000), body);
}

// ---- lost threads -----------------------------------------------------------------------------------------

/// The job ends, or is given up; what follows runs in both cases.
void lose_against_the_end(execution& e, bool in_region) {
  auto& b = make_board(e, {0, 1, for_ever}, 1);
  b.jobs[0].in_region = in_region;
  e.thread("submitter", [&b] {
    b.desk.submit(b.jobs[0]);
    b.desk.submit(b.jobs[1]);
  });
  e.thread("loser", [&b] { static_cast<void>(b.desk.lose(b.jobs[0])); });
  e.thread("manager", [&b] {
    b.desk.end(2);
    check(b.desk.threads.count().extra == 0, "a lost thread leaves no place behind");
  });
  e.finally([&b] {
    // relaxed: all threads are at rest.
    const bool was_lost = b.jobs[0].now.load(base::order::relaxed) == job::given_up;
    check(b.desk.gone_threads() == (was_lost ? 1 : 0), "who was lost says so when it goes");
  });
}

TEST(crew_model, a_thread_is_given_up_while_its_work_ends) {
  const auto body = [](execution& e) { lose_against_the_end(e, false); };
  expect_holds(exhaustive("crew_lose", 1), body);
  expect_holds(by_priority("crew_lose pct", 3'000), body);
}

TEST(crew_model, a_thread_is_given_up_while_it_enters_and_leaves_a_region) {
  const auto body = [](execution& e) { lose_against_the_end(e, true); };
  expect_holds(exhaustive("crew_lose_region", 1), body);
  expect_holds(by_priority("crew_lose_region pct", 3'000), body);
}

// The job never ends by itself: the next one runs only because a thread replaces the abandoned one.
TEST(crew_model, a_lost_thread_is_replaced_for_the_next_job) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {1, 1, for_ever}, 1);
    b.jobs[0].lingers = true;
    e.thread("submitter", [&b] {
      b.desk.submit(b.jobs[0]);
      b.desk.submit(b.jobs[1]);
    });
    e.thread("manager", [&b] {
      while (!b.desk.lose(b.jobs[0])) base::cpu_relax();
      b.desk.wait_for(2);
      const crew::counts now = b.desk.threads.count();
      check(now.threads == 1 && now.lost == 1, "the lost one is not counted among them");
      b.desk.end(2);
      b.desk.release();
    });
    e.finally([&b] { check(b.desk.threads.count().lost == 0 && b.desk.gone_threads() == 1, "it has gone"); });
  };
  expect_holds(exhaustive("crew_replace", 1), body);
}

// The thread runs its job and is given up before the starter returns. The seat belongs to the thread, and the
// end waits for the starter, which is none of the crew's threads.
TEST(crew_model, a_thread_is_given_up_before_its_start_has_returned) {
  const auto body = [](execution& e, bool lets_go) {
    auto& b = make_board(e, {0, 1, for_ever}, 1);
    b.jobs[0].lingers = true;
    b.jobs[0].together = 1;
    e.thread("submitter", [&b] { b.desk.submit(b.jobs[0]); });
    e.thread("manager", [&b, lets_go] {
      b.desk.wait_for_begun(1);
      if (!b.desk.lose(b.jobs[0])) check(false, "it lingers");
      if (lets_go) b.desk.release();
      b.desk.end(1);
      check(b.desk.threads.count().pending == 0, "the end has waited for the start");
      if (!lets_go) b.desk.release();
    });
    e.finally([&b] { check(b.desk.gone_threads() == 1, "it has gone"); });
  };
  for (const bool lets_go : {false, true}) {
    const std::string name = lets_go ? "crew_lose_early_gone" : "crew_lose_early";
    expect_holds(exhaustive(name, 1), [&](execution& e) { body(e, lets_go); });
    expect_holds(by_priority(name + " pct", 3'000), [&](execution& e) { body(e, lets_go); });
  }
}

// No job is left: the floor holds all the same.
TEST(crew_model, the_minimum_of_threads_is_kept_when_one_is_lost) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {1, 1, for_ever}, 1);
    b.jobs[0].lingers = true;
    e.thread("manager", [&b] {
      b.desk.submit(b.jobs[0]);
      while (!b.desk.lose(b.jobs[0])) base::cpu_relax();
      check(b.desk.threads.count().threads == 1, "another one is there");
      b.desk.end(1);
      b.desk.release();
    });
  };
  expect_holds(exhaustive("crew_floor_after_loss", 1), body);
}

// ---- the end ----------------------------------------------------------------------------------------------

// Threads that fall asleep, time out and are started while the end comes: each is waited for.
TEST(crew_model, stop_waits_for_threads_that_start_or_time_out) {
  const auto body = [](execution& e) {
    auto& b = make_board(e, {0, 2, 1ms});
    e.thread("submitter", [&b] {
      b.desk.submit(b.jobs[0]);
      b.desk.submit(b.jobs[1]);
    });
    e.thread("manager", [&b] {
      b.desk.end(1);
      check(b.desk.ended >= 1, "who has run something has ended");
      check(b.desk.threads.count().threads == 0, "no start is under way, or is still to come");
    });
  };
  testing::options o = exhaustive("crew_stop", 1);
  o.early_timeouts = 1;
  expect_holds(o, body);
  testing::options random = by_priority("crew_stop pct", 4'000);
  random.early_timeouts = 2;
  random.thread_failures = 1;
  expect_holds(random, body);
}

// A job lasts until it is let go, perhaps long after the end: it is left behind, or has ended in time.
TEST(crew_model, stop_leaves_behind_a_thread_whose_job_does_not_end) {
  const auto body = [](execution& e, bool in_time) {
    auto& b = make_board(e, {0, 2, for_ever});
    b.desk.leave_behind_at_the_end();
    b.jobs[0].lingers = true;
    b.jobs[0].together = 1;
    e.thread("submitter", [&b, in_time] {
      b.desk.submit(b.jobs[0]);
      b.desk.submit(b.jobs[1]);
      if (in_time) b.desk.release();
    });
    e.thread("manager", [&b] {
      b.desk.wait_for_begun(1);
      b.desk.threads.stop();
      b.desk.release();
    });
    e.finally([&b, in_time] {
      // relaxed: all threads are at rest.
      const bool was_left = b.jobs[0].now.load(base::order::relaxed) == job::given_up;
      check(was_left || in_time, "it was not there in time");
      check(b.desk.gone_threads() >= (was_left ? 1 : 0), "who was left behind says so when it goes");
    });
  };
  for (const bool in_time : {false, true}) {
    const std::string name = in_time ? "crew_left_in_time" : "crew_left";
    expect_holds(exhaustive(name, 1), [&](execution& e) { body(e, in_time); });
    expect_holds(by_priority(name + " pct", 3'000), [&](execution& e) { body(e, in_time); });
  }
}

}  // namespace
}  // namespace rota::pool::detail
