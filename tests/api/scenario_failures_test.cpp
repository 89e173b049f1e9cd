// What fails, and where the failure is reported.
//
//  scenario 1  a body throws std::runtime_error
//          join_rethrows_the_same_exception_object_and_the_worker_continues
//  scenario 2  a body throws, the handle has gone    unhandled_callback_is_called_once_with_all_details,
//                                                    2 deaths
//  scenario 3  a body throws an int                  join_rethrows_a_thrown_int
//  scenario 4  a destructor throws during unwinding  scenario_death.*unwinding*
//  scenario 5  await_suspend throws                  start_may_throw_and_the_task_goes_on
//  scenario 6  await_resume throws                   await_resume_may_throw_and_the_task_goes_on
//  scenario 7  a result's destructor throws          scenario_death.a_results_destructor_that_throws
//  scenario 8  no memory for a frame                 a_spawn_without_memory_has_started_nothing
#include "api/scenario_support.hpp"

#include <rota/channel/bounded.hpp>

#include <atomic>
#include <memory>
#include <new>
#include <source_location>
#include <stdexcept>
#include <vector>

namespace rota::test {
namespace {

TEST(scenario_failures, join_rethrows_the_same_exception_object_and_the_worker_continues) {
  runtime rt(with_workers(1));
  const auto thrown = std::make_exception_ptr(std::runtime_error("out of tea"));
  auto h = rt.spawn(
      [](std::exception_ptr what) -> task<int> {
        std::rethrow_exception(what);
        co_return 0;
      },
      thrown);
  try {
    static_cast<void>(h.join());
    FAIL() << "it threw";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "out of tea");
    EXPECT_EQ(std::current_exception(), thrown) << "the same object, no copy";
  }
  EXPECT_EQ(rt.spawn(number(1)).join(), 1);
  EXPECT_EQ(rt.stats().total_unhandled, 0U);
  EXPECT_EQ(rt.stats().total_completed, 2U);
}

TEST(scenario_failures, join_rethrows_a_thrown_int) {
  runtime rt(with_workers(1));
  auto h = rt.spawn([]() -> task<> {
    throw 7;
    co_return;
  });
  try {
    h.join();
    FAIL() << "it threw";
  } catch (int seven) {
    EXPECT_EQ(seven, 7);
  }
}

// --- an exception that no handle takes

struct heard {
  static inline std::atomic<int> calls = 0;
  static inline std::uint64_t id = 0;
  static inline std::string name;
  static inline std::string what;
  static inline std::string file;
  static inline unsigned line = 0;
  static void note(const unhandled_exception& e) noexcept {
    id = e.id.value;
    name = e.name;
    what = e.what;
    file = e.file;
    line = e.line;
    ++calls;
  }
};

unsigned line_of_wait = 0;

task<> fails_unseen(event& e) {
  this_task::set_name("courier");
  line_of_wait = std::source_location::current().line() + 1;
  co_await e();
  throw std::runtime_error("letter lost");
}

TEST(scenario_failures, unhandled_callback_is_called_once_with_all_details) {
  runtime_options o = with_workers(1);
  o.on_unhandled = unhandled_policy::callback(heard::note);
  event e;
  std::uint64_t id = 0;
  {
    runtime rt(o);
    auto h = rt.spawn(fails_unseen(e));
    id = h.id().value;
    wait_until([&e] { return e.is_awaited(); });
    h.detach();
    e.fire();
    wait_until([&rt] { return rt.stats().total_completed == 1 && heard::calls != 0; });
    EXPECT_EQ(rt.spawn(number(2)).join(), 2);
    EXPECT_EQ(rt.stats().total_unhandled, 1U);
  }
  EXPECT_EQ(heard::calls, 1);
  EXPECT_EQ(heard::id, id);
  EXPECT_EQ(heard::name, "courier");
  EXPECT_EQ(heard::what, "letter lost");
  EXPECT_NE(heard::file.find("scenario_failures_test.cpp"), std::string::npos);
  EXPECT_EQ(heard::line, line_of_wait);
}

TEST(scenario_failures, report_policy_writes_one_line_and_the_worker_continues) {
  runtime_options o = with_workers(1);
  o.on_unhandled = unhandled_policy::report;
  runtime rt(o);
  event e;
  testing::internal::CaptureStderr();
  auto h = rt.spawn(fails_unseen(e));
  const std::string task_and_id = "in task " + std::to_string(h.id().value) + " 'courier'";
  wait_until([&e] { return e.is_awaited(); });
  h.detach();
  e.fire();
  wait_until([&rt] { return rt.stats().total_unhandled == 1; });
  EXPECT_EQ(rt.spawn(number(2)).join(), 2);
  rt.shutdown(1h);
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string where = "scenario_failures_test.cpp:" + std::to_string(line_of_wait) + ": letter lost\n";
  EXPECT_NE(said.find(task_and_id), std::string::npos) << said;
  EXPECT_EQ(said.find(where) + where.size(), said.size()) << "one line, and nothing after it: " << said;
}

using scenario_death = deaths;

TEST_F(scenario_death, unhandled_exception_ends_the_program_by_default) {
  const auto die = [] {
    runtime rt(with_workers(1));
    event e;
    auto h = rt.spawn(fails_unseen(e));
    wait_until([&e] { return e.is_awaited(); });
    h.detach();
    e.fire();
    wait_until([] { return false; });
  };
  EXPECT_EXIT(
      die(),
      aborted,
      "unhandled exception in task [0-9]+ 'courier', last awaited at .*scenario_failures_test.cpp:[0-9]+: "
      "letter lost");
}

TEST_F(scenario_death, message_says_that_the_task_has_not_awaited_yet) {
  const auto die = [] {
    std::atomic<bool> is_detached{false};  // before that, the thread that detaches it would report it
    runtime rt(with_workers(1));
    struct body {
      static task<> fails(const std::atomic<bool>& go) {
        this_task::set_name("hasty");
        wait_until([&go] { return go.load(); });
        throw std::runtime_error("letter lost");
        co_return;
      }
    };
    rt.spawn(body::fails(is_detached)).detach();
    is_detached = true;
    wait_until([] { return false; });
  };
  EXPECT_EXIT(
      die(),
      aborted,
      "unhandled exception in task [0-9]+ 'hasty', which has not awaited yet: letter lost\n"
      "(.*\n)*rota: std::terminate in task [0-9]+ 'hasty', which has not awaited yet, spawned at .*:[0-9]+");
}

// --- destructors

struct throws_at_its_end {
  throws_at_its_end() = default;
  throws_at_its_end(const throws_at_its_end&) = delete;
  throws_at_its_end& operator=(const throws_at_its_end&) = delete;
  ~throws_at_its_end() noexcept(false) { throw std::runtime_error("from a destructor"); }
};
struct promises_not_to {
  promises_not_to() = default;
  promises_not_to(const promises_not_to&) = delete;
  promises_not_to& operator=(const promises_not_to&) = delete;
  ~promises_not_to() { raise(); }
  static void raise() { throw std::runtime_error("from a destructor"); }
};

template <class Local>
task<> holds_while_it_waits(event& e) {
  this_task::set_name("porter");
  const Local local;
  co_await e();
}

template <class Local>
task<> holds_while_it_throws() {
  this_task::set_name("porter");
  co_await yield();
  const Local local;
  throw 1;
}

template <class Local>
void cancel_in_the_middle() {
  runtime rt(with_workers(1));
  event e;
  auto h = rt.spawn(holds_while_it_waits<Local>(e));
  wait_until([&e] { return e.is_awaited(); });
  h.cancel();
  h.join();
}

TEST_F(scenario_death, a_destructor_that_throws_during_the_unwinding_of_a_cancellation_names_the_task) {
  EXPECT_EXIT(cancel_in_the_middle<throws_at_its_end>(),
              aborted,
              "a destructor threw while its task was unwound: task [0-9]+ 'porter'");
}

TEST_F(scenario_death, noexcept_destructor_that_throws_in_unwinding_names_the_task) {
  EXPECT_EXIT(cancel_in_the_middle<promises_not_to>(), aborted, "std::terminate in task [0-9]+ 'porter'");
}

TEST_F(scenario_death, destructor_that_throws_in_unwinding_of_an_exception_names_the_task) {
  const auto die = [] {
    runtime rt(with_workers(1));
    rt.spawn(holds_while_it_throws<throws_at_its_end>()).join();
  };
  EXPECT_EXIT(die(),
              aborted,
              "std::terminate in task [0-9]+ 'porter', last awaited at .*scenario_failures_test.cpp:[0-9]+, "
              "spawned at .*scenario_failures_test.cpp:[0-9]+");
}

/// A misuse that rota itself finds.
TEST_F(scenario_death, a_misuse_in_a_task_names_the_task_and_the_line_it_last_awaited_at) {
  const auto die = [] {
    runtime rt(with_workers(1));
    rt.spawn([]() -> task<> {
        this_task::set_name("porter");
        co_await yield();
        auto [tx, rx] = channel::bounded<int>(1);
        const auto taken = std::move(tx);
        static_cast<void>(tx.try_send(1));  // NOLINT(bugprone-use-after-move)
      }).join();
  };
  EXPECT_EXIT(
      die(),
      aborted,
      "fatal: an empty half of a channel was used.*\n"
      "rota: it happened in task [0-9]+ 'porter', last awaited at .*scenario_failures_test.cpp:[0-9]+, "
      "spawned at .*scenario_failures_test.cpp:[0-9]+");
}

TEST_F(scenario_death, destructor_that_throws_in_unwinding_names_a_block_on_task) {
  const auto die = [] {
    runtime rt(with_workers(1));
    rt.block_on(holds_while_it_throws<throws_at_its_end>());
  };
  EXPECT_EXIT(die(), aborted, "std::terminate in task [0-9]+ 'porter'");
}

TEST_F(scenario_death, earlier_terminate_handler_is_called_too) {
  const auto die = [] {
    std::set_terminate([] {
      std::fputs("the program's own handler\n", stderr);
      std::abort();
    });
    runtime rt(with_workers(1));
    rt.spawn(holds_while_it_throws<throws_at_its_end>()).join();
  };
  EXPECT_EXIT(die(), aborted, "std::terminate in task [0-9]+ 'porter'.*\n.*the program's own handler");
}

struct loud_result {
  bool loud = true;
  loud_result() = default;
  loud_result(loud_result&& other) noexcept : loud(std::exchange(other.loud, false)) {}
  loud_result& operator=(loud_result&&) = delete;
  ~loud_result() noexcept(false) {
    if (loud) throw std::runtime_error("a loud end");
  }
};

TEST_F(scenario_death, a_results_destructor_that_throws_when_the_handle_is_dropped_ends_the_program) {
  const auto die = [] {
    runtime rt(with_workers(1));
    auto h = rt.spawn([]() -> task<loud_result> { co_return loud_result(); });
    wait_until([&h] { return h.is_done(); });
    try {
      h.detach();
    } catch (...) {
      std::fputs("it could be caught\n", stderr);
      std::_Exit(3);
    }
  };
  EXPECT_EXIT(die(), aborted, "a loud end");
}

// --- leaves that throw

class leaf_that_throws final : public leaf {
 public:
  enum class where : unsigned char { start, await_resume };
  explicit leaf_that_throws(where at) noexcept : at_(at) {}
  [[nodiscard]] bool is_ready() noexcept override { return true; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  void await_resume() const {
    if (at_ == where::await_resume) throw std::runtime_error("on the way back");
  }

 protected:
  bool start() override {
    if (at_ == where::start) throw std::runtime_error("on the way in");
    return true;
  }

 private:
  where at_;
};

task<std::string> survives(leaf_that_throws::where at) {
  std::string caught;
  const auto before = this_task::id();
  try {
    co_await leaf_that_throws(at);
  } catch (const std::runtime_error& e) {
    caught = e.what();
  }
  co_await sleep_for(1us);  // it can still suspend, and comes back
  co_return before == this_task::id() ? caught : "somebody else";
}

TEST(scenario_failures, start_may_throw_and_the_task_goes_on) {
  runtime rt(with_workers(1));
  EXPECT_EQ(rt.spawn(survives(leaf_that_throws::where::start)).join(), "on the way in");
  EXPECT_EQ(rt.stats().alive_tasks, 0U);
}

TEST(scenario_failures, await_resume_may_throw_and_the_task_goes_on) {
  runtime rt(with_workers(1));
  EXPECT_EQ(rt.spawn(survives(leaf_that_throws::where::await_resume)).join(), "on the way back");
  EXPECT_EQ(rt.stats().alive_tasks, 0U);
}

// --- memory

template <class T>
struct empty_store {
  using value_type = T;
  empty_store() = default;
  template <class U>
  explicit empty_store(const empty_store<U>& /*other*/) noexcept {}
  [[noreturn]] T* allocate(std::size_t /*n*/) { throw std::bad_alloc(); }
  void deallocate(T* /*what*/, std::size_t /*n*/) noexcept {}
};

task<> cannot_be_made(std::allocator_arg_t /*tag*/, empty_store<char> /*from*/, witness /*mine*/) {
  co_return;
}

TEST(scenario_failures, a_spawn_without_memory_has_started_nothing) {
  std::atomic<int> ended = 0;
  runtime rt(with_workers(1));
  const runtime_stats before = rt.stats();
  EXPECT_THROW(rt.spawn(cannot_be_made, std::allocator_arg, empty_store<char>(), witness(ended)).detach(),
               std::bad_alloc);
  EXPECT_EQ(ended, 1) << "its argument went once";
  EXPECT_EQ(rt.stats().total_spawned, before.total_spawned);
  EXPECT_EQ(rt.stats().alive_tasks, 0U);
  EXPECT_EQ(rt.spawn(number(3)).join(), 3);
}

}  // namespace
}  // namespace rota::test
