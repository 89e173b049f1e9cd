// Scenario 35: a process with a runtime forks, and the child uses it. Calls are refused; the parent's tasks,
// sockets and operations are left alone; a runtime of the child works. Also executors, mailboxes, actors.
#include "api/fork_support.hpp"
#include "api/scenario_support.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <rota/channel/bounded.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/fs/file.hpp>
#include <rota/gate/actor.hpp>
#include <rota/gate/fan_in.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>
#include <rota/testing/runtime.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <latch>
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

/// Reads one byte from an empty source: the kernel holds the read on the ring, else a thread of the pool.
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

/// Under way while the process forks: a read that waits, and a listening socket.
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

TEST(scenario, no_35_forked_child_is_refused_and_its_parent_continues) {
  fork_beside_tasks(io_backend::epoll);
}

TEST(scenario, no_35_forked_child_never_submits_to_the_ring_of_its_parent) {
  try {
    runtime_options o = with_workers(1);
    o.backend = io_backend::uring;
    const runtime tried(o);
  } catch (const std::system_error& e) {
    GTEST_SKIP() << "no io_uring here: " << e.code().message();
  }
  fork_beside_tasks(io_backend::uring);
}

// ---- a task forks -----------------------------------------------------------------------------------------

/// Calls `start` and returns `bit` if it was not refused.
template <class F>
int unless_refused(int bit, F start) {
  return is_refused(start) ? 0 : bit;
}

/// In a task that goes on in the child, without a worker: returns a bit for each start that was not refused.
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

TEST(scenario, no_35_task_that_continues_in_a_forked_child_starts_nothing) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  pool::thread_pool works;
  runtime rt(with_workers(1));
  EXPECT_EQ(code_of(rt.spawn(forks_in_a_task(works)).join()), 0)
      << "on a worker: a bit for each start that was not refused; 128: the child's own runtime does not work";
  EXPECT_EQ(code_of(rt.block_on(forks_in_a_task(works))), 0) << "on the thread of block_on";
  EXPECT_EQ(rt.spawn(number(3)).join(), 3) << "the parent goes on";
  EXPECT_EQ(works.submit([] { return 4; }).fetch().value(), 4) << "the parent's pool goes on";
}

TEST(scenario, no_35_pool_is_destroyed_in_a_forked_child_without_its_threads) {
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

// ---- executors --------------------------------------------------------------------------------------------

// ---- waits ------------------------------------------------------------------------------------------------

task<> waits_for(sync::event& end) { co_await end.wait(); }

TEST(scenario, no_35_forked_child_cannot_wait_for_a_task_of_its_parent) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  runtime rt(with_workers(1));
  auto over = rt.spawn(number(3));
  while (!over.is_done()) std::this_thread::yield();
  sync::event end;
  auto open = rt.spawn(waits_for(end));
  const auto body = [&](claims& all) {
    all.expect_refused([&] { open.join(); }, "join fails");
    all.expect_refused([&] { static_cast<void>(open.wait_for(std::chrono::hours(1))); }, "wait_for fails");
    all.expect_refused([&] { open.join(help); }, "join(help) fails");
    all.expect(over.join() == 3, "what had ended at the fork has its value");
  };
  EXPECT_EQ(in_a_child(body), 0);
  end.set();
  open.join();
}

task<> says_and_waits(std::atomic<bool>& has_begun, sync::event& end) {
  has_begun = true;
  co_await end.wait();
}

/// Returns true if the co_await of this handle fails with errc::forked.
task<bool> is_await_refused(join_handle<void>& handle) {
  try {
    co_await handle;
  } catch (const error& e) {
    co_return e.code() == errc::forked;
  }
  co_return false;
}

