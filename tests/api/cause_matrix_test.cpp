// The matrix of causes (cause_matrix.hpp): tasks, channels, locks, pools, actors, streams and timers.
#include "api/cause_matrix.hpp"

#include <rota/async_generator.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>
#include <rota/gate/actor.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/duplex.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/stream.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/latch.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/semaphore.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace rota::test {

struct world {
  world() {
    silent.pause();
    full.pause();
    full_actor.pause();
    EXPECT_EQ(full.send(1), gate::send_status::sent);
    EXPECT_EQ(full_actor.ref().tell([](int& /*it*/) {}), gate::send_status::sent);
  }
  // The last failure of a job that is stopped between two attempts is not reported.
  static constexpr auto quiet = unhandled_policy::callback([](const unhandled_exception&) noexcept {});
  pool::thread_pool jobs{pool::pool_options{.max_threads = 4, .on_unhandled = quiet}};
  gate::executor letters{1};
  gate::actor<int> silent{letters, [] { return 0; }};
  gate::actor<int> full_actor{letters, [] { return 0; }, one_place()};
  gate::mailbox<int> full = letters.make_mailbox<int>([](int /*message*/) {}, one_place());

 private:
  static gate::mailbox_options one_place() {
    gate::mailbox_options o;
    o.capacity = 1;
    o.on_full = gate::overflow::wait;
    return o;
  }
};

