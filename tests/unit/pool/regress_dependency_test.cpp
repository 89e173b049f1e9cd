// Dependent works: each is released exactly once, however and whenever its predecessors end.
#include "pool/failure_texts.hpp"
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>

#include <string>

namespace regress_dependency_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

int fail() { throw std::runtime_error("it failed"); }

// A work runs although its predecessor ends while the work is registered, with a stored result or without.
TEST(regress_dependency, job_runs_when_registered_while_its_predecessor_ends) {
  thread_pool p({.max_threads = 2});
  for (int i = 0; i < 20'000; ++i) {
    auto a = p.submit([i] {
      if (i % 4 == 3) throw std::runtime_error("no");
    });
    const work_id id = a.id();
    if (i % 2 == 0) a = {};
    auto b = p.submit([] {}, {.after = {id}});
    b.wait();
    ASSERT_EQ(b.status(), i % 4 == 3 ? work_status::failed : work_status::succeeded);
  }
  expect_idle(p);
}

TEST(regress_dependency, predecessor_may_have_ended_long_ago_without_a_stored_result) {
  thread_pool p({.max_threads = 1});
  std::vector<work_id> done;
  std::vector<work_id> failed;
  for (int i = 0; i < 100; ++i) {
    done.push_back(p + [] {});
    failed.push_back(p + [] { fail(); });
  }
  p.wait_idle();
  EXPECT_EQ(p.submit([] { return 1; }, {.after = done}).fetch().value(), 1);
  auto w = p.submit([] {}, {.after = {done[0], failed[7]}});
  try {
    w.fetch().value();
    ADD_FAILURE();
  } catch (const dependency_failed& e) {
    EXPECT_EQ(e.root(), failed[7]);
  }
}

TEST(regress_dependency, first_failed_job_is_reported_as_root_long_afterwards) {
  thread_pool p({.max_threads = 1});
  const work_id first = p.submit([] { fail(); }).id();
  const work_id second = p.submit([] {}, {.after = {first}}).id();
  p.wait_idle();
  for (int i = 0; i < 200; ++i) p | [] {};
  p.wait_idle();
  EXPECT_EQ(p.status(second), work_status::created) << "its memory is another one's";
  auto w = p.submit([] {}, {.after = {second}});
  try {
    w.fetch().value();
    ADD_FAILURE();
  } catch (const dependency_failed& e) {
    EXPECT_EQ(e.root(), first);
  }
}

TEST(regress_dependency, works_of_another_pool_are_refused) {
  thread_pool p({.max_threads = 1});
  thread_pool other({.max_threads = 1});
  const work<int> w = p.submit([] { return 1; });
  const work<int> theirs = other.submit([] { return 2; });
  EXPECT_THROW(static_cast<void>(p.submit_when(
                   {}, [](int a, int b) { return a + b; }, w, theirs)),
               std::invalid_argument);
  EXPECT_EQ(p.submit_when({}, [](int a) { return a + 1; }, w).fetch().value(), 2);
  expect_idle(p);
}

TEST(regress_dependency, an_id_that_was_never_given_out_is_refused) {
  thread_pool p({.max_threads = 1});
  for (const work_id id : {work_id{}, work_id{1}, work_id{~std::uint64_t{0}}}) {
    EXPECT_THROW(
        static_cast<void>(p.submit([] {}, {.name = "n", .group = "g", .after = {id}, .store_result = true})),
        std::invalid_argument);
  }
  EXPECT_FALSE(p.find("n"));
  EXPECT_TRUE(p.members("g").empty());
  expect_idle(p);
}

// A cancelled work in the middle does not affect others, however its predecessors end later.
TEST(regress_dependency, cancelled_middle_job_fails_only_its_own_successor) {
  for (const bool fails : {false, true}) {
    thread_pool p({.max_threads = 1});
    const work_id first = p.reserve();
    auto middle = p.submit([] {}, {.after = {first}});
    auto last = p.submit([] {}, {.after = {middle.id()}});
    auto beside = p.submit([] { return 2; }, {.after = {first}});
    EXPECT_TRUE(middle.cancel());
    EXPECT_EQ(last.status(), work_status::failed);
    EXPECT_EQ(beside.status(), work_status::blocked);
    auto w = p.submit([fails] { return fails ? fail() : 0; }, {.id = first});
    EXPECT_EQ(beside.fetch().has_value(), !fails);
    EXPECT_EQ(middle.status(), work_status::cancelled);
    expect_idle(p);
  }
}

