// One cause, one report (docs/cancel-safety.md), in combinations: each boundary of a cause around each way to wait, with a limit between the
// two, in block_on and spawned, with 1, 2 and 4 workers. The oracle is the table `boundaries`, and it knows nothing of the library.
// ROTA_CAUSE_ROUNDS=N: how often each combination runs (1).
#include "api/scenario_support.hpp"

#include <rota/async_generator.hpp>
#include <rota/async_scope.hpp>
#include <rota/cancel.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>
#include <rota/finally.hpp>
#include <rota/gate/actor.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/duplex.hpp>
#include <rota/join_set.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/process.hpp>
#include <rota/scope.hpp>
#include <rota/stop_token.hpp>
#include <rota/stream.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/latch.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

namespace rota::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// What outlives every run.
struct world {
  world() { silent.pause(); }
  pool::thread_pool jobs{pool::pool_options{.max_threads = 4}};
  gate::executor letters{1};
  gate::actor<int> silent{letters, [] { return 0; }};
};

/// One run of one combination.
struct run_of_one {
  world& around;
  std::chrono::microseconds pause;  // until the cause comes
  std::atomic<int> went_on{
      0};  // tasks that ran a line after they had seen the end of another one, or caught one
  std::atomic<int> reports_between{0};  // of the limit in between
};

// ---- ways to wait: each waits for something that ends only with the cause

task<int> hour() {
  co_await sleep_for(1h);
  co_return 1;
}
template <class Kept>
task<int> keeps(Kept what) {
  const auto kept = std::move(what);
  co_return co_await hour();
}

/// Counts `work` if it comes to an end that a task could see.
task<int> watched(run_of_one& r, task<int> work) {
  try {
    static_cast<void>(co_await std::move(work));
  } catch (...) {
    ++r.went_on;
    throw;
  }
  ++r.went_on;
  co_return 0;
}

