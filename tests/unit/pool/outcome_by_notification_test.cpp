// How a work ends, and what is told: docs/pool.md, table B. One test per row checks each cell: the status,
// the events in their order, the callback, the waiter, the successor, the stored result, and the count.
#include "unit/pool/outcome_scene.hpp"

#include <rota/error.hpp>
#include <rota/pool/work.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace outcome_by_notification_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

using status = work_status;

enum class successor : unsigned char { runs, fails, cancelled };
enum class kind : unsigned char { value, exception, cancelled };

struct row {
  const char* name;
  std::function<void(scene&)> play;
  status end;
  std::vector<const char*> told;
  kind outcome;
  cancel_reason why;
  successor next;
  std::uint64_t pool_stats::* counted;
  std::uint64_t of_that_kind = 1;  // works that are counted, also the successor and others of the row
};

int seven() { return 7; }
int sleep_long() {
  this_work::sleep_for(1h);
  return 0;
}
int fail() { throw std::runtime_error("it failed"); }
int fail_once() { return this_work::attempt() == 0 ? fail() : 7; }
void await_stop() {
  until([] { return this_work::stop_requested(); });
}
int stop_when_asked() {
  await_stop();
  this_work::stop_if_requested();
  return 0;
}
int return_when_asked() {
  await_stop();
  return 7;
}
int refuse_to_stop() {
  await_stop();
  this_work::stop_if_requested([] { return false; });
  return this_work::stop_requested() ? 0 : 7;
}

void plain(scene& s, int (*body)(), const work_options& how = {}) {
  s.open({.max_threads = 1});
  s.submit(body, how);
}
void asked(scene& s, int (*body)()) {
  plain(s, body);
  s.await_begun();
  EXPECT_TRUE(s.w.stop());
}
void while_blocked(scene& s, const std::function<void(work_id first)>& then) {
  s.open({.max_threads = 1});
  const work_id first = s.p->reserve();
  s.submit(seven, {.after = {first}});
  EXPECT_EQ(s.w.status(), status::blocked);
  then(first);
}
void with_a_full_queue(scene& s, rejection how) {
  s.open({.max_threads = 1, .queue_limit = 1, .on_full = how});
  s.occupy();
}

constexpr auto none = cancel_reason::none;
constexpr auto user = cancel_reason::user;
constexpr auto timeout = cancel_reason::timeout;
constexpr auto shutdown = cancel_reason::shutdown;

std::vector<row> rows_of_runs() {
  using enum successor;
  const std::vector<const char*> one = {"started", "ended", "callback"};
  const std::vector<const char*> two = {"started", "ended+", "callback+", "started", "ended", "callback"};
  return {
      {"returned",
       [](scene& s) { plain(s, seven); },
       status::succeeded,
       one,
       kind::value,
       none,
       runs,
       &pool_stats::succeeded,
       2},
      {"threw",
       [](scene& s) { plain(s, fail); },
       status::failed,
       one,
       kind::exception,
       none,
       fails,
       &pool_stats::failed,
       2},
      {"threw_with_an_attempt_left",
       [](scene& s) { plain(s, fail_once, {.retry = {.limit = 1}}); },
       status::succeeded,
       two,
       kind::value,
       none,
       runs,
       &pool_stats::succeeded,
       2},
      {"threw_and_was_requeued",
       [](scene& s) { plain(s, fail_once, {.retry = {.limit = 1, .where = retry_where::requeued}}); },
       status::succeeded,
       two,
       kind::value,
       none,
       runs,
       &pool_stats::succeeded,
       2},
      {"threw_in_its_last_attempt",
       [](scene& s) { plain(s, fail, {.retry = {.limit = 1}}); },
       status::failed,
       two,
       kind::exception,
       none,
       fails,
       &pool_stats::failed,
       2},
      {"stop_if_requested",
       [](scene& s) { asked(s, stop_when_asked); },
       status::stopped,
       {"started", "stopped", "callback"},
       kind::cancelled,
       user,
       fails,
       &pool_stats::stopped},
      {"looked_and_returned",
       [](scene& s) { asked(s, return_when_asked); },
       status::succeeded,
       one,
       kind::value,
       none,
       runs,
       &pool_stats::succeeded,
       2},
      {"refused_to_stop",
       [](scene& s) { asked(s, refuse_to_stop); },
       status::succeeded,
       one,
       kind::value,
       none,
       runs,
       &pool_stats::succeeded,
       2},
      {"timeout_that_tells",
       [](scene& s) {
         s.open({.max_threads = 1});
         s.submit(
             [&s] {
               until([&s] { return !s.heard->named("timed out").empty(); });
               return 7;
             },
             {.timeout = {50ms, on_timeout::notify}});
       },
       status::succeeded,
       {"started", "timed out", "ended", "callback"},
       kind::value,
       none,
       runs,
       &pool_stats::succeeded,
       2},
      {"timeout_that_stops",
       [](scene& s) { plain(s, sleep_long, {.timeout = {50ms}}); },
       status::stopped,
       {"started", "timed out", "stopped", "callback"},
       kind::cancelled,
       timeout,
       fails,
       &pool_stats::stopped},
      {"timeout_that_forces",
       [](scene& s) { plain(s, sleep_long, {.timeout = {50ms, on_timeout::force_stop}}); },
       status::force_stopped,
       {"started", "timed out", "stopped", "callback"},
       kind::cancelled,
       timeout,
       fails,
       &pool_stats::force_stopped},
      {"force_stopped",
       [](scene& s) {
         plain(s, sleep_long);
         s.await_begun();
         EXPECT_TRUE(s.w.force_stop());
       },
       status::force_stopped,
       {"started", "stopped", "callback"},
       kind::cancelled,
       user,
       fails,
       &pool_stats::force_stopped},
      {"abandoned",
       [](scene& s) {
         s.open({.max_threads = 1, .force_grace = 1ms});
         s.submit_stubborn();
         EXPECT_TRUE(s.w.force_stop());
       },
       status::abandoned,
       {"started", "abandoned", "callback"},
       kind::cancelled,
       user,
       fails,
       &pool_stats::abandoned_works},
      {"pool_shut_down_while_it_ran",
       [](scene& s) {
         plain(s, stop_when_asked);
         s.await_begun();
         static_cast<void>(s.p->shutdown(1h));
       },
       status::stopped,
       {"started", "stopped", "callback"},
       kind::cancelled,
       shutdown,
       successor::cancelled,
       &pool_stats::stopped},
  };
}

