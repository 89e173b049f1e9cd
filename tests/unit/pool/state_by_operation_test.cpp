// Each operation in each state of a work, its result and the end of the work: docs/pool.md, table A.
#include "unit/pool/pool_support.hpp"

#include <rota/pool/work.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>

namespace state_by_operation_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

enum class state : unsigned char {
  reserved,
  blocked,
  held_until_start,
  parked_by_its_group,
  backing_off,
  queued,
  running_function,
  running_segment,
  between_segments,
  paused_function,
  paused_coroutine,
  run_by_its_waiter,
  run_by_a_helper,
  run_by_its_caller,
  finished_with_handle,
  finished_and_stored,
  finished_and_forgotten,
};
enum class operation : unsigned char { cancel, stop, force_stop, pause, resume, wait, fetch };

constexpr const char* names_of_states[] = {"reserved",
                                           "blocked",
                                           "held_until_start",
                                           "parked_by_its_group",
                                           "backing_off",
                                           "queued",
                                           "running_function",
                                           "running_segment",
                                           "between_segments",
                                           "paused_function",
                                           "paused_coroutine",
                                           "run_by_its_waiter",
                                           "run_by_a_helper",
                                           "run_by_its_caller",
                                           "finished_with_handle",
                                           "finished_and_stored",
                                           "finished_and_forgotten"};
constexpr const char* names_of_operations[] = {
    "cancel", "stop", "force_stop", "pause", "resume", "wait", "fetch"};

constexpr bool no = false;
constexpr bool yes = true;
constexpr auto cancelled = work_status::cancelled;
constexpr auto stopped = work_status::stopped;
constexpr auto forced = work_status::force_stopped;
constexpr auto succeeded = work_status::succeeded;

/// What the operation returns, and how the work ends once nothing holds it back and it is resumed.
struct cell {
  bool answer;
  work_status end;
};