task<int> a_sleep(run_of_one& /*r*/) { return hour(); }
task<int> a_handle(run_of_one& /*r*/) {
  auto work = spawn(hour());
  co_return co_await work;
}
task<int> a_result(run_of_one& /*r*/) {
  auto work = spawn(hour());
  const auto end = co_await work.result();
  co_return end.has_value() ? 1 : 2;
}
task<int> a_chain_of_three(run_of_one& r) {
  auto work = spawn(watched(r, a_handle(r)));
  co_return co_await work;
}
task<int> a_closure(run_of_one& /*r*/) {
  auto work = spawn_blocking([] {
    while (!this_task::cancel_requested()) std::this_thread::sleep_for(20us);
    return 1;
  });
  // A value is delivered, even late. The task stops at its next wait.
  static_cast<void>(co_await work);
  co_return co_await hour();
}
task<int> children_of_when_all(run_of_one& r) {
  const auto [x, y] = co_await when_all(watched(r, a_handle(r)), hour());
  co_return x + y;
}
task<int> children_of_when_any(run_of_one& r) {
  const auto first = co_await when_any(watched(r, a_result(r)), hour());
  co_return static_cast<int>(first.index());
}
task<int> settled_children(run_of_one& r) {
  const auto [x, y] = co_await when_all_settled(watched(r, a_handle(r)), hour());
  co_return x.has_value() && y.has_value() ? 1 : 2;
}
task<int> a_child_of_a_scope(run_of_one& r) {
  co_await with_scope([&r](scope& inside) -> task<> {
    auto first = inside.spawn(hour());
    auto second = inside.spawn(watched(r, keeps(std::move(first))));
    static_cast<void>(co_await second);
    ++r.went_on;
  });
  co_return 1;
}
task<int> next_of_a_join_set(run_of_one& /*r*/) {
  join_set<int> works;
  works.spawn(hour());
  const auto end = co_await works.next();
  co_return end.has_value() ? 1 : 2;
}
task<int> an_async_scope(run_of_one& r) {
  async_scope works;
  works.fork(watched(r, a_handle(r)));
  co_await works.close();
  co_return 1;
}
task<int> a_process(run_of_one& /*r*/) {
  auto started = co_await process::command("/bin/sleep").arg("3600").spawn();
  if (!started.has_value()) co_return co_await hour();
  static_cast<void>(co_await started->wait());
  co_return 1;
}
task<int> an_accept(run_of_one& /*r*/) {
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0)).value();
  static_cast<void>(co_await listener.accept());
  co_return 1;
}
task<int> a_read(run_of_one& /*r*/) {
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0)).value();
  auto stream = co_await net::tcp_stream::connect(listener.local_endpoint().value());
  if (!stream.has_value()) co_return co_await hour();
  std::array<std::byte, 8> bytes{};
  static_cast<void>(co_await stream->read(bytes));
  co_return 1;
}
task<int> a_receive(run_of_one& /*r*/) {
  auto [to, from] = channel::bounded<int>(4);
  auto work = spawn(keeps(std::move(to)));
  static_cast<void>(co_await from.recv());
  co_return 1;
}
task<int> a_send(run_of_one& /*r*/) {
  auto [to, from] = channel::bounded<int>(1);
  auto work = spawn(keeps(std::move(from)));
  static_cast<void>(co_await to.send(1));
  static_cast<void>(co_await to.send(2));
  co_return 1;
}
task<int> a_select(run_of_one& /*r*/) {
  auto [to, from] = channel::bounded<int>(4);
  auto sender = spawn(keeps(std::move(to)));
  auto work = spawn(hour());
  const auto first = co_await channel::select(from.recv(), work);
  co_return static_cast<int>(first.index());
}
task<int> sends_for_an_hour(channel::sender<int> to) {
  for (;;) {
    static_cast<void>(co_await to.send(1));
    co_await sleep_for(100us);
  }
}
task<int> all_items(run_of_one& /*r*/) {
  auto [to, from] = channel::bounded<int>(4);
  auto work = spawn(sends_for_an_hour(std::move(to)));
  for (;;) {
    const auto item = co_await from.recv();
    if (!item.has_value()) co_return 1;
  }
}
/// The end wins before the case of the handle is started.
task<int> selects_in_order(run_of_one& /*r*/) {
  auto [to, from] = channel::bounded<int>(4);
  auto sender = spawn(sends_for_an_hour(std::move(to)));
  auto work = spawn(hour());
  for (;;) {
    auto first = co_await channel::select_in_order(from.recv(), work);
    if (first.index() != 0) co_return 1;
    const auto item = std::move(first).template get<0>();
    if (!item.has_value()) co_return 2;
  }
}
task<int> a_oneshot(run_of_one& /*r*/) {
  auto [to, from] = channel::oneshot<int>();
  auto work = spawn(keeps(std::move(to)));
  static_cast<void>(co_await from.recv());
  co_return 1;
}
task<int> a_mutex(run_of_one& /*r*/) {
  auto lock = std::make_shared<sync::mutex>();
  auto held = co_await lock->lock();
  co_await with_scope([&](scope& inside) -> task<> {
    const auto locks = [](std::shared_ptr<sync::mutex> of) -> task<int> {
      const auto mine = co_await of->lock();
      co_return 1;
    };
    inside.fork(locks(lock));
    co_return;
  });
  co_return 1;
}
task<int> a_semaphore(run_of_one& /*r*/) {
  sync::semaphore none(0);
  co_await none.acquire();
  co_return 1;
}

/// Acts on what it shares with the waiting task, which may end first.
template <class Shared>
struct at_end {
  at_end(std::shared_ptr<Shared> what, void (*act)(Shared&)) : of(std::move(what)), does(act) {}
  at_end(at_end&&) = default;
  ~at_end() {
    if (of != nullptr) does(*of);
  }
  std::shared_ptr<Shared> of;
  void (*does)(Shared&);
};
template <class Shared>
task<int> a_signal(std::shared_ptr<Shared> of, void (*act)(Shared&)) {
  auto work = spawn(keeps(at_end<Shared>(of, act)));
  co_await of->wait();
  co_return 1;
}
task<int> an_event(run_of_one& /*r*/) {
  return a_signal<sync::event>(std::make_shared<sync::event>(), [](sync::event& of) { of.set(); });
}
task<int> a_latch(run_of_one& /*r*/) {
  return a_signal<sync::latch>(std::make_shared<sync::latch>(1U), [](sync::latch& of) { of.count_down(); });
}
task<int> a_notification(run_of_one& /*r*/) {
  return a_signal<sync::notify>(std::make_shared<sync::notify>(), [](sync::notify& of) { of.notify_all(); });
}
task<int> a_job_of_a_pool(run_of_one& r) {
  auto job = r.around.jobs.submit(hour());
  co_return co_await job;
}
async_generator<int> gives_nothing() {
  auto work = spawn(hour());
  const int value = co_await work;
  co_yield value;
}
task<int> a_generator(run_of_one& /*r*/) {
  auto all = gives_nothing();
  static_cast<void>(co_await all.next());
  co_return 1;
}
task<int> a_stage_of_a_stream(run_of_one& /*r*/) {
  auto [to, from] = channel::bounded<int>(4);
  auto work = spawn(keeps(std::move(to)));
  auto odd = stream::filter(std::move(from), [](int n) { return n % 2 == 1; });
  static_cast<void>(co_await odd.next());
  co_return 1;
}