// The work fails at once because of its second predecessor; the first one ends later.
TEST(regress_dependency, job_fails_at_once_if_one_predecessor_failed_and_another_is_open) {
  thread_pool p({.max_threads = 1});
  auto failed = p.submit(fail);
  failed.wait();
  const work_id open = p.reserve();
  const auto kept = std::make_shared<int>(0);
  auto w = p.submit([kept] {}, {.after = {open, failed.id()}});
  EXPECT_EQ(w.status(), work_status::failed);
  EXPECT_EQ(kept.use_count(), 1);
  static_cast<void>(p.submit([] {}, {.id = open}).fetch());
  expect_idle(p);
  EXPECT_EQ(p.stats().failed, 2U);
}

TEST(regress_dependency, failure_reaches_each_dependent_job_once) {
  thread_pool p({.max_threads = 2});
  recorder heard(p);
  const work_id root = p.reserve();
  std::vector<work<void>> layers[3];
  for (int layer = 0; layer < 3; ++layer) {
    std::vector<work_id> after{root};
    if (layer > 0) {
      for (const auto& each : layers[layer - 1]) after.push_back(each.id());
    }
    for (int i = 0; i < 20; ++i) layers[layer].push_back(p.submit([] {}, {.after = after}));
  }
  static_cast<void>(p.submit(fail, {.id = root}));
  expect_idle(p);
  for (auto& layer : layers) {
    for (auto& each : layer) {
      EXPECT_EQ(heard.ends_of(each.id()).size(), 1U);
      try {
        each.fetch().value();
        ADD_FAILURE();
      } catch (const dependency_failed& e) {
        EXPECT_EQ(e.root(), root);
      }
    }
  }
  EXPECT_EQ(p.stats().failed, 61U);
}

// Each work of one layer depends on all of the layer before: the search for cycles visits each work once.
TEST(regress_dependency, cycle_search_visits_each_job_once_in_layers_of_fifty) {
  thread_pool p({.max_threads = 2});
  const work_id first = p.reserve();
  std::vector<work_id> before{first};
  std::atomic<int> ran{0};
  for (int layer = 0; layer < 50; ++layer) {
    std::vector<work_id> now;
    for (int i = 0; i < 50; ++i) now.push_back(p.submit([&] { ++ran; }, {.after = before}).id());
    before = std::move(now);
  }
  EXPECT_THROW(static_cast<void>(p.submit([] {}, {.id = first, .after = {before.back()}})), cycle_error);
  static_cast<void>(p.submit([] {}, {.id = first}));
  expect_idle(p);
  EXPECT_EQ(ran, 2500);
}

TEST(regress_dependency, cycle_error_has_the_ids_of_the_path_and_changes_nothing) {
  thread_pool p({.max_threads = 1});
  const work_id a = p.reserve();
  auto b = p.submit([] {}, {.after = {a}});
  auto c = p.submit([] { return 3; }, {.after = {b.id()}});
  for (const work_id last : {a, b.id(), c.id()}) {
    try {
      static_cast<void>(p.submit([] {}, {.id = a, .after = {last}}));
      ADD_FAILURE();
    } catch (const cycle_error& e) {
      EXPECT_EQ(e.code(), errc::cycle);
      std::vector<work_id> path{a};
      if (last != a) path.push_back(b.id());
      if (last == c.id()) path.push_back(c.id());
      EXPECT_EQ(e.path(), path);
      EXPECT_NE(std::string(e.what()).find(std::to_string(a.value)), std::string::npos);
    }
  }
  EXPECT_EQ(p.status(a), work_status::created);
  EXPECT_EQ(b.status(), work_status::blocked);
  static_cast<void>(p.submit([] {}, {.id = a}));
  EXPECT_EQ(c.fetch().value(), 3);
}