/// On a worker, which plays its role when it forks.
task<pid_t> forks_and_joins() {
  sync::event end;
  std::atomic<bool> has_begun = false;
  auto open = spawn(says_and_waits(has_begun, end));
  while (!has_begun) co_await yield();
  std::latch closure_ends(1);
  auto closure = spawn_blocking([&closure_ends] { closure_ends.wait(); });
  auto unstarted = spawn(says_and_waits(has_begun, end));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    claims all;
    all.expect_refused([&] { open.join(); }, "join on a worker fails");
    all.expect_refused([&] { open.join(help); }, "join(help) on a worker fails");
    const bool refused = co_await is_await_refused(open);
    all.expect(refused, "co_await of a handle fails");
    const bool refused_closure = co_await is_await_refused(closure);
    all.expect(refused_closure, "co_await of a closure fails");
    has_begun = false;
    const bool refused_unstarted = co_await is_await_refused(unstarted);
    all.expect(refused_unstarted && !has_begun,
               "co_await of a task that has not begun fails, and does not run it");
    // No other thread of the child may take the role of this one.
    if (may_start_threads) {
      pool::thread_pool own;
      all.expect(own.submit([] { return 4; }).fetch().value() == 4, "a pool of the child's is waited for");
      runtime rt(with_workers(1));
      all.expect(rt.spawn(number(5)).join() == 5, "a task of the child's is waited for");
    }
    all.expect(!has_begun, "no task of the parent's runs meanwhile");
    ::_exit(all.code());
  }
  end.set();
  closure_ends.count_down();
  co_await open;
  co_await closure;
  co_await unstarted;
  co_return child;
}

TEST(scenario, no_35_task_that_continues_in_a_forked_child_cannot_join_a_task) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  for (const unsigned workers : {1U, 2U}) {
    runtime rt(with_workers(workers));
    EXPECT_EQ(code_of(rt.spawn(forks_and_joins()).join()), 0);
    EXPECT_EQ(rt.spawn(number(3)).join(), 3) << "the parent goes on";
  }
}

/// Holds the handler of a mailbox, so that its visit is under way.
struct held_handler {
  std::latch entered{1};
  std::latch opened{1};
};
struct account {
  int balance = 0;
};

/// An executor, a mailbox in the middle of a visit, one that is full, and an actor.
struct gates {
  explicit gates(gate::executor* made) : executor(made) {
    EXPECT_EQ(full.send(1), gate::send_status::sent);
    EXPECT_EQ(busy.send(1), gate::send_status::sent);
    held.entered.wait();
  }
  /// In the parent.
  void end() {
    full.resume();
    held.opened.count_down();
    busy.close();
    busy.join();
    executor->drain();
  }

  held_handler held;
  int handled = 0;  // of `full`
  std::unique_ptr<gate::executor> executor;
  gate::mailbox<int> busy = executor->make_mailbox<int>([this](int /*n*/) {
    held.entered.count_down();
    held.opened.wait();
  });
  gate::mailbox<int> full = paused(executor->make_mailbox<int>(
      [this](int /*n*/) { ++handled; }, {.capacity = 1, .on_full = gate::overflow::wait}));
  gate::actor<account> savings = gate::actor<account>(*executor, [] { return account{}; });

 private:
  static gate::mailbox<int> paused(gate::mailbox<int> made) {
    made.pause();
    return made;
  }
};

task<> expect_task_forms_refused(claims& all, gates& of) {
  const gate::send_status sent = co_await of.busy.async_send(1);
  all.expect(sent == gate::send_status::forked, "async_send says forked");
  const gate::send_status waited = co_await of.full.async_send(1);
  all.expect(waited == gate::send_status::forked, "async_send to a full mailbox says forked");
  const auto tells = [](account& it) { ++it.balance; };
  const gate::send_status told = co_await of.savings.async_tell(tells);
  all.expect(told == gate::send_status::forked, "async_tell says forked");

  const auto asks = [](account& it) { return it.balance; };
  auto asked = of.savings.ask(asks);
  const auto is_forked = [](std::exception_ptr thrown) {
    return is_refused([&] { std::rethrow_exception(std::move(thrown)); });
  };
  bool refused = false;
  try {
    static_cast<void>(co_await std::move(asked));
  } catch (...) {
    refused = is_forked(std::current_exception());
  }
  all.expect(refused, "ask fails");
  refused = false;
  try {
    co_await of.busy.async_join();
  } catch (...) {
    refused = is_forked(std::current_exception());
  }
  all.expect(refused, "async_join fails");
  refused = false;
  try {
    co_await of.full.async_drain();
  } catch (...) {
    refused = is_forked(std::current_exception());
  }
  all.expect(refused, "async_drain of a mailbox fails");
  refused = false;
  try {
    co_await of.executor->async_drain();
  } catch (...) {
    refused = is_forked(std::current_exception());
  }
  all.expect(refused, "async_drain of an executor fails");
}