task<int> an_output(run_of_one& /*r*/) {
  const auto captured = co_await process::command("/bin/sleep").arg("3600").output();
  co_return captured.has_value() ? 1 : 2;
}
task<int> a_question_to_an_actor(run_of_one& r) {
  const auto answer = [](int& it) { return it; };
  co_return co_await r.around.silent.ref().ask(answer);
}
task<int> a_receive_without_bound(run_of_one& /*r*/) {
  auto [to, from] = channel::unbounded<int>();
  auto work = spawn(keeps(std::move(to)));
  static_cast<void>(co_await from.recv());
  co_return 1;
}
/// It never waits for room, and hears of the end all the same.
task<int> sends_without_bound(run_of_one& /*r*/) {
  auto [to, from] = channel::unbounded<int>();
  auto work = spawn(keeps(std::move(from)));
  for (;;) {
    const auto how = co_await to.send(1);
    if (how != channel::send_status::sent) co_return 1;
    co_await yield();
  }
}
task<int> a_broadcast(run_of_one& /*r*/) {
  auto [to, from] = channel::broadcast<int>(4);
  auto work = spawn(keeps(std::move(to)));
  static_cast<void>(co_await from.recv());
  co_return 1;
}
task<int> a_watch(run_of_one& /*r*/) {
  auto [to, from] = channel::watch<int>(0);
  auto work = spawn(keeps(std::move(to)));
  static_cast<void>(co_await from.changed());
  co_return 1;
}
task<int> the_end_of_receivers(run_of_one& /*r*/) {
  auto [to, from] = channel::bounded<int>(4);
  auto work = spawn(keeps(std::move(from)));
  co_await to.closed();
  co_return 1;
}
task<int> a_duplex(run_of_one& /*r*/) {
  auto [ours, theirs] = io::duplex(10);
  auto work = spawn(keeps(std::move(theirs)));
  std::array<std::byte, 10> bytes{};
  static_cast<void>(co_await ours.read(bytes));
  co_return 1;
}
task<int> a_write_to_a_duplex(run_of_one& /*r*/) {
  auto [ours, theirs] = io::duplex(4);
  auto work = spawn(keeps(std::move(theirs)));
  const std::array<std::byte, 10> bytes{};
  static_cast<void>(co_await io::write_all(ours, bytes));
  co_return 1;
}
task<int> an_interval(run_of_one& /*r*/) {
  interval every(20us);
  for (;;) static_cast<void>(co_await every.tick());
}
task<int> a_loop_of_yields(run_of_one& /*r*/) {
  for (;;) co_await yield();
}

struct way {
  const char* name;
  task<int> (*wait)(run_of_one& r);
};
constexpr way ways[] = {
    {"a sleep", a_sleep},
    {"a handle", a_handle},
    {"the result() of a handle", a_result},
    {"a chain of three tasks", a_chain_of_three},
    {"spawn_blocking", a_closure},
    {"a child of when_all", children_of_when_all},
    {"a child of when_any", children_of_when_any},
    {"a child of when_all_settled", settled_children},
    {"a child of a scope, awaited there", a_child_of_a_scope},
    {"next() of a join_set", next_of_a_join_set},
    {"close() of an async_scope", an_async_scope},
    {"wait() of a process", a_process},
    {"an accept", an_accept},
    {"a read of a socket", a_read},
    {"a receive", a_receive},
    {"a send", a_send},
    {"a select", a_select},
    {"all items of a sender", all_items},
    {"selects in order, of items", selects_in_order},
    {"a oneshot", a_oneshot},
    {"a mutex", a_mutex},
    {"a semaphore", a_semaphore},
    {"an event", an_event},
    {"a latch", a_latch},
    {"a notification", a_notification},
    {"a job of a pool", a_job_of_a_pool},
    {"a generator", a_generator},
    {"a stage of a stream", a_stage_of_a_stream},
    {"output() of a process", an_output},
    {"a question to an actor", a_question_to_an_actor},
    {"a receive of an unbounded channel", a_receive_without_bound},
    {"sends into an unbounded channel", sends_without_bound},
    {"a broadcast", a_broadcast},
    {"a watch", a_watch},
    {"closed() of a sender", the_end_of_receivers},
    {"a read of a duplex", a_duplex},
    {"a write to a duplex", a_write_to_a_duplex},
    {"an interval", an_interval},
    {"a loop of yields", a_loop_of_yields},
};

