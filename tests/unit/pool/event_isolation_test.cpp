// One observer throws in one of its handlers: the other observers receive all their events; the pool goes on.
#include "unit/pool/pool_support.hpp"

#include <array>
#include <map>

namespace event_isolation_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

enum class event : unsigned char {
  pool_started,
  pool_idle,
  running_changed,
  work_started,
  work_ended,
  work_stopped,
  work_cancelled,
  work_timed_out,
  pool_timed_out,
  work_rejected,
  work_discarded,
  work_abandoned,
  error,
};
constexpr std::array names{"pool_started",
                           "pool_idle",
                           "running_changed",
                           "work_started",
                           "work_ended",
                           "work_stopped",
                           "work_cancelled",
                           "work_timed_out",
                           "pool_timed_out",
                           "work_rejected",
                           "work_discarded",
                           "work_abandoned",
                           "error"};
constexpr std::array places{error_from::pool_started,
                            error_from::pool_idle,
                            error_from::running_changed,
                            error_from::work_started,
                            error_from::work_ended,
                            error_from::work_stopped,
                            error_from::work_cancelled,
                            error_from::work_timed_out,
                            error_from::pool_timed_out,
                            error_from::work_rejected,
                            error_from::work_discarded,
                            error_from::work_abandoned};
constexpr auto kinds = names.size();
constexpr std::size_t at(event which) { return static_cast<std::size_t>(which); }

/// Counts its events, and throws in one of its handlers.
class listening final : public observer {
 public:
  static constexpr auto never = static_cast<event>(kinds);
  explicit listening(thread_pool& p, event bad = never) : bad_(bad), heard_(p.subscribe(*this)) {}

  void pool_started() override { hear(event::pool_started); }
  void pool_idle(const pool_span& /*span*/) override { hear(event::pool_idle); }
  void running_changed(unsigned /*before*/, unsigned /*now*/) override { hear(event::running_changed); }
  void work_started(work_id /*id*/) override { hear(event::work_started); }
  void work_ended(const work_end& /*end*/) override { hear(event::work_ended); }
  void work_stopped(const work_end& /*end*/) override { hear(event::work_stopped); }
  void work_cancelled(const work_end& /*end*/) override { hear(event::work_cancelled); }
  void work_timed_out(work_id /*id*/) override { hear(event::work_timed_out); }
  void pool_timed_out() override { hear(event::pool_timed_out); }
  void work_rejected(work_id /*id*/, rejection /*how*/) override { hear(event::work_rejected); }
  void work_discarded(const work_end& /*end*/) override { hear(event::work_discarded); }
  void work_abandoned(const work_end& /*end*/) override { hear(event::work_abandoned); }
  void error(const pool_error& what) override {
    if (what.from == error_from::work) return hear(event::error);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (what.from == places[i]) ++thrown_[i];
    }
  }

  [[nodiscard]] int heard(event which) const { return heard_of_[at(which)]; }
  /// Returns how often error() reported that a handler of this event threw.
  [[nodiscard]] int thrown(event which) const { return thrown_[at(which)]; }

 private:
  void hear(event which) {
    ++heard_of_[at(which)];
    if (which == bad_) throw std::runtime_error("a handler");
  }

  std::array<std::atomic<int>, kinds> heard_of_{};
  std::array<std::atomic<int>, kinds> thrown_{};
  event bad_;
  subscription heard_;
};