void expect_sends_refused(claims& all, gates& of) {
  using gate::send_status;
  all.expect(of.busy.send(1) == send_status::forked, "send says forked");
  all.expect(of.full.send(1) == send_status::forked, "a send that would block says forked");
  all.expect(of.busy.address().try_send(1) == send_status::forked, "try_send says forked");
  std::array<int, 2> several{1, 2};
  const gate::sent_count count = of.busy.send_n(several);
  all.expect(count.count == 0 && count.status == send_status::forked, "send_n says forked");
  all.expect(of.savings.tell([](account& it) { ++it.balance; }) == send_status::forked, "tell says forked");
  all.expect(of.savings.try_tell([](account& it) { ++it.balance; }) == send_status::forked,
             "try_tell says forked");
}

void expect_waits_refused(claims& all, gates& of) {
  all.expect_refused([&] { of.busy.join(); }, "join fails");
  all.expect_refused([&] { of.busy.drain(); }, "drain of a mailbox fails");
  all.expect_refused([&] { of.executor->drain(); }, "drain of an executor fails");
  const auto asks = [](account& it) { return it.balance; };
  all.expect_refused([&] { static_cast<void>(of.savings.call(asks)); }, "call fails");
  all.expect_refused([&] { static_cast<void>(of.savings.call_for(std::chrono::hours(1), asks)); },
                     "call_for fails");
}

void expect_orders_refused(claims& all, gates& of) {
  all.expect_refused([&] { of.busy.pause(); }, "pause of a mailbox fails");
  all.expect_refused([&] { of.busy.resume(); }, "resume of a mailbox fails");
  all.expect_refused([&] { of.executor->pause(); }, "pause of an executor fails");
  all.expect_refused([&] { of.executor->resume(); }, "resume of an executor fails");
  all.expect_refused([&] { static_cast<void>(of.executor->stats()); }, "stats of an executor fails");
  all.expect_refused([&] { static_cast<void>(of.executor->make_mailbox<int>([](int /*n*/) {})); },
                     "make_mailbox fails");
  all.expect_refused([&] { static_cast<void>(gate::actor<account>(*of.executor, [] { return account{}; })); },
                     "an actor's constructor fails");
}

/// In a child: the parent's objects refuse calls, and are destroyed without a wait.
void expect_gates_refused(claims& all, std::unique_ptr<gates>& of) {
  expect_sends_refused(all, *of);
  expect_waits_refused(all, *of);
  expect_orders_refused(all, *of);
  testing::runtime tasks;
  tasks.block_on(expect_task_forms_refused(all, *of));
  of->full.close();
  of.reset();
}

void fork_beside_gates(gate::executor* made) {
  auto all = std::make_unique<gates>(made);
  EXPECT_EQ(in_a_child([&](claims& of) { expect_gates_refused(of, all); }), 0);
  EXPECT_EQ(all->savings.call([](account& it) { return ++it.balance; }), 1) << "the parent's actor goes on";
  all->end();
  EXPECT_EQ(all->handled, 1) << "the parent's mailbox has what the parent has sent";
}

TEST(scenario, no_35_forked_child_cannot_send_to_the_mailboxes_of_its_parent) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  fork_beside_gates(new gate::executor(2));
}

