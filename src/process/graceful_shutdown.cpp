#include <rota/graceful_shutdown.hpp>

#include "base/atomic.hpp"

#include <rota/detail/drain_gate.hpp>
#include <rota/error.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>
#include <rota/unix_signal.hpp>

#include <csignal>
#include <new>

namespace rota {

namespace detail {

/// The gate and the listening task. It lives as long as there is a reference: the events of the gate may be
/// set while the waiters of these events end.
class shutdown_state {
 public:
  shutdown_state() noexcept = default;
  shutdown_state(const shutdown_state&) = delete;
  shutdown_state& operator=(const shutdown_state&) = delete;
  ~shutdown_state() = default;

  sync::drain_gate gate;

  void trigger(int number) noexcept {
    int none = 0;
    if (!gate.is_closed()) {
      // relaxed: published by the gate: a thread that has seen it closed reads this. The first number stays.
      // failure: relaxed: nothing is read.
      signal_.compare_exchange_strong(none, number, base::order::relaxed, base::order::relaxed);
    }
    static_cast<void>(gate.close());
  }
  [[nodiscard]] int signal() const noexcept {
    if (!gate.is_closed()) return 0;
    // relaxed: the gate was seen closed.
    return signal_.load(base::order::relaxed);
  }

  join_handle<void> listener;  // used by its owner only

  void retain() noexcept {
    // relaxed: the caller owns a reference.
    references_.fetch_add(1, base::order::relaxed);
  }
  void release() noexcept {
    // acq_rel: release: this last use happens before the delete. acquire: before the delete, all other uses
    // have happened.
    if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
  }

 private:
  base::atomic<int> signal_{0};
  base::atomic<std::uint32_t> references_{1};
};

shutdown_ref::shutdown_ref(const shutdown_ref& other) noexcept : state_(other.state_) {
  if (state_ != nullptr) state_->retain();
}

shutdown_ref::~shutdown_ref() {
  if (state_ != nullptr) state_->release();
}

shutdown_state& shutdown_ref::operator*() const noexcept {
  if (state_ == nullptr) [[unlikely]]
    ROTA_FATAL("a graceful_shutdown was used after it was moved from", 0);
  return *state_;
}

namespace {

/// Waits for the first signal. The subscription ends with this task.
task<void> listen(shutdown_ref state, unix_signal signals) {
  const int number = co_await signals.next();
  state->trigger(number);
}

}  // namespace

}  // namespace detail

io::result<graceful_shutdown> graceful_shutdown::open(std::initializer_list<int> numbers) noexcept {
  auto* const state = new (std::nothrow) detail::shutdown_state;
  if (state == nullptr) return std::unexpected(std::make_error_code(std::errc::not_enough_memory));
  graceful_shutdown made{detail::shutdown_ref(state)};
  if (numbers.size() == 0) return made;
  auto signals = unix_signal::open(numbers);
  if (!signals.has_value()) return std::unexpected(signals.error());
  try {
    // Not rota::spawn: the listener must not inherit a deadline of this place.
    auto listening = detail::listen(made.state_, std::move(*signals));
    state->listener = core::spawn_on(core::current_scheduler(), std::move(listening));
  } catch (const std::bad_alloc&) {
    return std::unexpected(std::make_error_code(std::errc::not_enough_memory));
  }
  return made;
}

io::result<graceful_shutdown> graceful_shutdown::open() noexcept { return open({SIGINT, SIGTERM}); }

graceful_shutdown::~graceful_shutdown() {
  if (state_) state_->listener.cancel();
  if (state_) state_->listener.detach();
}

void graceful_shutdown::trigger() noexcept { state_->trigger(0); }
bool graceful_shutdown::is_triggered() const noexcept { return state_->gate.is_closed(); }
core::plain_wait<sync::event> graceful_shutdown::wait() noexcept { return state_->gate.closed().wait(); }
int graceful_shutdown::signal() const noexcept { return state_->signal(); }
std::size_t graceful_shutdown::pending() const noexcept { return state_->gate.inside(); }

std::optional<graceful_shutdown::work_guard> graceful_shutdown::begin_work() noexcept {
  if (!state_->gate.enter()) return std::nullopt;
  return work_guard(state_);
}

task<io::result<void>> graceful_shutdown::drain_within(detail::shutdown_ref state,
                                                       std::chrono::nanoseconds limit) {
  state->trigger(0);
  const auto all = co_await timeout(limit, state->gate.drained().wait());
  if (!all.has_value()) co_return std::unexpected(make_error_code(errc::timed_out));
  co_return io::result<void>();
}

graceful_shutdown::work_guard::~work_guard() {
  if (state_) state_->gate.leave();
}

}  // namespace rota