// Of two works that would depend on each other one is refused, in whatever order they are registered.
TEST(regress_dependency, one_of_two_mutually_dependent_submits_is_refused) {
  thread_pool p({.max_threads = 2});
  for (int round = 0; round < 2'000; ++round) {
    const work_id ids[] = {p.reserve(), p.reserve()};
    std::atomic<int> refused{0};
    std::latch both(2);
    const auto submit = [&](int me) {
      both.arrive_and_wait();
      try {
        static_cast<void>(p.submit([] {}, {.id = ids[me], .after = {ids[1 - me]}}));
      } catch (const cycle_error&) {
        ++refused;
        static_cast<void>(p.submit([] {}, {.id = ids[me]}));
      }
    };
    std::thread other([&] { submit(1); });
    submit(0);
    other.join();
    p.wait_idle();
    ASSERT_EQ(refused, 1);
  }
  expect_idle(p);
}

TEST(regress_dependency, two_jobs_may_share_the_same_options) {
  thread_pool p({.max_threads = 1});
  const work_id first = p.reserve();
  const work_options how{.group = "g", .after = {first}};
  auto a = p.submit([] { return 1; }, how);
  auto b = p.submit([] { return 2; }, how);
  static_cast<void>(p.submit([] {}, {.id = first}));
  EXPECT_EQ(a.fetch().value() + b.fetch().value(), 3);
  EXPECT_EQ(how.after.size(), 1U);
}

TEST(regress_dependency, predecessor_that_is_listed_twice_counts_once) {
  thread_pool p({.max_threads = 1});
  const work_id first = p.reserve();
  auto w = p.submit([] { return 1; }, {.after = {first, first}});
  static_cast<void>(p.submit([] {}, {.id = first}));
  EXPECT_EQ(w.fetch().value(), 1);
}

TEST(regress_dependency, waits_for_the_predecessors_callback) {
  thread_pool p({.max_threads = 2});
  for (int i = 0; i < 500; ++i) {
    bool called = false;
    auto a =
        p.submit([] {}, {.callback = [&](const work_end&) { std::this_thread::yield(), called = true; }});
    EXPECT_TRUE(p.submit([&] { return called; }, {.after = {a.id()}}).fetch().value());
  }
}