TEST(scenario, no_35_forked_child_cannot_send_to_an_executor_on_a_parents_runtime) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  runtime rt(with_workers(2));
  fork_beside_gates(new gate::executor(rt));
  const auto makes_one = [&](claims& all) {
    all.expect_refused([&] { const gate::executor late(rt); }, "an executor on the parent's runtime fails");
  };
  EXPECT_EQ(in_a_child(makes_one), 0);
}

TEST(scenario, no_35_executor_is_destroyed_in_a_forked_child_without_its_threads) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  gates all(new gate::executor(2));
  EXPECT_EQ(in_a_child([&](claims& /*of*/) { all.executor.reset(); }), 0);
  EXPECT_EQ(in_a_child([&](claims& /*of*/) { all.busy = gate::mailbox<int>(); }), 0) << "and a mailbox";
  all.end();
}

/// A thread of the child's own makes them.
void expect_own_executor(claims& all, gate::executor& own) {
  int handled = 0;
  auto box = own.make_mailbox<int>([&](int n) { handled += n; });
  for (int i = 0; i < 100; ++i)
    all.expect(box.send(1) == gate::send_status::sent, "a mailbox of the child's takes a message");
  own.drain();
  all.expect(handled == 100, "its handler is called for each message");
  gate::actor<account> savings(own, [] { return account{}; });
  all.expect(savings.call([](account& it) { return ++it.balance; }) == 1, "its actor replies");
  box.close();
  box.join();
  own.drain();  // the actor replies before it counts
  all.expect(own.stats().served == 101, "its executor counts");
}

TEST(scenario, no_35_executor_that_a_forked_child_creates_works) {
  if (!may_fork_beside_allocations || !may_start_threads) GTEST_SKIP() << "the child may not start threads";
  gates parents(new gate::executor(2));
  const auto makes_its_own = [](claims& all) {
    gate::executor own(2);
    expect_own_executor(all, own);
    runtime rt(with_workers(1));
    gate::executor on_tasks(rt);
    expect_own_executor(all, on_tasks);
  };
  EXPECT_EQ(in_a_child(makes_its_own), 0);
  parents.end();
}

TEST(scenario, no_35_forked_child_cannot_send_to_a_testing_runtime_of_its_parent) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  testing::runtime tasks;
  auto on_tasks = std::make_unique<gate::executor>(tasks);
  int handled = 0;
  auto box = on_tasks->make_mailbox<int>([&](int n) { handled += n; });
  const auto sends = [&](claims& all) {
    all.expect(box.send(1) == gate::send_status::forked, "send says forked");
    all.expect_refused([&] { on_tasks->drain(); }, "drain fails");
    on_tasks.reset();
  };
  EXPECT_EQ(in_a_child(sends), 0);
  EXPECT_EQ(box.send(1), gate::send_status::sent);
  on_tasks->drain();
  EXPECT_EQ(handled, 1);
}

// ---- channels: their lines of waiters have locks ----------------------------------------------------------

template <class Sender>
task<> sends_for_ever(Sender to) {
  channel::send_status did = channel::send_status::sent;
  while (did == channel::send_status::sent) did = co_await to.send(1);
}
template <class Receiver>
task<> receives_for_ever(Receiver from) {
  for (;;) {
    const auto got = co_await from.recv();
    if (!got.has_value()) co_return;
  }
}

/// The tasks wait for each other all the time. So at a fork one of them is often in the line of the channel.
template <class Channel>
void fork_beside_a_busy_channel(Channel made) {
  auto& [to, from] = made;
  runtime rt(with_workers(2));
  auto sends = rt.spawn(sends_for_ever(to));
  auto receives = rt.spawn(receives_for_ever(from));
  for (int i = 0; i < 40; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    const auto tries = [&](claims& all) {
      for (int k = 0; k < 4; ++k) {
        const auto sent = to.try_send(2);
        all.expect(sent != channel::send_status::closed, "a try to send says sent, full or forked");
        const auto got = from.try_recv();
        all.expect(got.has_value() || got.error() != channel::recv_status::closed,
                   "a try to receive says an item, empty or forked");
      }
      from.close();
    };
    ASSERT_EQ(in_a_child(tries), 0) << "14: it hung";
  }
  from.close();
  sends.join();
  receives.join();
}

