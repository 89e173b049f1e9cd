// This pool is modelled on one that has nine state machines of flags. Each of their transitions has a row.
// It names the counterpart here (in a work's word, the crew's word, or a queue's lock) and its check.
#include "base/futex.hpp"
#include "pool/crew.hpp"
#include "pool/work_word.hpp"

#include <rota/pool/events.hpp>
#include <rota/pool/thread_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <string>
#include <string_view>
#include <thread>

namespace rota::pool::seed_machines_test {
namespace {

using namespace std::chrono_literals;
using namespace detail;
using enum work_status;

/// A client of a crew. put() adds jobs, each of which holds its thread until release().
class desk final : public crew_client {
 public:
  explicit desk(crew::limits how) : threads(*this, "seed", how) {}
  ~desk() { threads.stop(); }
  void put(unsigned n) {
    for (unsigned i = 0; i < n; ++i) {
      {
        const base::lock_guard guard(lock_);
        ++jobs_;
      }
      threads.attract();
    }
  }
  void wait_running(unsigned n) { wait(running, n); }
  void release() {
    held.store(0, base::order::release);
    base::futex_wake(&held, 1000);
  }
  void wait_ended(unsigned n) { wait(done, n); }
  /// Waits until exactly `n` threads exist and all of them sleep.
  void wait_idle(unsigned n) {
    for (auto c = threads.count(); c.idle != n || c.threads != n; c = threads.count()) base::yield_thread();
  }

  void* take(seat& /*here*/) noexcept override {
    const base::lock_guard guard(lock_);
    if (jobs_ == 0) return nullptr;
    --jobs_;
    return this;
  }
  on_run run(seat& here, void* job) noexcept override {
    here.job.store(job, base::order::relaxed);
    add(running);
    while (held.load(base::order::acquire) != 0) static_cast<void>(base::futex_wait(held, 1, base::never));
    here.job.store(nullptr, base::order::relaxed);
    add(done);
    return threads.is_lost(here) ? on_run::given_up : on_run::done;
  }
  bool has_work() noexcept override {
    const base::lock_guard guard(lock_);
    return jobs_ != 0;
  }
  void begins(seat& /*here*/) noexcept override {}
  void ends(seat& /*here*/) noexcept override {}
  void gone(void* /*job*/) noexcept override { add(left); }
  void missing() noexcept override {}

  base::atomic<std::uint32_t> running{0}, done{0}, left{0}, held{1};
  crew threads;

