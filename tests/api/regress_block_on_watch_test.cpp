// The watchdog did not watch threads that run tasks without being workers. The root of block_on, and tasks
// run by join(help), could block or compute for ever without a report.
#include <rota/gate/actor.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <latch>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace rota::block_on_watch_test {
namespace {

using namespace std::chrono_literals;

/// Instead of hanging, a test without its line fails after this time, and can show the output.
constexpr std::chrono::milliseconds too_long = 30s;

runtime_options watched() {
  runtime_options o;
  o.workers = 1;
  o.watchdog = 25ms;
  return o;
}

/// Standard error goes into a pipe while this lives.
class heard {
 public:
  heard() : before_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
    std::fflush(stderr);
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    EXPECT_EQ(::dup2(ends_[1], STDERR_FILENO), STDERR_FILENO);
  }
  heard(const heard&) = delete;
  heard& operator=(const heard&) = delete;
  ~heard() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  /// Blocks the thread until these words were written.
  void read_until(const char* words) {
    char more[512];
    while (!has(words)) {
      ::pollfd readable{.fd = ends_[0], .events = POLLIN, .revents = 0};
      const int ready = ::poll(&readable, 1, static_cast<int>(too_long.count()));
      const ssize_t got = ready == 1 ? ::read(ends_[0], more, sizeof more) : 0;
      if (got <= 0) {
        ADD_FAILURE() << "no line with \"" << words << "\" was written, but:\n" << text;
        return;
      }
      text.append(more, static_cast<std::size_t>(got));
    }
  }
  /// All that was written.
  void read_rest() {
    std::fputs("(the end)", stderr);
    read_until("(the end)");
  }
  [[nodiscard]] bool has(const char* words) const { return text.find(words) != std::string::npos; }
  [[nodiscard]] int count(std::string_view words) const {
    int found = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + words.size()))
      ++found;
    return found;
  }

  std::string text;

 private:
  int before_;
  int ends_[2] = {-1, -1};
};

task<> blocks(const char* name, heard& lines) {
  this_task::set_name(name);
  lines.read_until("still runs task ");
  co_return;
}

task<> computes(const char* name, runtime& rt, std::uint64_t stalls) {
  this_task::set_name(name);
  const auto until = std::chrono::steady_clock::now() + too_long;
  while (rt.stats().total_stalls < stalls) {
    if (std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << name << ": " << rt.stats().total_stalls << " of " << stalls << " polls were reported";
      co_return;
    }
    std::this_thread::yield();
  }
  co_return;
}

TEST(regress_block_on_watch, blocking_root_is_reported_twice_and_once_more_at_its_end) {
  heard lines;
  run(blocks("blocked root", lines), watched());
  lines.read_rest();
  EXPECT_TRUE(lines.has("rota: thread ")) << lines.text;
  EXPECT_TRUE(lines.has(" in block_on() has run task ")) << lines.text;
  EXPECT_TRUE(lines.has(" 'blocked root' for ")) << lines.text;
  EXPECT_TRUE(lines.has(" without a suspension (")) << lines.text;
  EXPECT_TRUE(lines.has("; it is blocked in a system call)")) << lines.text;
  EXPECT_TRUE(lines.has("; it was spawned at api/regress_block_on_watch_test.cpp:")) << lines.text;
  EXPECT_TRUE(lines.has("; move blocking work to spawn_blocking()")) << lines.text;
  EXPECT_TRUE(lines.has(" in block_on() still runs task ")) << lines.text;
  EXPECT_TRUE(lines.has(" in block_on() has left task ")) << lines.text;
}

TEST(regress_block_on_watch, report_of_a_root_of_run_with_arguments_names_its_spawn_site) {
  heard lines;
  run(blocks, "root with arguments", std::ref(lines));
  lines.read_rest();
  EXPECT_TRUE(lines.has(" 'root with arguments' for ")) << lines.text;
  EXPECT_TRUE(lines.has("; it was spawned at api/regress_block_on_watch_test.cpp:")) << lines.text;
}

TEST(regress_block_on_watch, a_root_is_watched_again_after_it_has_waited) {
  heard lines;
  {
    runtime rt(watched());
    const auto waits_and_computes = [&rt]() -> task<> {
      this_task::set_name("waited");
      co_await sleep_for(1ms);
      block_in_place([] {});
      co_await computes("waited", rt, 1);
    };
    rt.block_on(waits_and_computes);
    EXPECT_GE(rt.stats().total_stalls, 1U);
  }
  lines.read_rest();
  EXPECT_TRUE(lines.has(" in block_on() has run task ")) << lines.text;
  EXPECT_TRUE(lines.has(" 'waited' for ")) << lines.text;
  EXPECT_TRUE(lines.has("; it last awaited at api/regress_block_on_watch_test.cpp:")) << lines.text;
  EXPECT_TRUE(lines.has(" in block_on() has left task ")) << lines.text;
}

TEST(regress_block_on_watch, two_threads_in_block_on_are_both_named) {
  heard lines;
  {
    runtime rt(watched());
    std::thread other([&rt] { rt.block_on(computes("second", rt, 2)); });
    rt.block_on(computes("first", rt, 2));
    other.join();
    EXPECT_GE(rt.stats().total_stalls, 2U);
  }
  lines.read_rest();
  EXPECT_TRUE(lines.has(" 'first' for ")) << lines.text;
  EXPECT_TRUE(lines.has(" 'second' for ")) << lines.text;
}