TEST(scenario, no_35_forked_child_does_not_hang_on_a_channel_its_parent_had_locked) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  fork_beside_a_busy_channel(channel::bounded<int>(8));
  fork_beside_a_busy_channel(channel::bounded<int>(64));
  fork_beside_a_busy_channel(channel::unbounded<int>());
}

// ---- a fan-in: it has no threads of its own ---------------------------------------------------------------

TEST(scenario, no_35_push_in_a_forked_child_does_not_wait_for_the_parents_consumer) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  gate::fan_in<int> in({.producers = 1, .segment = 2});
  auto to = in.make_producer();
  EXPECT_EQ(to.push(1), gate::send_status::sent);
  EXPECT_EQ(in.take(), 1) << "the consumer is in this process";
  const auto pushes = [&](claims& all) {
    all.expect(to.push(2) == gate::send_status::sent, "there is room");
    all.expect(to.push(3) == gate::send_status::sent, "there is room for two");
    all.expect(to.push(4) == gate::send_status::forked, "a push that would wait says forked");
    all.expect(in.take() == 2, "the child may be the consumer of its copy");
    all.expect(to.push(4) == gate::send_status::sent, "then there is room again");
  };
  EXPECT_EQ(in_a_child(pushes), 0);
  EXPECT_EQ(in.drain([](int /*item*/) {}), 0U) << "the parent has nothing of that";
}

/// The parent's consumer sleeps in the copy that the child has.
TEST(scenario, no_35_forked_child_can_consume_while_the_parents_consumer_sleeps) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  gate::fan_in<int> in;
  auto to = in.make_producer();
  std::thread consumer([&] {
    while (in.wait() != gate::fan_in_state::ended) in.drain([](int /*item*/) {});
  });
  // No sleep of the consumer's can be asked for: each child meets it earlier or later, and mostly asleep.
  for (int i = 0; i < 20; ++i) {
    std::this_thread::yield();
    const auto takes = [&](claims& all) {
      const auto none = in.take_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
      all.expect(!none.has_value() && none.error() == gate::fan_in_state::empty, "a wait ends at its limit");
      all.expect(to.push(1) == gate::send_status::sent && in.take() == 1, "the child has what it has sent");
    };
    EXPECT_EQ(in_a_child(takes), 0);
  }
  in.close();
  consumer.join();
}

/// Of an item: how its moves are held, and what has become of it.
struct moves {
  std::latch entered{1};
  std::latch opened{1};
  bool holds_next = false;
  int destroyed = 0;
};
class watched_item {
 public:
  explicit watched_item(moves& by) noexcept : by_(&by) {}
  watched_item(watched_item&& other) noexcept : by_(other.by_) {
    if (!std::exchange(by_->holds_next, false)) return;
    by_->entered.count_down();
    by_->opened.wait();
  }
  watched_item& operator=(watched_item&&) = delete;
  ~watched_item() { ++by_->destroyed; }

 private:
  moves* by_;
};

TEST(scenario, no_35_fan_in_is_destroyed_in_a_forked_child_during_a_parents_move) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  moves of_item;
  auto in = std::make_unique<gate::fan_in<watched_item>>();
  auto to = in->make_producer();
  EXPECT_EQ(to.push(watched_item(of_item)), gate::send_status::sent);
  of_item.holds_next = true;
  std::thread consumer([&] { EXPECT_TRUE(in->take().has_value()); });
  of_item.entered.wait();
  const int before = of_item.destroyed;
  const auto destroys = [&](claims& all) {
    in.reset();
    all.expect(of_item.destroyed == before, "an item that is being moved is not destroyed");
  };
  EXPECT_EQ(in_a_child(destroys), 0);
  of_item.opened.count_down();
  consumer.join();
}

}  // namespace
}  // namespace rota::test