std::vector<row> rows_of_others() {
  const std::vector<const char*> taken_back = {"cancelled", "callback"};
  using enum successor;
  return {
      {"cancelled_in_a_queue",
       [](scene& s) {
         s.open({.max_threads = 1});
         s.occupy();
         s.submit(seven);
         EXPECT_TRUE(s.w.cancel());
       },
       status::cancelled,
       taken_back,
       kind::cancelled,
       user,
       fails,
       &pool_stats::cancelled},
      {"stopped_in_a_queue",
       [](scene& s) {
         s.open({.max_threads = 1});
         s.occupy();
         s.submit(seven);
         EXPECT_TRUE(s.w.stop());
       },
       status::cancelled,
       taken_back,
       kind::cancelled,
       user,
       fails,
       &pool_stats::cancelled},
      {"cancelled_while_blocked",
       [](scene& s) { while_blocked(s, [&](work_id) { EXPECT_TRUE(s.w.cancel()); }); },
       status::cancelled,
       taken_back,
       kind::cancelled,
       user,
       fails,
       &pool_stats::cancelled},
      {"cancelled_before_the_start",
       [](scene& s) {
         s.open({.max_threads = 1, .start = start_mode::suspended});
         s.submit(seven);
         EXPECT_TRUE(s.w.cancel());
         s.p->start();
       },
       status::cancelled,
       taken_back,
       kind::cancelled,
       user,
       fails,
       &pool_stats::cancelled},
      {"cancelled_while_it_backs_off",
       [](scene& s) {
         plain(s,
               fail,
               {.retry = {.limit = 1, .backoff = 1h, .max_backoff = 1h, .where = retry_where::requeued}});
         until(s.w, status::suspended);
         EXPECT_TRUE(s.w.cancel());
       },
       status::cancelled,
       {"started", "ended+", "callback+", "cancelled", "callback"},
       kind::cancelled,
       user,
       fails,
       &pool_stats::cancelled},
      {"stopped_while_it_backs_off_on_its_thread",
       [](scene& s) {
         plain(s, fail, {.retry = {.limit = 1, .backoff = 1h, .max_backoff = 1h}});
         until([&] { return !s.heard->named("callback").empty(); });
         EXPECT_TRUE(s.w.stop());
       },
       status::failed,
       {"started", "ended+", "callback+", "ended", "callback"},
       kind::exception,
       none,
       fails,
       &pool_stats::failed,
       2},
      {"timeout_in_the_queue",
       [](scene& s) {
         s.open({.max_threads = 1});
         s.occupy();
         s.submit(seven, {.timeout = {1ms, on_timeout::stop, timeout_from::submit}});
       },
       status::cancelled,
       {"timed out", "cancelled", "callback"},
       kind::cancelled,
       timeout,
       fails,
       &pool_stats::cancelled},
      {"discarded_as_the_newest",
       [](scene& s) {
         with_a_full_queue(s, rejection::discard_newest);
         static_cast<void>(s.p->submit([] {}));
         s.submit(seven);
         s.let_go();
       },
       status::discarded,
       {"rejected", "discarded", "callback"},
       kind::cancelled,
       user,
       fails,
       &pool_stats::discarded},
      {"discarded_for_another",
       [](scene& s) {
         with_a_full_queue(s, rejection::discard_queued);
         s.submit(seven);
         static_cast<void>(s.p->submit([] {}));
         s.let_go();
       },
       status::discarded,
       {"discarded", "callback"},
       kind::cancelled,
       user,
       fails,
       &pool_stats::discarded},
      {"dependency_failed",
       [](scene& s) {
         while_blocked(s, [&](work_id first) { static_cast<void>(s.p->submit(fail, {.id = first})); });
       },
       status::failed,
       {"ended", "callback"},
       kind::exception,
       none,
       fails,
       &pool_stats::failed,
       3},
      {"pool_shut_down_while_it_waited",
       [](scene& s) {
         s.open({.max_threads = 1, .start = start_mode::suspended});
         s.submit(seven);
         static_cast<void>(s.p->shutdown(1h));
       },
       status::cancelled,
       taken_back,
       kind::cancelled,
       shutdown,
       successor::cancelled,
       &pool_stats::cancelled,
       2},
  };
}