 private:
  static void add(base::atomic<std::uint32_t>& to) {
    to.fetch_add(1, base::order::acq_rel);
    base::futex_wake(&to, 1000);
  }
  static void wait(base::atomic<std::uint32_t>& on, unsigned n) {
    for (;;) {
      const std::uint32_t seen = on.load(base::order::acquire);
      if (seen >= n) return;
      static_cast<void>(base::futex_wait(on, seen, base::never));
    }
  }
  base::mutex lock_;
  unsigned jobs_ = 0;
};

word in(work_status s) { return word{2}.to(s); }

// ---- what is checked, by the name of ours -----------------------------------------------------------------

class ear final : public observer {
 public:
  void pool_started() override { said += 's'; }
  void pool_idle(const pool_span& /*span*/) override { said += 'i'; }
  std::string said;
};

/// count_in, count_out: only the first work in and the last work out notify the observers.
void outstanding_counts() {
  ear heard;
  thread_pool pool({.max_threads = 2});
  const auto told = pool.subscribe(heard);
  for (int round = 0; round < 2; ++round) {
    auto outer = pool.submit([&pool] { static_cast<void>(pool.submit([] {})); });
    pool.wait_idle();
    EXPECT_EQ(pool.stats().outstanding, 0U);
    outer.wait();
  }
  static_cast<void>(pool.shutdown(0ns));
  EXPECT_EQ(heard.said, "sisi");
}

/// call(): counts a new thread before it starts. A second caller sees that a thread is searching.
void call_is_single_flight() {
  desk d({0, 4, 10s});
  d.put(1);
  d.wait_running(1);
  EXPECT_EQ(d.threads.count().started, 1U);
  d.put(1);
  d.wait_running(2);
  EXPECT_EQ(d.threads.count().started, 2U) << "one for each that is needed";
  d.release();
  d.wait_ended(2);
  d.wait_idle(2);
}

/// uncount(): a leaving thread is uncounted before the lock is released, so that not too many leave.
void uncount_is_single_flight() {
  desk d({1, 3, 1ms});
  d.put(3);
  d.wait_running(3);
  d.release();
  d.wait_ended(3);
  d.wait_idle(1);
  EXPECT_EQ(d.threads.count().retired, 2U);
}

/// retire(): threads above the maximum leave at the end of their work or from sleep, and only those.
void retire_above_the_maximum() {
  desk d({0, 3, 10s});
  d.put(3);
  d.wait_running(3);
  d.threads.resize(0, 1);
  EXPECT_EQ(d.threads.count().threads, 3U) << "what runs is not disturbed";
  d.threads.resize(0, 2);
  d.release();
  d.wait_ended(3);
  d.wait_idle(2);
  EXPECT_EQ(d.threads.count().retired, 1U) << "looked at again under the lock";
  d.threads.resize(0, 1);
  d.wait_idle(1);
}

/// push_idle(), drop_idle(): a sleeping thread is in the list; the waking thread takes it out.
void idle_list() {
  desk d({1, 1, 10s});
  d.threads.fill();
  d.wait_idle(1);
  d.put(1);
  d.wait_running(1);
  EXPECT_EQ(d.threads.count().idle, 0U);
  EXPECT_EQ(d.threads.count().started, 1U) << "it was woken";
  d.release();
  d.wait_ended(1);
  d.wait_idle(1);
}

/// lose(): a thread is given up once, and leaves the count.
void lose_is_once() {
  desk d({0, 1, 10s});
  d.put(1);
  d.wait_running(1);
  const auto yes = [](void*) noexcept { return true; };
  EXPECT_EQ(d.threads.lose(&d, 1, yes), crew::on_lose::lost);
  EXPECT_NE(d.threads.lose(&d, 1, yes), crew::on_lose::lost);
  EXPECT_EQ(d.threads.count().threads, 0U);
  d.release();
  while (d.left.load(base::order::acquire) == 0) base::yield_thread();
}

/// enter_region(), leave_region(): another thread helps while this one blocks.
void regions_bring_a_helper() {
  desk d({0, 1, 10s});
  d.put(2);
  d.wait_running(1);
  d.threads.add_extra();
  d.wait_running(2);
  d.threads.remove_extra();
  d.release();
  d.wait_ended(2);
  d.wait_idle(1);
}

/// stop(): ends the crew once, and waits for all threads.
void stop_ends_all() {
  desk d({2, 2, 10s});
  d.threads.fill();
  d.threads.stop();
  EXPECT_EQ(d.threads.count().threads, 0U);
  d.threads.attract();
  EXPECT_EQ(d.threads.count().started, 2U) << "none is started any more";
}

/// claim() and take_back(): one step of the word decides whether the runner or the canceller owns a work.
void one_owner() {
  EXPECT_TRUE(rule::claim(in(queued)).applies);
  EXPECT_FALSE(rule::take_back(rule::claim(in(queued)).next, cancelled, 0).applies);
  EXPECT_FALSE(rule::claim(rule::take_back(in(queued), cancelled, 0).next).applies);
}

/// ask() does not take ownership of a work. end(): one step decides whether the runner or the grace ends it.
void ask_and_end() {
  const word asked = rule::ask(in(running), stop_asked | force_asked).next;
  EXPECT_TRUE(asked.is(running));
  EXPECT_FALSE(rule::ask(in(queued), stop_asked).applies) << "what does not run is cancelled";
  EXPECT_FALSE(rule::end(rule::end(asked, abandoned).next, force_stopped).applies);
}

/// The thief takes works out under the queue's lock while the owner runs. The owner blocks until all of them
/// have run, and does not tell the pool: without stealing this is a deadlock.
void stealing_takes_works_out_of_the_queue_of_a_running_thread() {
  constexpr int works = 10;
  thread_pool pool({.min_threads = 2, .max_threads = 2});
  std::latch left(works);
  std::atomic<int> ran_by_owner{0};
  auto owner = pool.submit([&] {
    const auto me = std::this_thread::get_id();
    const auto count = [&, me] {
      if (std::this_thread::get_id() == me) ++ran_by_owner;
      left.count_down();
    };
    for (int i = 0; i < works; ++i) pool.submit(count, {.where = placement::local});
    left.wait();
  });
  owner.wait();
  EXPECT_EQ(ran_by_owner.load(), 0);
  EXPECT_GE(pool.stats().stolen, static_cast<std::uint64_t>(works)) << "and perhaps the owner itself";
}

/// The same lock, with a helper outside of the pool. The only thread runs the work that the helper waits for.
/// That work ends only after a work that is queued behind it has run.
void helping_takes_works_out_of_the_queue_of_a_running_thread() {
  thread_pool pool({.max_threads = 1});
  std::latch inside(1);
  std::latch over(1);
  auto target = pool.submit([&] {
    inside.count_down();
    over.wait();
  });
  inside.wait();
  std::thread::id ran_on;
  auto queued = pool.submit([&] {
    ran_on = std::this_thread::get_id();
    over.count_down();
  });
  target.wait(help);
  queued.wait();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

struct row {
  std::string_view machine;
  std::string_view trigger;
  std::string_view change;
  std::string_view if_it_fails;  // in the other pool
  std::string_view needs;        // in the other pool
  std::string_view ours;
  void (*check)();  // null: no counterpart here; `ours` says why
};

constexpr std::string_view skip = "skip";
constexpr std::array rows{
    // ---- the pool
    row{"PoolState", "idle told, all cleaned up", "not_running", "", "", "count_out", outstanding_counts},
    row{"PoolState", "nothing runs or waits", "idle_checked", skip, "", "count_out", outstanding_counts},
    row{"PoolState", "enqueue while not running", "running", skip, "", "count_in", outstanding_counts},
    row{"CanCreateNewWorker", "about to create", "not_allowed", skip, "", "call", call_is_single_flight},
    row{"CanCreateNewWorker", "created", "allowed", "", "", "found", call_is_single_flight},
    row{"CanDeleteRedundantWorker",
        "about to destroy",
        "not_allowed",
        skip,
        "",
        "uncount",
        uncount_is_single_flight},
    row{"CanDeleteRedundantWorker", "destroyed", "allowed", "", "", "uncount", uncount_is_single_flight},
    row{"CanDeleteRedundantWorker",
        "not needed after all",
        "allowed",
        "",
        "",
        "retire",
        retire_above_the_maximum},
    // ---- a worker
    row{"WorkerState", "a work is enqueued", "running", "no matter", "", "call", idle_list},
    row{"WorkerState",
        "natural end",
        "to_be_disposed",
        "restore",
        "CanGetWork=disabled",
        "uncount",
        uncount_is_single_flight},
    row{"WorkerState",
        "above the limit",
        "to_be_disposed",
        "",
        "deleting, disabled",
        "retire",
        retire_above_the_maximum},
    row{"WorkerState", "goes idle", "idle", "", "CanGetWork=to_be_disabled", "push_idle", idle_list},
    row{"WorkerState", "helper created", "running", "", "", "add_extra", regions_bring_a_helper},
    row{"WorkerState", "helper finished", "idle", "", "", "remove_extra", regions_bring_a_helper},
    row{"WorkerState", "forced stop begins", "to_be_disposed", "", "", "lose", lose_is_once},
    row{"CanDispose", "dispose", "not_allowed", skip, "", "stop", stop_ends_all},
    row{"CanForceStop", "about to force", "not_allowed", "report", "", "ask", ask_and_end},
    row{"CanForceStop", "it does not run", "allowed", "", "", "take_back", ask_and_end},
    // ---- may it get work? Here works go to queues, and threads take them from there
    row{"CanGetWork",
        "created for want of workers",
        "allowed",
        "",
        "",
        "start_thread",
        call_is_single_flight},
    row{"CanGetWork", "to be woken from idle", "not_allowed", "put it back", "", "drop_idle", idle_list},
    row{"CanGetWork",
        "a running one is to take a work",
        "not_allowed",
        skip,
        "",
        "none: a queue has a lock",
        stealing_takes_works_out_of_the_queue_of_a_running_thread},
    row{"CanGetWork",
        "a better one was found",
        "allowed",
        "",
        "",
        "none: nobody is held while one is chosen",
        nullptr},
    row{"CanGetWork", "forced stop", "disabled", "", "", "lose", lose_is_once},
    row{"CanGetWork", "above the limit", "disabled", skip, "deleting", "retire", retire_above_the_maximum},
    row{"CanGetWork", "not needed after all", "allowed", "", "", "retire", retire_above_the_maximum},
    row{"CanGetWork",
        "a work was enqueued",
        "allowed",
        "",
        "",
        "none: a queue has a lock",
        stealing_takes_works_out_of_the_queue_of_a_running_thread},
    row{"CanGetWork", "about to idle", "to_be_disabled", skip, "", "sleep", idle_list},
    row{"CanGetWork",
        "found a work on the way to idle",
        "allowed",
        "development only",
        "",
        "rouse",
        idle_list},
    row{"CanGetWork",
        "idle, no keep-alive",
        "disabled",
        "development only",
        "",
        "depart",
        uncount_is_single_flight},
    row{"CanGetWork", "idle, with keep-alive", "allowed", "development only", "", "push_idle", idle_list},
    row{"CanGetWork", "natural end", "disabled", "spin", "", "uncount", uncount_is_single_flight},
    row{"CanGetWork",
        "natural end failed, it runs again",
        "allowed",
        "development only",
        "",
        "drop_idle",
        idle_list},
    // ---- stealing from it, holding its work: no user code runs meanwhile, one step of the word decides
    row{"WorkStealability",
        "help: about to steal",
        "not_allowed",
        skip,
        "",
        "none: a queue has a lock",
        helping_takes_works_out_of_the_queue_of_a_running_thread},
    row{"WorkStealability",
        "help: stolen",
        "allowed",
        "",
        "",
        "none: a queue has a lock",
        helping_takes_works_out_of_the_queue_of_a_running_thread},
    row{"WorkStealability",
        "about to steal",
        "not_allowed",
        skip,
        "",
        "none: a queue has a lock",
        stealing_takes_works_out_of_the_queue_of_a_running_thread},
    row{"WorkStealability",
        "a better one was found",
        "allowed",
        "",
        "",
        "none: nobody is held while one is chosen",
        nullptr},
    row{"WorkStealability",
        "stolen",
        "allowed",
        "",
        "",
        "none: a queue has a lock",
        stealing_takes_works_out_of_the_queue_of_a_running_thread},
    row{"WorkStealability",
        "frozen for a stop or a cancel",
        "not_allowed",
        "spin",
        "",
        "take_back",
        one_owner},
    row{"WorkStealability", "no longer frozen", "allowed", "", "", "take_back", one_owner},
    row{"WorkHeldState",
        "frozen for a stop or a cancel",
        "held",
        "spin",
        "not stealable",
        "take_back",
        one_owner},
    row{"WorkHeldState", "no longer frozen", "not_held", "", "", "claim", one_owner},
};

TEST(reference_state_machines, each_transition_has_a_counterpart_that_passes_its_check) {
  for (const row& each : rows) {
    SCOPED_TRACE(std::string(each.machine) + ": " + std::string(each.trigger) + " -> " +
                 std::string(each.change));
    EXPECT_FALSE(each.ours.empty());
    EXPECT_EQ(each.check == nullptr, each.ours == "none: nobody is held while one is chosen");
    if (each.check != nullptr) each.check();
  }
}

TEST(reference_state_machines, all_nine_machines_are_in_the_table) {
  constexpr std::array<std::pair<std::string_view, int>, 9> documented{{{"PoolState", 3},
                                                                        {"CanCreateNewWorker", 2},
                                                                        {"CanDeleteRedundantWorker", 3},
                                                                        {"WorkerState", 7},
                                                                        {"CanDispose", 1},
                                                                        {"CanForceStop", 2},
                                                                        {"CanGetWork", 14},
                                                                        {"WorkStealability", 7},
                                                                        {"WorkHeldState", 2}}};
  for (const auto& [machine, count] : documented) {
    int found = 0;
    for (const row& each : rows) found += each.machine == machine ? 1 : 0;
    EXPECT_EQ(found, count) << machine;
  }
}

}  // namespace
}  // namespace rota::pool::seed_machines_test