TEST(regress_dependency, released_jobs_begin_in_submission_order) {
  thread_pool p({.max_threads = 1});
  const work_id first = p.reserve();
  std::vector<int> order;
  for (int i = 0; i < 20; ++i)
    static_cast<void>(p.submit([&order, i] { order.push_back(i); }, {.after = {first}}));
  static_cast<void>(p.submit([] {}, {.id = first}));
  expect_idle(p);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(regress_dependency, dependent_job_waits_for_the_pool_start_and_its_predecessor) {
  thread_pool p({.max_threads = 1, .start = start_mode::suspended});
  auto a = p.submit([] {});
  auto b = p.submit([] { return 2; }, {.after = {a.id()}});
  EXPECT_EQ(a.status(), work_status::suspended);
  EXPECT_EQ(b.status(), work_status::blocked);
  p.start();
  EXPECT_EQ(b.fetch().value(), 2);
}

// The pool keeps no memory of works that have succeeded.
TEST(regress_dependency, a_chain_gives_its_memory_back_as_it_goes) {
  thread_pool p({.max_threads = 1});
  const auto kept = std::make_shared<int>(0);
  work_id last = p.reserve();
  const work_id first = last;
  for (int i = 0; i < 1'000; ++i) last = p.submit([kept] {}, {.after = {last}}).id();
  EXPECT_EQ(kept.use_count(), 1'001);
  static_cast<void>(p.submit([] {}, {.id = first}));
  expect_idle(p);
  EXPECT_EQ(kept.use_count(), 1);
}

/// Runs a function during the first submit(), when the work has its name but no predecessors yet.
class at_the_start final : public observer {
 public:
  at_the_start(thread_pool& p, std::function<void()> what)
      : what_(std::move(what)), heard_(p.subscribe(*this)) {}
  void pool_started() override {
    std::exchange(what_, [] {})();
  }

 private:
  std::function<void()> what_;
  subscription heard_;
};

// The id of the work that closes the cycle was not reserved: the other work finds it by its name.
TEST(regress_dependency, cycle_through_a_job_found_by_name_is_refused) {
  thread_pool p({.max_threads = 1});
  const work_id x = p.reserve();
  work<void> reserved;
  work<void> named;
  work_id found;
  const at_the_start hook(p, [&] {
    found = p.find("y");
    reserved = p.submit([] {}, {.id = x, .after = {found}});
  });
  try {
    named = p.submit([] {}, {.name = "y", .after = {x}});
    ADD_FAILURE() << "they wait for each other";
    named.cancel();
  } catch (const cycle_error& why) {
    EXPECT_EQ(why.path(), (std::vector{found, x}));
  }
  // The reserved work does not wait for ever either.
  try {
    reserved.fetch().value();
    ADD_FAILURE();
  } catch (const dependency_failed& why) {
    EXPECT_EQ(why.root(), found);
  }
  expect_idle(p);
}

/// Returns the what() of the exception of `w`.
std::string told_by(work<void>& w) {
  try {
    w.fetch().value();
  } catch (const dependency_failed& why) {
    return why.what();
  }
  return "no dependency_failed";
}

std::string named(work_id root, const std::string& rest) {
  return "a work that it comes after did not end well (work " + std::to_string(root.value) + rest +
         "): the task was cancelled";
}

TEST(regress_dependency, error_text_names_the_first_failed_job_and_its_error) {
  thread_pool p({.max_threads = 1});
  const work_id root = p.submit([] { fail(); }, {.name = "import"}).id();
  auto second = p.submit([] {}, {.after = {root}});
  auto third = p.submit([] {}, {.name = "report", .after = {second.id()}});
  p.wait_idle();
  const std::string text = named(root, " \"import\" failed: it failed");
  EXPECT_EQ(told_by(second), text);
  EXPECT_EQ(told_by(third), text);
  auto late = p.submit([] {}, {.after = {third.id()}});
  EXPECT_EQ(told_by(late), text) << "also of one that comes afterwards";
}

TEST(regress_dependency, error_text_says_how_a_job_without_an_error_or_a_name_ended) {
  thread_pool p({.max_threads = 1});
  blocker busy(p);
  auto root = p.submit([] {});
  auto next = p.submit([] {}, {.after = {root.id()}});
  EXPECT_TRUE(root.cancel());
  busy.let_go();
  EXPECT_EQ(told_by(next), named(root.id(), " ended as cancelled"));
  const work_id odd = p.submit([] { throw 7; }).id();
  auto after_odd = p.submit([] {}, {.after = {odd}});
  EXPECT_EQ(told_by(after_odd), named(odd, " failed: an exception that is no std::exception"));
}

TEST(regress_dependency, error_text_has_only_the_id_after_many_later_failures) {
  thread_pool p({.max_threads = 1});
  const work_id root = p.submit([] { fail(); }).id();
  p.wait_idle();
  for (std::size_t i = 1; i < rota::pool::detail::failure_texts::places; ++i) p | [] { fail(); };
  p.wait_idle();
  auto known = p.submit([] {}, {.after = {root}});
  EXPECT_EQ(told_by(known), named(root, " failed: it failed"));
  p | [] { fail(); };
  p.wait_idle();
  auto forgotten = p.submit([] {}, {.after = {root}});
  EXPECT_EQ(told_by(forgotten), named(root, ""));
}

TEST(regress_dependency, error_text_truncates_a_long_error) {
  thread_pool p({.max_threads = 1});
  const work_id root = p.submit([] { throw std::runtime_error(std::string(100'000, 'x')); }).id();
  auto next = p.submit([] {}, {.after = {root}});
  EXPECT_EQ(told_by(next), named(root, " failed: " + std::string(200, 'x')));
}

}  // namespace
}  // namespace regress_dependency_test
