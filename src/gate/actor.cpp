#include <rota/detail/actor_request.hpp>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "gate/executor_core.hpp"
#include "task/header.hpp"

#include <rota/detail/chrono.hpp>
#include <rota/error.hpp>
#include <rota/gate/actor.hpp>

#include <stdexcept>

namespace rota::gate::detail {

namespace {

constexpr std::uint32_t waiting = 0;
constexpr std::uint32_t begun = 1;
constexpr std::uint32_t withdrawn = 2;
constexpr std::uint32_t phase_done = 3;
constexpr std::uint32_t phase_closed = 4;
constexpr std::uint32_t phase = 7;
constexpr std::uint32_t listens = 8;

}  // namespace

request::~request() = default;

void throw_full() { throw error(errc::queue_full, "a request to an actor"); }
void throw_closed() { throw error(errc::closed, "a request to an actor"); }
void throw_forked() { throw error(errc::forked, "a request to an actor"); }
void refuse_drops() {
  throw std::invalid_argument(
      "rota::gate: mailbox_options::on_full is drop_oldest, and must be reject or wait: an actor drops no "
      "questions");
}
void throw_needs_runtime() {
  throw std::invalid_argument(
      "rota::gate: the function is a coroutine, and must return: the actor's executor has threads of its "
      "own, and no runtime");
}

std::optional<task<void>> escalation::run(mailbox_core& /*box*/, void* /*state*/) {
  failed_->note_error_seen();
  std::rethrow_exception(thrown_);
}

bool reply_core::listen(waker by) noexcept {
  asker_is_mine_.set(true);
  asker_ = std::move(by);
  // acq_rel: release: pairs with end(), which takes the waker. acquire: also pairs with end(), if that came
  // first.
  const std::uint32_t before = word_.fetch_or(listens, base::order::acq_rel);
  if ((before & phase) < phase_done) return true;
  asker_ = waker();
  return false;
}

bool reply_core::give_up() noexcept {
  // acquire: pairs with end().
  std::uint32_t seen = word_.load(base::order::acquire);
  while ((seen & phase) == waiting) {
    // acquire: not weaker than the order on failure. failure: acquire: pairs with end().
    if (word_.compare_exchange_weak(seen, withdrawn, base::order::acquire, base::order::acquire)) {
      // No other thread uses the waker or the function any more.
      asker_is_mine_.set(true);
      asker_ = waker();
      drop_function();
      return true;
    }
  }
  if ((seen & phase) >= phase_done) return true;
  stop();
  return false;
}

bool reply_core::is_over() const noexcept {
  // acquire: pairs with end().
  return (word_.load(base::order::acquire) & phase) >= phase_done;
}

bool reply_core::was_withdrawn() const noexcept {
  // relaxed: written by the asker itself.
  return (word_.load(base::order::relaxed) & phase) == withdrawn;
}

void reply_core::wait(mailbox_core& box) noexcept {
  while (!is_over()) {
    if (!box.help_once()) sleep_until(base::never);
  }
}

bool reply_core::wait_for(mailbox_core& box, std::chrono::nanoseconds limit) noexcept {
  const base::time_point deadline = rota::detail::saturating_deadline(box.now(), limit);
  while (!is_over() && box.help_before(deadline)) {
  }
  while (!is_over() && box.now() < deadline && !box.is_alone()) sleep_until(deadline);
  return is_over();
}

void reply_core::sleep_until(base::time_point deadline) noexcept {
  // acquire: pairs with end().
  const std::uint32_t seen = word_.load(base::order::acquire);
  if ((seen & phase) >= phase_done) return;
  const executor_core::waiting_section section;
  static_cast<void>(base::futex_wait(word_, seen, deadline));
}

bool reply_core::was_abandoned() const noexcept {
  // relaxed: the caller has seen that the request is over.
  return (word_.load(base::order::relaxed) & phase) == phase_closed;
}

void reply_core::demand_reply() const {
  if (was_abandoned()) throw error(errc::closed, "an actor has ended before it replied");
}

bool reply_core::begin() noexcept {
  // relaxed: the mailbox has handed the request over, which orders it. failure: relaxed: the same reason.
  std::uint32_t seen = word_.load(base::order::relaxed);
  while ((seen & phase) == waiting) {
    if (word_.compare_exchange_weak(
            seen, begun | (seen & listens), base::order::relaxed, base::order::relaxed))
      return true;
  }
  return false;
}

void reply_core::finish() noexcept {
  drop_function();
  end(phase_done);
}

void reply_core::abandon() noexcept {
  // relaxed: only the thread that may end the request writes these phases, and that is the caller; otherwise
  // the asker withdraws, and needs no answer.
  const std::uint32_t seen = word_.load(base::order::relaxed) & phase;
  if (seen != waiting && seen != begun) return;
  // As if the function began: the asker does not touch it from now on.
  if (seen == waiting && !begin()) return;
  drop_function();
  end(phase_closed);
}

void reply_core::end(std::uint32_t how) noexcept {
  // relaxed: a hint; the compare-exchange decides.
  std::uint32_t seen = word_.load(base::order::relaxed);
  do {
    if ((seen & phase) == withdrawn) return;
    // acq_rel: release: pairs with is_over(): the reply is there. acquire: pairs with listen(): so is the
    // waker. failure: relaxed: again a hint.
  } while (!word_.compare_exchange_weak(seen, how, base::order::acq_rel, base::order::relaxed));
  if ((seen & listens) == 0) return;
  asker_is_mine_.set(true);
  if (asker_) {
    asker_.wake();
  } else {
    base::futex_wake(&word_, 1);
  }
}

struct stopper::parts {
  base::mutex lock;
  core::header* task = nullptr;  // under the lock: the task while it runs, or null
  bool is_stopped = false;       // under the lock
};

stopper::stopper() : parts_(new parts) {}
stopper::~stopper() { delete parts_; }

void stopper::stop() noexcept {
  core::header* task = nullptr;
  waker kept;
  {
    const base::lock_guard guard(parts_->lock);
    parts_->is_stopped = true;
    task = parts_->task;
    if (task != nullptr) kept = core::make_waker(*task);
  }
  // Not under the lock, because cancellation runs hooks that may take any lock. The task may have ended
  // meanwhile; the waker keeps its memory.
  if (task != nullptr) static_cast<void>(core::cancel(*task, cancel_reason::user));
}

stopper::running::running(stopper& by) noexcept : by_(&by) {
  core::header& me = *core::task_in_sight();
  bool is_late = false;
  {
    const base::lock_guard guard(by.parts_->lock);
    by.parts_->task = &me;
    is_late = by.parts_->is_stopped;
  }
  if (is_late) static_cast<void>(core::cancel(me, cancel_reason::user));
}

stopper::running::~running() {
  const base::lock_guard guard(by_->parts_->lock);
  by_->parts_->task = nullptr;
}

bool reply_leaf::start() { return !to_->listen(make_waker()); }

cancel_progress reply_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  return to_->give_up() ? cancel_progress::ended : cancel_progress::pending;
}

}  // namespace rota::gate::detail
