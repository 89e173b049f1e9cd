// A work can be found during its submit(): what becomes of its waiters, its successors, and requests to it.
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>

#include <functional>
#include <optional>

namespace regress_submit_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

/// A pool with one busy thread and one occupied place. The next submit() calls `what` in its middle.
class full_pool {
 public:
  full_pool() {
    busy_.emplace(pool_);
    queued_ = pool_.submit([] {});
  }
  thread_pool& operator*() { return pool_; }
  thread_pool* operator->() { return &pool_; }
  void in_the_middle(std::function<rejection()> what) { what_ = std::move(what); }
  void let_go() { busy_->let_go(); }

 private:
  std::function<rejection()> what_;
  thread_pool pool_{{.max_threads = 1,
                     .queue_limit = 1,
                     .on_full = rejection::custom,
                     .choose_rejection = [this](int, std::size_t) { return what_(); },
                     .force_grace = 1ms}};
  std::optional<blocker> busy_;
  work<void> queued_;
};

// submit() throws after its work was found by name. The work ends like any other; no waiter stays blocked.
TEST(regress_submit, waiters_of_a_job_found_by_name_return_when_submit_throws) {
  full_pool p;
  work_id found;
  work<void> after;
  bool ran = false;
  work_status seen = work_status::created;
  std::optional<outcome<int>> fetched;
  std::vector<std::unique_ptr<sleeper>> waiters;
  p.in_the_middle([&] {
    found = p->find("x");
    after = p->submit([&] { ran = true; },
                      {.after = {found}, .callback = [&](const work_end&) { seen = p->status(found); }});
    EXPECT_TRUE(p->pause(found));
    waiters.push_back(std::make_unique<sleeper>([&] { EXPECT_TRUE(p->wait(found)); }));
    waiters.push_back(std::make_unique<sleeper>([&] { EXPECT_EQ(p->wait_any(std::array{found}), found); }));
    waiters.push_back(std::make_unique<sleeper>([&] { fetched = p->fetch<int>(found); }));
    for (const auto& each : waiters) each->until_asleep();
    return rejection::abort;
  });
  EXPECT_THROW(static_cast<void>(p->submit([] { return 1; }, {.name = "x", .store_result = true})), error);
  for (const auto& each : waiters) each->join();
  EXPECT_EQ(seen, work_status::rejected);
  ASSERT_TRUE(after.is_done());
  try {
    after.fetch().value();
    ADD_FAILURE();
  } catch (const dependency_failed& why) {
    EXPECT_EQ(why.root(), found);
  }
  ASSERT_TRUE(fetched.has_value());
  EXPECT_TRUE(fetched->is_cancelled());
  EXPECT_FALSE(p->find("x"));
  // The id stays unknown also later.
  EXPECT_EQ(p->status(found), work_status::created) << "its memory is another one's";
  EXPECT_TRUE(p->submit([&] { ran = true; }, {.after = {found}}).fetch().has_exception());
  p.let_go();
  expect_idle(*p);
  EXPECT_FALSE(ran);
}

// A reserved id stays reserved, even if the work that was not accepted was asked to stop.
TEST(regress_submit, a_reserved_id_outlives_a_submit_that_throws) {
  full_pool p;
  const work_id id = p->reserve();
  std::optional<sleeper> waiter;
  p.in_the_middle([&] {
    EXPECT_TRUE(p->stop(id));
    waiter.emplace([&] { EXPECT_TRUE(p->wait(id)); });
    waiter->until_asleep();
    return rejection::abort;
  });
  EXPECT_THROW(static_cast<void>(p->submit([] {}, {.id = id})), error);
  EXPECT_FALSE(p->stop(id));
  p.let_go();
  p->wait_idle();
  auto w = p->submit([] { return 7; }, {.id = id});
  EXPECT_EQ(w.fetch().value(), 7);
  waiter->join();
  expect_idle(*p);
}

// A stop or a force stop arrives before the work is in a queue: the work never begins.
TEST(regress_submit, job_stopped_during_its_submit_is_cancelled) {
  for (const bool by_force : {false, true}) {
    full_pool p;
    p.in_the_middle([&] {
      const work_id found = p->find("x");
      EXPECT_TRUE(by_force ? p->force_stop(found) : p->stop(found));
      return rejection::caller_runs;
    });
    bool ran = false;
    recorder heard(*p);
    auto w = p->submit([&] { ran = true; }, {.name = "x"});
    EXPECT_FALSE(ran);
    EXPECT_EQ(w.status(), work_status::cancelled);
    EXPECT_EQ(heard.ends_of(w.id()).size(), 1U);
    p.let_go();
    expect_idle(*p);
  }
}

}  // namespace
}  // namespace regress_submit_test