/// Causes each event at least once, each but one a known number of times. Returns how each work ended.
std::vector<work_status> scene(thread_pool& p, const listening& witness, gate& lost) {
  std::vector<work<void>> all;
  gate open;
  all.push_back(p.submit([&] { open.pass(); }, {.timeout = {1ns, on_timeout::notify}}));
  until(all[0], work_status::running);
  until([&] { return witness.heard(event::work_timed_out) == 1; });
  until([&] { return witness.heard(event::pool_timed_out) == 1; });
  all.push_back(p.submit([] {}));
  all[1].cancel();
  all.push_back(p.submit([] { throw std::logic_error("a work"); }));
  all.push_back(p.submit([] {}));  // rejected: the queue is full
  open.open();
  p.wait_idle();
  all.push_back(p.submit([] { this_work::sleep_for(1h); }));
  until(all[4], work_status::running);
  all[4].stop();
  p.wait_idle();
  std::atomic<bool> inside{false};
  all.push_back(p.submit([&] {
    inside = true;
    lost.pass();
  }));
  until([&] { return inside.load(); });  // its events come before
  all[5].force_stop();
  p.wait_idle();
  // The lost thread has raised the number of running works and has not lowered it.
  until(
      [&] { return witness.heard(event::pool_idle) == 3 && witness.heard(event::running_changed) % 2 == 1; });
  std::vector<work_status> how;
  for (const auto& each : all) how.push_back(each.status());
  return how;
}

class event_isolation : public ::testing::TestWithParam<event> {};

TEST_P(event_isolation, a_handler_that_throws_does_not_affect_other_observers) {
  const event bad = GetParam();
  gate lost;
  thread_pool p({.max_threads = 1,
                 .queue_limit = 1,
                 .on_full = rejection::discard_newest,
                 .total_timeout = {1ns, on_timeout::notify},
                 .force_grace = 0ns});
  const listening before(p);
  const listening thrower(p, bad);
  const listening after(p);
  const std::vector<work_status> how = scene(p, after, lost);
  EXPECT_EQ(how,
            (std::vector{work_status::succeeded,
                         work_status::cancelled,
                         work_status::failed,
                         work_status::discarded,
                         work_status::stopped,
                         work_status::abandoned}));

  const std::map<event, int> told{{event::work_started, 4},
                                  {event::work_ended, 2},
                                  {event::work_stopped, 1},
                                  {event::work_cancelled, 1},
                                  {event::work_timed_out, 1},
                                  {event::work_rejected, 1},
                                  {event::work_discarded, 1},
                                  {event::work_abandoned, 1},
                                  {event::error, 1},
                                  {event::pool_started, 3},
                                  {event::pool_idle, 3}};
  for (const listening* each : {&before, &after}) {
    for (const auto& [which, count] : told) EXPECT_EQ(each->heard(which), count) << names[at(which)];
    EXPECT_GE(each->heard(event::pool_timed_out), 1);
    EXPECT_EQ(each->heard(event::running_changed), thrower.heard(event::running_changed));
  }
  // error() tells all observers, the throwing one included. A failure of error() itself is only counted.
  if (bad == event::error) {
    EXPECT_EQ(p.stats().handler_failures, 1U);
  } else {
    EXPECT_GE(thrower.heard(bad), 1);
    for (const listening* each : {&before, &thrower, &after}) {
      until([&] { return each->thrown(bad) == thrower.heard(bad); });
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (i == at(bad)) continue;
        EXPECT_EQ(each->thrown(static_cast<event>(i)), 0) << names[i];
      }
    }
    EXPECT_EQ(p.stats().handler_failures, 0U);
  }

  lost.open();
  until([&] { return p.stats().abandoned == 0; });  // its thread uses locals of this frame
  EXPECT_EQ(p.submit([] { return 42; }).fetch().value(), 42);
  expect_idle(p);
}

std::vector<event> all_events() {
  std::vector<event> all;
  for (std::size_t i = 0; i < kinds; ++i) all.push_back(static_cast<event>(i));
  return all;
}
std::string name_of(const ::testing::TestParamInfo<event>& which) { return names[at(which.param)]; }
INSTANTIATE_TEST_SUITE_P(of_each, event_isolation, ::testing::ValuesIn(all_events()), name_of);

