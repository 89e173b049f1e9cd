// Scenario 35: a process with a runtime forks, and the child uses it. What it calls is refused, the parent's tasks, sockets and operations are left
// alone, and a runtime of its own works.
#include "api/scenario_support.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rota/fs/file.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace rota::test {
namespace {

task<int> number(int n) { co_return n; }

/// Reads one byte from where nothing is yet: on the ring the kernel has it meanwhile, without one a thread of the pool.
task<std::size_t> read_one(int from) {
  fs::file at = fs::file::adopt(from).value();
  std::array<std::byte, 1> byte;
  const auto got = co_await at.read(byte);
  co_return got.value_or(9);
}

struct connection {
  std::optional<net::tcp_stream> ours;
  std::optional<net::tcp_stream> theirs;
};

task<> connect(connection& made) {
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0)).value();
  auto client = co_await net::tcp_stream::connect(listener.local_endpoint().value());
  auto server = co_await listener.accept();
  made.ours.emplace(std::move(client.value()));
  made.theirs.emplace(std::move(server.value()));
}

task<std::size_t> hear(net::tcp_stream& from) {
  std::array<std::byte, 8> bytes;
  const auto got = co_await from.read(bytes);
  co_return got.value_or(9);
}
task<> say(net::tcp_stream& to) {
  const std::array<std::byte, 3> bytes{};
  const auto sent = co_await to.write_all(bytes);
  EXPECT_TRUE(sent.has_value());
}

template <class F>
bool is_refused(F call) {
  try {
    call();
  } catch (const error& e) {
    return e.code() == errc::forked;
  } catch (...) {
  }
  return false;
}

/// A bit for each call that was not refused.
int calls_in_a_child(runtime& rt, runtime_handle& handle) {
  int wrong = 0;
  if (!is_refused([&] { rt.spawn(number(1)).detach(); })) wrong |= 1;
  if (!is_refused([&] { static_cast<void>(rt.block_on(number(1))); })) wrong |= 2;
  if (!is_refused([&] { rt.spawn_blocking([] {}).detach(); })) wrong |= 4;
  if (!is_refused([&] { handle.spawn(number(1)).detach(); })) wrong |= 8;
  if (!is_refused([&] { static_cast<void>(rt.stats()); })) wrong |= 16;
  if (!is_refused([&] { static_cast<void>(rt.dump()); })) wrong |= 32;
  if (!is_refused([&] { static_cast<void>(rt.shutdown(std::chrono::seconds(0))); })) wrong |= 64;
  return wrong;
}

int code_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// What is under way while the process forks: a read that waits, and a socket that somebody listens to.
void fork_beside_tasks(io_backend backend) {
  // The workers and the watchdog do what they do.
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  runtime_options o = with_workers(2);
  o.backend = backend;
  auto rt = std::make_unique<runtime>(o);
  runtime_handle handle = rt->handle();
  connection both;
  rt->block_on(connect(both));
  auto reading = rt->spawn(read_one(ends[0]));
  auto hearing = rt->spawn(hear(*both.theirs));
  wait_until([&] { return rt->dump().find("waiting for socket read") != std::string::npos; });

  const pid_t child = ::fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    ::alarm(20);
    const int wrong = calls_in_a_child(*rt, handle);
    both.ours.reset();  // this process's copy
    rt.reset();
    const bool works = !may_start_threads || run(number(2)) == 2;
    ::_exit(works ? wrong : 128);
  }
  EXPECT_EQ(code_of(child), 0)
      << "a bit for each call that was not refused; 128: a runtime of its own does not work";

  EXPECT_FALSE(hearing.is_done()) << "the connection is whole";
  rt->block_on(say(*both.ours));
  EXPECT_EQ(hearing.join(), 3U);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  EXPECT_EQ(reading.join(), 1U) << "the operation was the parent's, and is";
  EXPECT_EQ(rt->spawn(number(3)).join(), 3);
  const shutdown_report r = rt->shutdown(std::chrono::seconds(0));
  EXPECT_TRUE(r.survivors.empty());
  ::close(ends[1]);
}

