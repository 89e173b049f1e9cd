// Idle threads sleep without a timeout, however long they are idle. A thread that sleeps with a timeout could
// hide a lost wakeup. It shows here, since it wakes up.
#include "unit/runtime/runtime_support.hpp"

#include <rota/gate/mailbox.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/sync/event.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

namespace rota::test::idle_processor_test {
namespace {

/// Returns how often each thread of rota went to sleep by itself, by name and number. Threads of sanitizers
/// and emulators have other names and are left out.
std::map<std::string, std::uint64_t> voluntary_switches() {
  std::map<std::string, std::uint64_t> all;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(each.path() / "comm"), name);
    if (!name.starts_with("rota")) continue;
    std::ifstream status(each.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("voluntary_ctxt_switches:")) continue;
      all[name + " " + each.path().filename().string()] = std::stoull(line.substr(line.find(':') + 1));
    }
  }
  return all;
}

/// Compares two counts that are `apart`, up to ten times until no thread woke up in between: on a busy
/// machine a thread may take a while to go to sleep. Returns the threads that woke up in the last comparison.
std::string woken_while_idle(std::chrono::milliseconds apart) {
  std::string woken;
  std::this_thread::sleep_for(100ms);  // on a quiet machine the first comparison is then the only one
  for (int i = 0; i < 10; ++i) {
    const auto before = voluntary_switches();
    std::this_thread::sleep_for(apart);
    const auto after = voluntary_switches();
    if (before == after) return {};
    woken.clear();
    for (const auto& [thread, count] : after) {
      const auto earlier = before.find(thread);
      const std::uint64_t from = earlier == before.end() ? 0 : earlier->second;
      if (count != from) woken += thread + ": " + std::to_string(count - from) + " times; ";
    }
    if (woken.empty()) woken = "threads ended";
  }
  return woken;
}

class idle_processor : public ::testing::TestWithParam<io_backend> {};

TEST_P(idle_processor, no_thread_of_a_runtime_a_pool_or_an_executor_wakes_up) {
  runtime_options how = with_workers(4);
  how.backend = GetParam();
  how.watchdog = 25ms;
  how.blocking.keep_alive = 1h;
  runtime rt(how);
  pool::thread_pool jobs({.min_threads = 2, .max_threads = 2, .keep_alive = 1h});
  gate::executor threads(2);
  auto box = threads.make_mailbox<int>([](int) {});

  // All have had work and a timer that is far away. A root of block_on waits, too; the watchdog checks it.
  struct body {
    static task<> root(sync::event& go) { co_await go.wait(); }
    static task<> short_sleep() { co_await sleep_for(1ms); }
    static task<> long_sleep() { co_await sleep_for(1h); }
  };
  sync::event go;
  std::thread in_block_on([&] { rt.block_on(body::root(go)); });
  auto later = rt.spawn(body::long_sleep());
  rt.spawn(body::short_sleep()).join();
  rt.spawn_blocking([] {}).join();
  jobs.submit([] {}).fetch().value();
  auto again = jobs.submit(
      [] { throw std::runtime_error("once more in an hour"); },
      {.retry = {.limit = 1, .backoff = 1h, .max_backoff = 1h, .where = pool::retry_where::requeued}});
  EXPECT_EQ(box.send(1), gate::send_status::sent);
  threads.drain();

  // A thread has its name when it has begun to run.
  wait_until([] { return voluntary_switches().size() >= 4U + 2U + 2U; });
  EXPECT_EQ(woken_while_idle(1s), "");

  static_cast<void>(again.cancel());
  static_cast<void>(later.cancel());
  go.set();
  in_block_on.join();
}

// The watchdog has reported the root, and sleeps until its next line is due: after 1 s and after 10 s.
TEST_P(idle_processor, no_thread_wakes_up_while_a_root_that_was_reported_is_blocked_in_a_system_call) {
  runtime_options how = with_workers(2);
  how.backend = GetParam();
  how.watchdog = 25ms;
  runtime rt(how);
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  struct body {
    static task<> root(int from) {
      char byte = 0;
      EXPECT_EQ(::read(from, &byte, 1), 1);
      co_return;
    }
  };
  std::thread in_block_on([&] { rt.block_on(body::root(ends[0])); });
  while (rt.stats().total_stalls == 0) std::this_thread::yield();

  EXPECT_EQ(woken_while_idle(1s), "");

  EXPECT_EQ(::write(ends[1], "x", 1), 1);
  in_block_on.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

INSTANTIATE_TEST_SUITE_P(backends,
                         idle_processor,
                         ::testing::Values(io_backend::automatic, io_backend::epoll),
                         [](const auto& each) {
                           return std::string(each.param == io_backend::epoll ? "epoll" : "automatic");
                         });

}  // namespace
}  // namespace rota::test::idle_processor_test
