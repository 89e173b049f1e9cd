#include "solo/scheduler.hpp"

#include "base/thread.hpp"
#include "task/describe.hpp"
#include "task/harness.hpp"
#include "task/unhandled.hpp"

#include <rota/testing/runtime.hpp>

#include <cstdio>
#include <utility>

namespace rota::solo {

namespace {

constexpr unsigned timers_at_once = 128;

scheduler& of(core::scheduler& s) noexcept { return static_cast<scheduler&>(s); }
const scheduler& of(const core::scheduler& s) noexcept { return static_cast<const scheduler&>(s); }
scheduler& owner_of(core::header& task) noexcept { return of(*task.owner); }

}  // namespace

const core::scheduler_ops scheduler::ops_table{
    .admit =
        [](core::scheduler& s) noexcept {
          scheduler& self = of(s);
          self.demand_own_thread();
          ++self.alive_;
          ++self.memories_;
          return !self.closing_;
        },
    .schedule = [](core::header& task) noexcept { owner_of(task).push(task); },
    .reschedule = [](core::header& task) noexcept { owner_of(task).push(task); },
    .take_entry =
        [](core::header& task) noexcept {
          const scheduler& self = owner_of(task);
          self.demand_own_thread();
          return self.running_ ? core::on_take::no_entry : core::on_take::not_here;
        },
    .enroll =
        [](core::scheduler& s, core::header& task) noexcept {
          of(s).registry_.enroll(task, 0);
          if (of(s).closing_) core::cancel(task, cancel_reason::shutdown);
        },
    .withdraw = [](core::scheduler& s, core::header& task) noexcept { of(s).registry_.withdraw(task); },
    .rename = [](core::scheduler& s,
                 core::header& task,
                 void* name) noexcept { of(s).registry_.rename(task, name); },
    .ended = [](core::scheduler& s, core::header&, bool) noexcept { --of(s).alive_; },
    .unhandled = [](core::scheduler& s,
                    core::header&,
                    std::exception_ptr what) noexcept { of(s).note_unhandled(std::move(what)); },
    .children = [](core::scheduler& s) noexcept -> core::scheduler& { return s; },
    .now = [](const core::scheduler& s) noexcept { return of(s).now(); },
    .timer_shard = [](core::scheduler& s) noexcept -> timing::shard& { return of(s).shard_; },
    .deadline_moved = [](core::scheduler&, base::time_point) noexcept {},
    .blocking = [](core::scheduler& s) noexcept { return &s; },  // the one thread may block
    .is_open = [](const core::scheduler& s) noexcept { return !of(s).closing_; },
    .run_another =
        [](core::scheduler& s, base::time_point limit) noexcept {
          return !of(s).running_ && (of(s).run_one() || of(s).move_to_next_timer(limit));
        },
    .draw = [](core::scheduler& s) noexcept { return of(s).random_.next(); },
    .dump = [](core::scheduler& s) { return of(s).describe_tasks(); },
    .freed = [](core::scheduler& s) noexcept { of(s).note_freed(); },
};

scheduler::scheduler(std::uint64_t seed)
    : core::scheduler{&ops_table, &passed_},
      thread_(base::this_thread_id()),
      random_(seed),
      time_(testing::runtime::beginning),
      shard_(time_) {}

void scheduler::demand_own_thread() const noexcept {
  if (base::this_thread_id() != thread_)
    ROTA_FATAL("a testing::runtime is used on another thread than its own", base::this_thread_id());
}

void scheduler::push(core::header& task) noexcept {
  demand_own_thread();
  ready_.push_back(&task);
}

bool scheduler::run_one() {
  demand_own_thread();
  if (ready_.empty()) return false;
  std::swap(ready_[random_.below(static_cast<std::uint32_t>(ready_.size()))], ready_.back());
  core::header* const next = ready_.back();
  ready_.pop_back();
  if (closing_) core::cancel(*next, cancel_reason::shutdown);
  const bool outer = std::exchange(running_, true);
  core::run_entry(*next);
  running_ = outer;
  return true;
}

std::size_t scheduler::run_until_stalled() {
  std::size_t runs = 0;
  while (run_one()) ++runs;
  return runs;
}

bool scheduler::move_to_next_timer(base::time_point limit) {
  const base::time_point next = shard_.earliest();
  if (next == base::never || next > limit) return false;
  move_to(next);
  return true;
}

void scheduler::move_to(base::time_point time) {
  if (time > time_) time_ = time;
  fire_timers();
}

void scheduler::fire_timers() {
  while (shard_.poll(time_, timers_at_once) != 0) {
  }
}

/// If the outcome of the root is still there, block_on() has thrown another exception.
void scheduler::drop_root(core::header& root) noexcept {
  dropping_root_ = true;
  core::drop(&root);
  dropping_root_ = false;
}

void scheduler::note_unhandled(std::exception_ptr what) noexcept {
  if (dropping_root_) return;
  // While it closes: a task that gets another task's cancellation as an outcome before its own has nothing to
  // report.
  if (unhandled_ == nullptr && !(closing_ && core::is_cancellation(what))) unhandled_ = std::move(what);
}

void scheduler::rethrow_unhandled() {
  if (unhandled_ != nullptr) std::rethrow_exception(std::exchange(unhandled_, nullptr));
}

void scheduler::force_end(core::header& task) noexcept {
  core::cancel(task, cancel_reason::shutdown);
  const auto has_ended = [&task] { return task.word.load().is(core::lifecycle::complete); };
  if (runs_out([&] { return has_ended(); })) return;
  core::override_shields(task);
  if (!runs_out([&] { return has_ended(); })) ROTA_FATAL("a cancelled task does not end", task.id);
}

/// Runs tasks and moves the time until `is_over` returns true. Clean-ups and shields get the time that they
/// need, which costs none. Returns false if nothing can run, or after 100 000 timers: a clean-up may wait
/// again and again.
template <class Over>
bool scheduler::runs_out(Over is_over) noexcept {
  constexpr int timers = 100'000;
  for (int i = 0; i < timers; ++i) {
    run_until_stalled();
    if (is_over()) return true;
    if (!move_to_next_timer(base::never)) return false;
  }
  return false;
}

void scheduler::close() noexcept {
  demand_own_thread();
  closing_ = true;
  registry_.act_on_each([](core::header& task) { core::cancel(task, cancel_reason::shutdown); });
  if (!runs_out([this] { return alive_ == 0; })) {
    registry_.act_on_each([](core::header& task) { core::override_shields(task); });
    if (!runs_out([this] { return alive_ == 0; }))
      ROTA_FATAL("tasks of a testing::runtime do not end", alive_);
  }
  if (unhandled_ != nullptr) {
    std::fputs("rota: an exception of a task of a testing::runtime was not observed\n", stderr);
    std::rethrow_exception(unhandled_);  // out of noexcept: std::terminate, with the name of the exception
  }
  gone_ = true;
  if (memories_ == 0) delete this;
}

void scheduler::note_freed() noexcept {
  demand_own_thread();
  if (--memories_ == 0 && gone_) delete this;
}

std::string scheduler::describe_tasks() {
  std::string text =
      std::to_string(alive_) + " tasks alive, " + std::to_string(ready_.size()) + " runnable\n";
  registry_.for_each([&text](const core::header& task) { core::describe(text, task); });
  return text;
}

}  // namespace rota::solo