// ---- a limit between the boundary and the wait

enum class limit : unsigned char { none, longer, equal, shorter, zero };
constexpr limit limits[] = {limit::none, limit::longer, limit::equal, limit::shorter, limit::zero};

/// `at`: when the deadline that is the cause passes; of another cause, about when it comes.
task<int> limited(run_of_one& r, const way& w, limit l, clock::time_point at) {
  auto work = watched(r, w.wait(r));
  switch (l) {
    case limit::none: co_return co_await std::move(work);
    case limit::longer: static_cast<void>(co_await timeout(1h, std::move(work))); break;
    case limit::equal: static_cast<void>(co_await with_deadline(at, std::move(work))); break;
    case limit::shorter: static_cast<void>(co_await timeout(r.pause / 2, std::move(work))); break;
    case limit::zero: static_cast<void>(co_await timeout(0ns, std::move(work))); break;
  }
  ++r.reports_between;
  co_return co_await hour();
}

// ---- boundaries: each makes its cause happen around `work`, and says whether it reported that

struct setting {
  run_of_one& r;
  const way& w;
  limit l;

  [[nodiscard]] task<int> work(clock::time_point at) const { return limited(r, w, l, at); }
  [[nodiscard]] task<int> work() const { return work(clock::now() + r.pause); }
};

task<bool> by_timeout(setting s) {
  const auto end = co_await timeout(s.r.pause, s.work());
  co_return !end.has_value();
}
task<bool> by_deadline(setting s) {
  const auto at = clock::now() + s.r.pause;
  const auto end = co_await with_deadline(at, s.work(at));
  co_return !end.has_value();
}
task<bool> by_scope(setting s) {
  const auto body = [s](scope& children) -> task<> {
    children.fork(s.work());
    children.fork(s.work());
    co_await sleep_for(s.r.pause);
    children.cancel();
  };
  co_await with_scope(body);
  co_return true;
}
task<bool> by_failed_child(setting s) {
  const auto body = [s](scope& children) -> task<> {
    children.fork(s.work());
    co_await sleep_for(s.r.pause);
    throw 7;
  };
  try {
    co_await with_scope(body);
  } catch (int) {
    co_return true;
  }
  co_return false;
}
task<bool> by_handle(setting s) {
  auto work = spawn(s.work());
  co_await sleep_for(s.r.pause);
  work.cancel();
  const auto end = co_await work.result();
  co_return end.is_cancelled() && end.reason() == cancel_reason::user;
}
task<int> wins(std::chrono::microseconds after) {
  co_await sleep_for(after);
  co_return 7;
}
task<bool> by_winner(setting s) {
  const auto first = co_await when_any(s.work(), wins(s.r.pause));
  co_return first.index() == 1;
}
task<int> fails(std::chrono::microseconds after) {
  co_await sleep_for(after);
  throw 7;
}
task<bool> by_failed_sibling(setting s) {
  try {
    static_cast<void>(co_await when_all(s.work(), s.work(), fails(s.r.pause)));
  } catch (int) {
    co_return true;
  }
  co_return false;
}
task<bool> by_join_set(setting s) {
  join_set<int> works;
  works.spawn(s.work());
  works.spawn(s.work());
  co_await sleep_for(s.r.pause);
  co_await works.close();
  co_return true;
}
task<bool> by_async_scope(setting s) {
  async_scope works;
  works.fork(s.work());
  works.fork(s.work());
  co_await sleep_for(s.r.pause);
  works.cancel();
  co_await works.close();
  co_return true;
}
task<int> linked(setting s, std::stop_token token) {
  const auto here = link(std::move(token));
  co_return co_await s.work();
}
task<bool> by_stop_token(setting s) {
  std::stop_source source;
  auto work = spawn(linked(s, source.get_token()));
  co_await sleep_for(s.r.pause);
  source.request_stop();
  const auto end = co_await work.result();
  co_return end.is_cancelled();
}
task<int> shielded(setting s) {
  const auto guard = shield(s.r.pause);
  co_return co_await s.work();
}
task<bool> by_limit_of_a_shield(setting s) {
  const auto end = co_await timeout(s.r.pause / 2, shielded(s));
  co_return !end.has_value();
}
task<bool> by_finally(setting s) {
  bool cleaned = false;
  const auto clean_up = [&cleaned](const outcome<int>& end) -> task<> {
    co_await yield();
    cleaned = end.is_cancelled();
  };
  const auto end = co_await timeout(s.r.pause, finally(s.work(), clean_up, 1h));
  co_return !end.has_value() && cleaned;
}