namespace {

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
/// Ends when the receiver has gone. Nothing else ends this detached task before the runtime.
task<int> sends_for_an_hour(channel::sender<int> to) {
  for (;;) {
    const auto how = co_await to.send(1);
    if (how != channel::send_status::sent) co_return 1;
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
task<int> a_job_of_a_job(run_of_one& r) {
  auto job = r.around.jobs.submit(watched(r, a_job_of_a_pool(r)));
  const auto end = co_await job.result();
  co_return end.has_value() ? 1 : 2;
}
// The deadline may come to it while it runs, in a queue, or between two attempts.
task<int> a_job_that_is_tried_again(run_of_one& r) {
  pool::work_options how;
  how.retry = {.limit = pool::retry_options::unlimited,
               .backoff = 100us,
               .max_backoff = 100us,
               .where = pool::retry_where::requeued};
  const auto fails = []() -> task<int> {
    co_await sleep_for(20us);
    throw std::runtime_error("not yet");
  };
  auto job = r.around.jobs.submit(fails, how);
  co_return co_await job;
}
task<int> ends_with(pool::work<int>& job) { co_return co_await job; }
task<int> ends_with_id(pool::thread_pool& jobs, pool::work_id id) {
  const bool found = co_await jobs.async_wait(id);
  co_return found ? 1 : 2;
}
// The cancellation of the first child calls the job off, and with it what the second one waits for.
task<int> jobs_in_order(run_of_one& r) {
  auto first = r.around.jobs.submit(hour());
  auto second = r.around.jobs.submit([] { return 1; }, {.after = {first.id()}});
  const auto [x, y] = co_await when_all(watched(r, ends_with(first)), watched(r, ends_with(second)));
  co_return x + y;
}
task<int> a_job_by_its_id(run_of_one& r) {
  auto job = r.around.jobs.submit(hour());
  const auto [x, y] =
      co_await when_all(watched(r, ends_with(job)), watched(r, ends_with_id(r.around.jobs, job.id())));
  co_return x + y;
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

task<int> a_question_to_an_actor(run_of_one& r) {
  const auto answer = [](int& it) { return it; };
  co_return co_await r.around.silent.ref().ask(answer);
}
task<int> a_tell_to_a_full_actor(run_of_one& r) {
  const auto nothing = [](int& /*it*/) {};
  auto telling = r.around.full_actor.ref().async_tell(nothing);
  static_cast<void>(co_await std::move(telling));
  co_return 1;
}
task<int> a_send_to_a_full_mailbox(run_of_one& r) {
  static_cast<void>(co_await r.around.full.address().async_send(2));
  co_return 1;
}
task<int> the_drain_of_a_mailbox(run_of_one& r) {
  co_await r.around.full.async_drain();
  co_return 1;
}
task<int> the_end_of_a_mailbox(run_of_one& r) {
  co_await r.around.full.async_join();
  co_return 1;
}
task<int> the_drain_of_an_executor(run_of_one& r) {
  co_await r.around.letters.async_drain();
  co_return 1;
}
task<int> a_receive_without_bound(run_of_one& /*r*/) {
  auto [to, from] = channel::unbounded<int>();
  auto work = spawn(keeps(std::move(to)));
  static_cast<void>(co_await from.recv());
  co_return 1;
}
/// It never waits for space, and yet notices the end.
task<int> sends_without_bound(run_of_one& /*r*/) {
  auto [to, from] = channel::unbounded<int>();
  auto work = spawn(keeps(std::move(from)));
  for (;;) {
    const auto how = co_await to.send(1);
    if (how != channel::send_status::sent) co_return 1;
    co_await yield();
  }
}
task<int> sends_by_weight(run_of_one& /*r*/) {
  auto [to, from] = channel::bounded_by_weight<int>(4, 2, [](const int& /*item*/) noexcept { return 1U; });
  auto work = spawn(keeps(std::move(from)));
  for (;;) {
    const auto how = co_await to.send(1);
    if (how != channel::send_status::sent) co_return 1;
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

constexpr way ways[] = {
    {"a sleep", a_sleep},
    {"a handle", a_handle},
    {"the result() of a handle", a_result},
    {"a chain of three tasks", a_chain_of_three},
    {"spawn_blocking", a_closure, leaves::a_task_with_a_closure},
    {"a child of when_all", children_of_when_all},
    {"a child of when_any", children_of_when_any},
    {"a child of when_all_settled", settled_children},
    {"a child of a scope, awaited there", a_child_of_a_scope},
    {"next() of a join_set", next_of_a_join_set},
    {"close() of an async_scope", an_async_scope},
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
    {"a job of a job", a_job_of_a_job},
    {"a job that is tried again", a_job_that_is_tried_again},
    {"a job and the one after it", jobs_in_order},
    {"a job by its id", a_job_by_its_id},
    {"a generator", a_generator},
    {"a stage of a stream", a_stage_of_a_stream},
    {"a question to an actor", a_question_to_an_actor},
    {"a tell to a full actor", a_tell_to_a_full_actor},
    {"a send to a full mailbox", a_send_to_a_full_mailbox},
    {"the drain of a mailbox", the_drain_of_a_mailbox},
    {"the end of a mailbox", the_end_of_a_mailbox},
    {"the drain of an executor", the_drain_of_an_executor},
    {"a receive of an unbounded channel", a_receive_without_bound},
    {"sends into an unbounded channel", sends_without_bound},
    {"sends into a channel bounded by weight", sends_by_weight},
    {"a broadcast", a_broadcast},
    {"a watch", a_watch},
    {"closed() of a sender", the_end_of_receivers},
    {"a read of a duplex", a_duplex},
    {"a write to a duplex", a_write_to_a_duplex},
    {"an interval", an_interval},
    {"a loop of yields", a_loop_of_yields},
};

TEST_P(cause_matrix, one_cause_has_one_report) {
  world around;
  expect_one_cause_one_report(GetParam(), around, ways);
}
INSTANTIATE_TEST_SUITE_P(boundaries, cause_matrix, ::testing::ValuesIn(boundaries), name_of);

TEST(cause_of_a_shutdown, has_one_report) {
  world around;
  expect_one_report_of_a_shutdown(around, ways);
}

TEST(document_of_causes, lists_the_tested_ways_to_wait) {
  expect_ways_in_the_document("cause_matrix_test", ways);
}

TEST(document_of_causes, says_what_each_boundary_reports) {
  std::map<std::string, std::string> tried;
  for (const boundary& of : boundaries) tried[of.row] = of.report;
  tried["`runtime::shutdown()`"] = "the handle: cancelled, reason `shutdown`";
  EXPECT_EQ(table_of_document("boundary"), tried);
}

}  // namespace
}  // namespace rota::test