std::vector<std::string> all_told(const recorder& heard, work_id id) {
  std::vector<std::string> names;
  for (const told& each : heard.of(id)) names.push_back(each.what + (each.will_retry ? "+" : ""));
  return names;
}

kind kind_of(const outcome<int>& o) {
  if (o.has_value()) return kind::value;
  return o.has_exception() ? kind::exception : kind::cancelled;
}

class outcome_by_notification : public ::testing::TestWithParam<row> {};

TEST_P(outcome_by_notification, is_as_the_table_says) {
  const row& expected = GetParam();
  scene s;
  expected.play(s);
  s.join();
  EXPECT_TRUE(s.woken);
  EXPECT_EQ(s.w.status(), expected.end);
  const std::vector<std::string> told_of(expected.told.begin(), expected.told.end());
  EXPECT_EQ(all_told(*s.heard, s.w.id()), told_of) << "all of it before whoever waits goes on";
  EXPECT_EQ(s.heard->ends_of(s.w.id()).size(), 1U);
  EXPECT_EQ(s.heard->callbacks_of(s.w.id()), 1U);

  s.next.wait();
  const status after = s.next.status();
  if (expected.next == successor::runs) {
    EXPECT_EQ(after, status::succeeded);
  }
  if (expected.next == successor::fails) {
    EXPECT_EQ(after, status::failed);
    EXPECT_THROW(s.next.fetch().value(), dependency_failed);
  }
  if (expected.next == successor::cancelled) {
    EXPECT_TRUE(after == status::cancelled || after == status::failed);
  }
  EXPECT_EQ(s.heard->ends_of(s.next.id()).size(), 1U);

  // The stored outcome is that of the handle. The pool's end destroys all stored outcomes.
  const bool ended = expected.why == shutdown;
  const std::optional<outcome<int>> stored = s.p->fetch<int>(s.w.id());
  EXPECT_EQ(stored.has_value(), !ended);
  const outcome<int> got = stored.has_value() ? *stored : s.w.fetch();
  EXPECT_EQ(kind_of(got), expected.outcome);
  EXPECT_EQ(got.reason(), expected.why);
  if (got.has_value()) {
    EXPECT_EQ(got.value(), 7);
  }
  EXPECT_FALSE(s.p->fetch<int>(s.w.id()).has_value());
  if (expected.outcome != kind::cancelled) {
    EXPECT_THROW(static_cast<void>(s.w.fetch()), error);
  }

  s.let_go_if_occupied();
  s.p->wait_idle();
  const std::uint64_t pool_stats::* const counter = expected.counted;
  if (!ended) {
    EXPECT_EQ(s.p->stats().*counter, expected.of_that_kind);
  }
  const pool_stats now = s.p->stats();
  EXPECT_EQ(now.outstanding, 0U);
  EXPECT_EQ(now.waiting, 0U);
}

std::string name_of(const ::testing::TestParamInfo<row>& each) { return each.param.name; }
INSTANTIATE_TEST_SUITE_P(runs, outcome_by_notification, ::testing::ValuesIn(rows_of_runs()), name_of);
INSTANTIATE_TEST_SUITE_P(others, outcome_by_notification, ::testing::ValuesIn(rows_of_others()), name_of);

}  // namespace
}  // namespace outcome_by_notification_test