struct boundary {
  const char* name;
  const char* report;
  task<bool> (*around)(setting s);
  bool is_deadline;  // and `equal` means the same time
};
constexpr boundary boundaries[] = {
    {"timeout", "timed_out", by_timeout, false},
    {"with_deadline", "timed_out", by_deadline, true},
    {"scope::cancel()", "with_scope returns", by_scope, false},
    {"a scope whose body throws", "with_scope throws what the body has thrown", by_failed_child, false},
    {"join_handle::cancel()", "result(): cancelled, reason user", by_handle, false},
    {"when_any, and another one wins", "the value of the winner", by_winner, false},
    {"when_all, and another one fails",
     "when_all throws what the sibling has thrown",
     by_failed_sibling,
     false},
    {"join_set::close()", "close() returns", by_join_set, false},
    {"async_scope::cancel()", "close() returns", by_async_scope, false},
    {"link(stop_token)", "result(): cancelled", by_stop_token, false},
    {"timeout, behind a shield whose limit passes", "timed_out", by_limit_of_a_shield, false},
    {"finally, in a timeout", "the clean-up sees cancelled; then timed_out", by_finally, false},
};

const int rounds = [] {
  const char* const said = std::getenv("ROTA_CAUSE_ROUNDS");
  return said == nullptr ? 1 : std::atoi(said);
}();

/// Between 50 and 350 us, so that the cause comes before, while and after the task begins to wait.
std::chrono::microseconds draw() {
  static std::atomic<unsigned> state{1};
  return std::chrono::microseconds(50 + (state += 7919) % 300);
}

class cause_matrix : public ::testing::TestWithParam<boundary> {
 protected:
  void expect_one_report(runtime& rt, world& around, const way& w, limit l, bool in_block_on) {
    run_of_one r{.around = around, .pause = draw()};
    const setting s{r, w, l};
    const auto& of = GetParam();
    try {
      const bool reported = in_block_on ? rt.block_on(of.around(s)) : rt.spawn(of.around(s)).join();
      EXPECT_TRUE(reported) << of.name << " does not say: " << of.report;
    } catch (const std::exception& e) {
      ADD_FAILURE() << of.name << " throws, and does not say " << of.report << ": " << e.what();
    }
    EXPECT_EQ(r.went_on, 0) << "tasks that the cause has reached ran on";
    const bool may_report_between =
        l == limit::shorter || l == limit::zero || (l == limit::equal && !of.is_deadline);
    const int false_reports = may_report_between ? 0 : r.reports_between.load();
    EXPECT_EQ(false_reports, 0) << "a limit that is no cause has reported";
  }
};

TEST_P(cause_matrix, one_cause_has_one_report) {
  world around;
  for (const unsigned workers : {1U, 2U, 4U}) {
    runtime rt(with_workers(workers));
    for (const way& w : ways) {
      for (const limit l : limits) {
        for (int i = 0; i < 2 * rounds; ++i) {
          SCOPED_TRACE(::testing::Message() << w.name << ", limit " << static_cast<int>(l) << ", " << workers
                                            << " workers, " << (i % 2 == 0 ? "in block_on" : "spawned"));
          expect_one_report(rt, around, w, l, i % 2 == 0);
          if (HasFailure()) return;
        }
      }
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<boundary>& one) {
  std::string name = one.param.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(boundaries, cause_matrix, ::testing::ValuesIn(boundaries), name_of);

// A shutdown is the boundary of every task of its runtime.
TEST(cause_of_a_shutdown, has_one_report) {
  world around;
  for (const unsigned workers : {1U, 2U, 4U}) {
    for (const way& w : ways) {
      for (const limit l : limits) {
        for (int i = 0; i < 2 * rounds; ++i) {
          SCOPED_TRACE(::testing::Message()
                       << w.name << ", limit " << static_cast<int>(l) << ", " << workers << " workers");
          run_of_one r{.around = around, .pause = draw()};
          runtime rt(with_workers(workers));
          auto work = rt.spawn(setting{r, w, l}.work());
          std::this_thread::sleep_for(r.pause);
          const auto grace = i % 2 == 0 ? std::chrono::nanoseconds(0) : std::chrono::nanoseconds(1h);
          EXPECT_TRUE(rt.shutdown(grace).survivors.empty());
          const auto end = work.wait_for(0ns);
          ASSERT_TRUE(end.has_value());
          EXPECT_TRUE(end->is_cancelled() && end->reason() == cancel_reason::shutdown);
          EXPECT_EQ(r.went_on, 0);
          if (HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rota::test