TEST(error_events, report_exceptions_of_callbacks_hooks_and_filters) {
  std::vector<error_from> told;
  {
    thread_pool p(
        {.max_threads = 1,
         .queue_limit = 1,
         .on_full = rejection::custom,
         .on_thread_start = [](unsigned) { throw std::runtime_error("a hook"); },
         .choose_rejection = [](int, std::size_t) -> rejection { throw std::runtime_error("both"); },
         .default_callback = [](const work_end&) { throw std::runtime_error("the pool's"); }});
    const recorder heard(p);
    EXPECT_EQ(p.submit([] { return 1; }).fetch().value(), 1);
    auto own =
        p.submit([] { return 2; }, {.callback = [](const work_end&) { throw std::runtime_error("its"); }});
    EXPECT_EQ(own.fetch().value(), 2);
    auto again = p.submit([] { throw std::logic_error("a work"); },
                          {.retry = {.limit = 9, .only_if = [](const std::exception_ptr&) -> bool {
                                       throw std::runtime_error("a filter");
                                     }}});
    EXPECT_TRUE(again.fetch().has_exception());
    {
      blocker busy(p);
      auto queued = p.submit([] {});
      EXPECT_THROW(p.submit([] {}), error) << "a choice that throws is abort";
      busy.let_go();
      queued.wait();
    }
    p.wait_idle();
    told = heard.errors();
  }
  const auto count = [&](error_from from) { return std::count(told.begin(), told.end(), from); };
  EXPECT_EQ(count(error_from::thread_hook), 1);
  EXPECT_EQ(count(error_from::callback), 1);
  EXPECT_EQ(count(error_from::default_callback), 4);
  EXPECT_EQ(count(error_from::retry_filter), 1);
  EXPECT_EQ(count(error_from::rejection_choice), 1);
  EXPECT_EQ(count(error_from::work), 1);
}

/// Records the changes of the number of running works: they form one chain.
class chain final : public observer {
 public:
  explicit chain(thread_pool& p) : heard_(p.subscribe(*this)) {}
  void running_changed(unsigned before, unsigned now) override {
    const std::lock_guard guard(lock_);
    steps_.emplace_back(before, now);
  }
  [[nodiscard]] std::vector<std::pair<unsigned, unsigned>> steps() const {
    const std::lock_guard guard(lock_);
    return steps_;
  }

 private:
  mutable std::mutex lock_;
  std::vector<std::pair<unsigned, unsigned>> steps_;
  subscription heard_;
};

TEST(running_changed, tells_how_many_threads_run_works) {
  using steps = std::vector<std::pair<unsigned, unsigned>>;
  thread_pool p({.max_threads = 2});
  const chain seen(p);
  {
    const blocker one(p);
    until([&] { return seen.steps().size() == 1; });
    blocker two(p);
    until([&] { return seen.steps().size() == 2; });
    EXPECT_EQ(seen.steps(), (steps{{0, 1}, {1, 2}}));
    auto here = p.submit([] {});
    here.wait(help);  // runs it on this thread, which is not in the pool
    EXPECT_EQ(seen.steps(), (steps{{0, 1}, {1, 2}, {2, 3}, {3, 2}}));
    two.let_go();
    until([&] { return seen.steps().size() == 5; });
    EXPECT_EQ(seen.steps().back(), (std::pair{2U, 1U}));
  }
  until([&] { return seen.steps().size() == 6; });
  EXPECT_EQ(seen.steps().back(), (std::pair{1U, 0U}));
}

TEST(running_changed, is_reported_once_for_a_thread_that_runs_jobs_in_a_row) {
  thread_pool p({.max_threads = 1});
  const chain seen(p);
  {
    const blocker busy(p);
    p.submit_bulk(20, [](std::size_t) {}, {});
  }
  expect_idle(p);
  until([&] { return seen.steps().back() == std::pair{1U, 0U}; });
  EXPECT_EQ(seen.steps().size(), 2U);
}

}  // namespace
}  // namespace event_isolation_test