// The only worker is held, so that the thread in join(help) runs the task.
TEST(regress_block_on_watch, a_task_that_a_helping_thread_runs_is_named) {
  heard lines;
  {
    runtime rt(watched());
    std::latch is_held(1);
    const auto holds = [&]() -> task<> {
      is_held.count_down();
      co_await computes("holder", rt, 2);
    };
    auto holder = rt.spawn(holds);
    is_held.wait();
    rt.spawn(computes("helped", rt, 2)).join(help);
    holder.join();
  }
  lines.read_rest();
  EXPECT_TRUE(lines.has(" in join(help) has run task ")) << lines.text;
  EXPECT_TRUE(lines.has(" in join(help) has left task ")) << lines.text;
}

/// A root that waits on its own thread in one of the ways that are no fault, until `go` is set.
struct waiting {
  const char* name;
  task<> (*root)(runtime& rt, sync::event& go, std::latch& has_begun);
};

task<> until_set(sync::event& go) { co_await go.wait(); }

/// An executor that joins its thread in a blocking section: that thread may be without a processor for long.
class one_thread {
 public:
  one_thread() = default;
  one_thread(const one_thread&) = delete;
  one_thread& operator=(const one_thread&) = delete;
  ~one_thread() {
    block_in_place([this] { made_.reset(); });
  }
  gate::executor& operator*() noexcept { return *made_; }
  gate::executor* operator->() noexcept { return &*made_; }

 private:
  std::optional<gate::executor> made_{std::in_place, 1U};
};

constexpr waiting ways[] = {
    {"await",
     [](runtime&, sync::event& go, std::latch& has_begun) -> task<> {
       this_task::set_name("waits");
       has_begun.count_down();
       co_await go.wait();
     }},
    {"await_again",
     [](runtime&, sync::event& go, std::latch& has_begun) -> task<> {
       this_task::set_name("waits");
       co_await sleep_for(1ms);
       has_begun.count_down();
       co_await go.wait();
     }},
    {"block_in_place",
     [](runtime&, sync::event& go, std::latch& has_begun) -> task<> {
       this_task::set_name("waits");
       has_begun.count_down();
       block_in_place([&go] { block_in_place([&go] { go.blocking_wait(); }); });
       co_return;
     }},
    {"join",
     [](runtime& rt, sync::event& go, std::latch& has_begun) -> task<> {
       this_task::set_name("waits");
       has_begun.count_down();
       rt.spawn(until_set(go)).join();
       co_return;
     }},
    {"join_help",
     [](runtime& rt, sync::event& go, std::latch& has_begun) -> task<> {
       this_task::set_name("waits");
       has_begun.count_down();
       rt.spawn(until_set(go)).join(help);
       co_return;
     }},
    {"nested_block_on",
     [](runtime& rt, sync::event& go, std::latch& has_begun) -> task<> {
       this_task::set_name("waits");
       has_begun.count_down();
       block_in_place([&] { rt.block_on(until_set(go)); });
       co_return;
     }},
    {"mailbox_join",
     [](runtime&, sync::event& go, std::latch& has_begun) -> task<> {
       this_task::set_name("waits");
       one_thread threads;
       auto box = threads->make_mailbox<int>([&go](int) { go.blocking_wait(); });
       EXPECT_EQ(box.send(1), gate::send_status::sent);
       has_begun.count_down();
       box.close();
       box.join();
       co_return;
     }},
    {"mailbox_drain",
     [](runtime&, sync::event& go, std::latch& has_begun) -> task<> {
       this_task::set_name("waits");
       one_thread threads;
       const auto box = threads->make_mailbox<int>([&go](int) { go.blocking_wait(); });
       EXPECT_EQ(box.send(1), gate::send_status::sent);
       has_begun.count_down();
       box.drain();
       co_return;
     }},
    {"actor_call_for",
     [](runtime&, sync::event& go, std::latch& has_begun) -> task<> {
       this_task::set_name("waits");
       one_thread threads;
       const gate::actor<int> number(*threads, [] { return 3; });
       has_begun.count_down();
       const auto got = number.call_for(1h, [&go](int& it) {
         go.blocking_wait();
         return it;
       });
       EXPECT_EQ(got.value_or(0), 3);
       co_return;
     }},
};

class a_root_that_waits : public ::testing::TestWithParam<waiting> {};

// Another root blocks meanwhile, until it was reported twice.
template <class Start>
void expect_not_reported(const waiting& how, Start start) {
  heard lines;
  {
    runtime_options o = watched();
    o.watchdog =
        100ms;  // so long that nothing but a wait is reported, and shorter than the other root blocks
    runtime rt(o);
    sync::event go;
    std::latch has_begun(1);
    auto waiter = start([&] { rt.block_on(how.root(rt, go, has_begun)); });
    has_begun.wait();
    rt.block_on(blocks("blocks", lines));
    EXPECT_GE(rt.stats().total_stalls, 1U);
    go.set();
    waiter.join();
  }
  lines.read_rest();
  EXPECT_GE(lines.count(" has run task "), 1) << lines.text;
  EXPECT_EQ(lines.count(" has run task "), lines.count(" 'blocks' for ") - lines.count(" still runs task "))
      << "no other task was reported:\n"
      << lines.text;
}

TEST_P(a_root_that_waits, is_not_reported) {
  expect_not_reported(GetParam(), [](auto root) { return std::thread(root); });
}

TEST_P(a_root_that_waits, is_not_reported_on_a_thread_of_a_pool) {
  pool::thread_pool jobs({.min_threads = 1, .max_threads = 1});
  struct work {
    pool::work<void> handle;
    void join() { handle.fetch().value(); }
  };
  expect_not_reported(GetParam(), [&jobs](auto root) { return work{jobs.submit(root)}; });
}

INSTANTIATE_TEST_SUITE_P(ways, a_root_that_waits, ::testing::ValuesIn(ways), [](const auto& each) {
  return std::string(each.param.name);
});

}  // namespace
}  // namespace rota::block_on_watch_test