// clang-format off
// One row for each state, in their order. fetch: whether there is an outcome. The test ends a back-off by a
// cancel, since it would last an hour.
constexpr cell table[][7] = {
  //  cancel             stop               force_stop         pause              resume             wait               fetch
  {{no, succeeded},   {no, succeeded},   {no, succeeded},   {yes, succeeded},  {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // reserved
  {{yes, cancelled},  {yes, cancelled},  {yes, cancelled},  {yes, succeeded},  {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // blocked
  {{yes, cancelled},  {yes, cancelled},  {yes, cancelled},  {yes, succeeded},  {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // held
  {{yes, cancelled},  {yes, cancelled},  {yes, cancelled},  {yes, succeeded},  {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // parked
  {{yes, cancelled},  {yes, cancelled},  {yes, cancelled},  {yes, cancelled},  {no, cancelled},   {yes, cancelled},  {yes, cancelled}},   // backing off
  {{yes, cancelled},  {yes, cancelled},  {yes, cancelled},  {yes, succeeded},  {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // queued
  {{no, succeeded},   {yes, stopped},    {yes, forced},     {yes, succeeded},  {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // running function
  {{no, succeeded},   {yes, stopped},    {yes, forced},     {yes, succeeded},  {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // running segment
  {{no, succeeded},   {yes, stopped},    {yes, forced},     {yes, succeeded},  {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // between segments
  {{no, succeeded},   {yes, stopped},    {yes, forced},     {yes, succeeded},  {yes, succeeded},  {yes, succeeded},  {yes, succeeded}},   // paused function
  {{no, succeeded},   {yes, stopped},    {yes, forced},     {yes, succeeded},  {yes, succeeded},  {yes, succeeded},  {yes, succeeded}},   // paused coroutine
  {{no, succeeded},   {yes, stopped},    {yes, forced},     {yes, succeeded},  {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // by its waiter
  {{no, succeeded},   {yes, stopped},    {yes, forced},     {yes, succeeded},  {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // by a helper
  {{no, succeeded},   {yes, stopped},    {yes, forced},     {yes, succeeded},  {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // by its caller
  {{no, succeeded},   {no, succeeded},   {no, succeeded},   {no, succeeded},   {no, succeeded},   {yes, succeeded},  {no, succeeded}},    // with handle
  {{no, succeeded},   {no, succeeded},   {no, succeeded},   {no, succeeded},   {no, succeeded},   {yes, succeeded},  {yes, succeeded}},   // stored
  {{no, succeeded},   {no, succeeded},   {no, succeeded},   {no, succeeded},   {no, succeeded},   {no, succeeded},   {no, succeeded}},    // forgotten
};
// clang-format on

bool is_finished(state s) { return s >= state::finished_with_handle; }

pool_options options_for(state s) {
  pool_options o{.max_threads = 1};
  if (s == state::held_until_start) o.start = start_mode::suspended;
  if (s == state::run_by_its_caller) {
    o.queue_limit = 1;
    o.on_full = rejection::caller_runs;
  }
  return o;
}

/// A pool with one work in the given state.
class stage {
 public:
  explicit stage(state s) : state_(s), p(options_for(s)), heard(p) {
    how_.callback = [this](const work_end& e) { heard.call_back(e); };
    set_up();
  }
  ~stage() {
    let_go();
    for (sleeper& each : threads_) each.join();
    work_ = {};
    p.wait_idle();
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  /// Releases whatever keeps the work in its state.
  void let_go() {
    if (std::exchange(gone_, true)) return;
    go_ = true;
    gate_.open();
    if (on_let_go_) on_let_go_();
  }
  [[nodiscard]] work_id id() const { return id_; }

 private:
  void set_up();
  void set_up_inside_of_another();
  int body() {
    id_ = this_work::id();
    begun_ = true;
    while (!go_) {
      this_work::checkpoint();
      std::this_thread::yield();
    }
    this_work::checkpoint();
    return 7;
  }
  task<int> spin() {
    begun_ = true;
    while (!go_ && !this_work::stop_requested()) std::this_thread::yield();
    // The coroutine sees the request before the cancellation arrives.
    if (!go_) co_await sleep_for(1h);
    co_await yield();
    co_return 7;
  }
  task<int> wait_for_other() {
    begun_ = true;
    co_await other_.detached_wait();
    co_await yield();
    co_return 7;
  }
  work<int> submit() {
    return p.submit([this] { return body(); }, how_);
  }
  void submit_now() {
    work_ = submit();
    id_ = work_.id();
  }
  void occupy() {
    busy_ = p.submit(
        [this] {
          occupied_ = true;
          gate_.pass();
        },
        {.group = how_.group});
    until([this] { return occupied_.load(); });
  }

  const state state_;
  gate gate_;
  std::atomic<bool> go_{false};
  std::atomic<bool> begun_{false};
  std::atomic<bool> occupied_{false};
  std::atomic<work_id> id_{};
  bool gone_ = false;
  work_options how_;
  std::function<void()> on_let_go_;

 public:
  thread_pool p;
  recorder heard;

 private:
  thread_pool elsewhere_{{.max_threads = 1}};
  work<void> other_;
  work<void> busy_;
  work<int> work_;
  std::deque<sleeper> threads_;
};

void stage::set_up() {
  switch (state_) {
    case state::reserved:
      id_ = p.reserve();
      on_let_go_ = [this] {
        how_.id = id_;
        work_ = submit();
      };
      return;
    case state::blocked: {
      const work_id first = p.reserve();
      how_.after = {first};
      on_let_go_ = [this, first] { static_cast<void>(p.submit([] {}, {.id = first})); };
      submit_now();
      return until(work_, work_status::blocked);
    }
    case state::held_until_start:
      on_let_go_ = [this] { p.start(); };
      submit_now();
      return until(work_, work_status::suspended);
    case state::parked_by_its_group:
      how_.group = "g";
      p.limit_group("g", 1);
      occupy();
      submit_now();
      return until(work_, work_status::suspended);
    case state::backing_off:
      how_.retry = {.limit = 1, .backoff = 1h, .max_backoff = 1h, .where = retry_where::requeued};
      work_ = p.submit([]() -> int { throw std::runtime_error("again"); }, how_);
      id_ = work_.id();
      on_let_go_ = [this] { p.cancel(id_); };
      return until(work_, work_status::suspended);
    case state::queued:
      occupy();
      submit_now();
      return until(work_, work_status::queued);
    case state::running_function:
    case state::paused_function:
      submit_now();
      until([&] { return begun_.load(); });
      if (state_ == state::running_function) return;
      EXPECT_TRUE(p.pause(id_));
      return until(work_, work_status::paused);
    case state::running_segment:
      work_ = p.submit([this] { return spin(); }, how_);
      id_ = work_.id();
      return until([&] { return begun_.load(); });
    case state::between_segments:
    case state::paused_coroutine:
      other_ = elsewhere_.submit([this] { gate_.pass(); });
      work_ = p.submit([this] { return wait_for_other(); }, how_);
      id_ = work_.id();
      until([&] { return begun_ && p.stats().idle == p.stats().threads; });
      if (state_ == state::between_segments) return;
      EXPECT_TRUE(p.pause(id_));
      gate_.open();
      return until(work_, work_status::paused);
    case state::run_by_its_waiter:
    case state::run_by_a_helper:
    case state::run_by_its_caller: return set_up_inside_of_another();
    case state::finished_with_handle:
    case state::finished_and_stored:
    case state::finished_and_forgotten:
      go_ = true;
      how_.store_result = state_ == state::finished_and_stored;
      submit_now();
      work_.wait();
      if (state_ == state::finished_with_handle) return;
      work_ = {};
      if (state_ == state::finished_and_forgotten)
        until([&] { return p.status(id_) == work_status::created; });
      return;
  }
}

void stage::set_up_inside_of_another() {
  switch (state_) {
    case state::run_by_its_waiter: busy_ = p.submit([this] { submit().wait(); }); break;
    case state::run_by_a_helper:
      occupy();
      submit_now();
      threads_.emplace_back([this] { p.wait_idle(help); });
      break;
    default:
      occupy();
      static_cast<void>(p.submit([] {}));
      threads_.emplace_back([this] { static_cast<void>(submit()); });
  }
  until([&] { return begun_.load(); });
}

class state_by_operation : public ::testing::TestWithParam<std::tuple<state, operation>> {
 protected:
  static bool act(stage& on, operation what) {
    switch (what) {
      case operation::cancel: return on.p.cancel(on.id());
      case operation::stop: return on.p.stop(on.id());
      case operation::force_stop: return on.p.force_stop(on.id());
      case operation::pause: return on.p.pause(on.id());
      case operation::resume: return on.p.resume(on.id());
      case operation::wait: return on.p.wait(on.id());
      case operation::fetch: {
        const std::optional<outcome<int>> got = on.p.fetch<int>(on.id());
        if (got.has_value() && got->has_value()) {
          EXPECT_EQ(got->value(), 7);
        }
        return got.has_value();
      }
    }
    return false;
  }
};

TEST_P(state_by_operation, operation_has_the_result_that_the_table_lists) {
  const auto [from, what] = GetParam();
  const cell expected = table[static_cast<unsigned>(from)][static_cast<unsigned>(what)];
  stage on(from);
  const work_id id = on.id();
  const bool blocks = (what == operation::wait || what == operation::fetch) && !is_finished(from);
  std::atomic<int> answer{-1};
  std::optional<sleeper> caller;
  if (blocks) {
    caller.emplace([&] { answer = act(on, what) ? 1 : 0; });
    caller->until_asleep();
    EXPECT_EQ(answer, -1) << "it is not over";
  } else {
    answer = act(on, what) ? 1 : 0;
  }
  if (what == operation::cancel || what == operation::stop || what == operation::force_stop) {
    // The work ends without any further step.
    if (expected.answer) until([&] { return on.heard.ends_of(id).size() == 1; });
  }
  on.let_go();
  const bool can_be_paused =
      what == operation::pause || from == state::paused_function || from == state::paused_coroutine;
  if (can_be_paused && !is_finished(from) && what != operation::resume && expected.end == succeeded) {
    // It pauses at its next checkpoint.
    until([&] { return on.p.status(id) == work_status::paused; });
    EXPECT_TRUE(on.p.resume(id));
  }
  until([&] { return on.heard.ends_of(id).size() == 1 && on.heard.callbacks_of(id) == 1; });
  if (blocks) caller->join();
  EXPECT_EQ(answer, expected.answer ? 1 : 0);
  on.p.wait_idle();
  EXPECT_EQ(on.heard.ends_of(id).size(), 1U);
  EXPECT_EQ(on.heard.ends_of(id).front().status, expected.end);
  EXPECT_EQ(on.heard.callbacks_of(id), 1U);
  EXPECT_EQ(on.p.stats().outstanding, 0U);
  EXPECT_EQ(on.p.stats().waiting, 0U);
}

INSTANTIATE_TEST_SUITE_P(cells,
                         state_by_operation,
                         ::testing::Combine(::testing::Values(state::reserved,
                                                              state::blocked,
                                                              state::held_until_start,
                                                              state::parked_by_its_group,
                                                              state::backing_off,
                                                              state::queued,
                                                              state::running_function,
                                                              state::running_segment,
                                                              state::between_segments,
                                                              state::paused_function,
                                                              state::paused_coroutine,
                                                              state::run_by_its_waiter,
                                                              state::run_by_a_helper,
                                                              state::run_by_its_caller,
                                                              state::finished_with_handle,
                                                              state::finished_and_stored,
                                                              state::finished_and_forgotten),
                                            ::testing::Values(operation::cancel,
                                                              operation::stop,
                                                              operation::force_stop,
                                                              operation::pause,
                                                              operation::resume,
                                                              operation::wait,
                                                              operation::fetch)),
                         [](const auto& cell) {
                           return std::string(
                                      names_of_states[static_cast<unsigned>(std::get<0>(cell.param))]) +
                                  "_by_" +
                                  names_of_operations[static_cast<unsigned>(std::get<1>(cell.param))];
                         });

static_assert(std::size(table) == std::size(names_of_states));

}  // namespace
}  // namespace state_by_operation_test
