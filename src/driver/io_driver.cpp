#include "driver/io_driver.hpp"

#include <rota/error.hpp>

#include <algorithm>

namespace rota::driver {

std::error_code io_driver::open(io_backend wanted, const ring::sizes& sizes) noexcept {
  if (const std::error_code failed = epoll_.open()) return failed;
  if (wanted != io_backend::uring) return {};
  auto made = ring::make(sizes);
  if (!made.has_value()) return made.error();
  if (const std::error_code failed = epoll_.watch_for_others((*made)->descriptor())) return failed;
  ring_ = std::move(*made);
  return {};
}

io_stats io_driver::stats() const noexcept {
  io_stats sum{.watched = epoll_.watched()};
  if (ring_ == nullptr) return sum;
  const operation_counts counts = ring_->counts();
  sum.operations = counts.started;
  sum.cancelled = counts.cancelled;
  sum.resubmitted = counts.resubmitted;
  sum.refused = counts.refused;
  sum.overflows = ring_->overflows();
  return sum;
}

unsigned io_driver::wait_for_both(base::time_point deadline, event* found, unsigned most) noexcept {
  // acq_rel: same word as in tell_of_refusal(): the flush comes after it.
  waits_.exchange(1, base::order::acq_rel);
  deadline = sooner_after_refusal(deadline);
  // Half of the space is for completions, so that neither source starves the other. If completions were
  // found, more may be there: an edge comes only for completions after this check. So epoll must not block
  // then.
  unsigned count = ring_->reap(found, std::max(most / 2, 1U));
  if (count != 0) deadline = base::time_point::min();
  if (count < most) count += epoll_.wait(deadline, found + count, most - count);
  if (count < most) count += ring_->reap(found + count, most - count);
  // relaxed: a thread that sees it late interrupts a driver in which no thread waits: the next wait returns
  // at once.
  waits_.exchange(0, base::order::relaxed);
  return count;
}

base::time_point io_driver::sooner_after_refusal(base::time_point deadline) noexcept {
  using std::chrono::milliseconds;
  if (ring_->flush()) {
    pause_ = {};
    return deadline;
  }
  pause_ = std::clamp<base::nanoseconds>(pause_ * 2, milliseconds(1), milliseconds(100));
  return std::min(deadline, base::now() + pause_);
}

void io_driver::tell_of_refusal() noexcept {
  // acq_rel: same word as in wait_for_both(): either its flush sees what was refused, or it is interrupted.
  if (waits_.fetch_add(0, base::order::acq_rel) != 0) epoll_.interrupt();
}

void io_driver::dispatch(const event* found, unsigned count) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    if ((found[i].key & operation_desk<base::sys::uring>::is_operation) != 0) {
      ring_->complete(found[i]);
    } else {
      epoll_.dispatch(&found[i], 1);
    }
  }
}

std::expected<std::uint32_t, std::error_code> io_driver::add(int fd, interest what) noexcept {
  if (!is_own_process()) return std::unexpected(make_error_code(errc::forked));
  return epoll_.add(fd, what);
}

}  // namespace rota::driver