TEST(scenario, no_35_a_child_is_refused_and_its_parent_goes_on) { fork_beside_tasks(io_backend::epoll); }

TEST(scenario, no_35_a_child_never_submits_to_the_ring_of_its_parent) {
  try {
    runtime_options o = with_workers(1);
    o.backend = io_backend::uring;
    const runtime tried(o);
  } catch (const std::system_error& e) {
    GTEST_SKIP() << "no io_uring here: " << e.code().message();
  }
  fork_beside_tasks(io_backend::uring);
}

// ---- a task forks ---------------------------------------------------------------------------------------------------

/// Calls `start` and returns `bit` if it was not refused.
template <class F>
int unless_refused(int bit, F start) {
  return is_refused(start) ? 0 : bit;
}

/// In a task that goes on in the child, which has no worker: returns a bit for each way to start something that was not refused.
int starts_in_a_task(scope& inner, async_scope& all, join_set<int>& set, pool::thread_pool& works) {
  int wrong = unless_refused(1, [] { spawn(number(1)).detach(); });
  wrong |= unless_refused(
      1, [] { static_cast<void>(dump()); });  // nothing is started, but there is nothing to tell either
  wrong |= unless_refused(2, [&] { inner.spawn(number(1)).detach(); });
  wrong |= unless_refused(4, [] { spawn_blocking([] {}).detach(); });
  wrong |= unless_refused(8, [&] { all.spawn(number(1)).detach(); });
  wrong |= unless_refused(16, [&] { set.spawn(number(1)); });
  wrong |= unless_refused(32, [&] { static_cast<void>(works.submit([] {})); });
  wrong |= unless_refused(64, [&] { static_cast<void>(works.reserve()); });
  return wrong;
}

/// On a thread of the child's own.
bool makes_its_own() {
  if (!may_start_threads) return true;
  bool works = false;
  std::thread([&works] {
    pool::thread_pool own;
    struct body {
      static task<int> spawns() {
        auto there = spawn(number(2));
        auto closure = spawn_blocking([] { return 3; });
        co_return co_await there + co_await closure;
      }
    };
    works = run(body::spawns()) == 5 && own.submit([] { return 4; }).fetch().value() == 4;
  }).join();
  return works;
}

/// The child leaves from inside: none of its destructors waits for threads that it does not have.
task<pid_t> forks_in_a_task(pool::thread_pool& works) {
  async_scope all;
  join_set<int> set;
  pid_t child = -1;
  const auto forks = [&](scope& inner) -> task<> {
    child = ::fork();
    if (child == 0) {
      ::alarm(20);
      const int wrong = starts_in_a_task(inner, all, set, works);
      ::_exit(makes_its_own() ? wrong : 128);
    }
    co_return;
  };
  co_await with_scope(forks);
  co_await all.close();
  co_return child;
}

TEST(scenario, no_35_a_task_that_goes_on_in_a_child_starts_nothing) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  pool::thread_pool works;
  runtime rt(with_workers(1));
  EXPECT_EQ(code_of(rt.spawn(forks_in_a_task(works)).join()), 0)
      << "on a worker: a bit for each start that was not refused; 128: the child's own runtime does not work";
  EXPECT_EQ(code_of(rt.block_on(forks_in_a_task(works))), 0) << "on the thread of block_on";
  EXPECT_EQ(rt.spawn(number(3)).join(), 3) << "the parent goes on";
  EXPECT_EQ(works.submit([] { return 4; }).fetch().value(), 4) << "the parent's pool goes on";
}

TEST(scenario, no_35_a_pool_is_destroyed_in_a_child_without_its_threads) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  auto works = std::make_unique<pool::thread_pool>();
  EXPECT_EQ(works->submit([] { return 4; }).fetch().value(), 4);
  const pid_t child = ::fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    ::alarm(20);
    works.reset();
    ::_exit(0);
  }
  EXPECT_EQ(code_of(child), 0);
}

}  // namespace
}  // namespace rota::test
