#include "pool/keeper.hpp"

#include <utility>

namespace rota::pool::detail {

namespace {
constexpr unsigned timers_at_once = 64;
}

void keeper::ensure_thread() noexcept {
  // acquire: pairs with the release store below.
  if (has_thread_.load(base::order::acquire)) return;
  const base::lock_guard guard(lock_);
  // relaxed: written under this lock.
  if (has_thread_.load(base::order::relaxed) || stopping_) return;
  auto started = base::thread::start("rota-pool-clock", thread_main, this);
  // release: pairs with lacks_thread(). The next timer tries again, too.
  lacks_thread_.store(!started.has_value(), base::order::release);
  if (!started.has_value()) return;
  thread_ = std::move(*started);
  // release: pairs with the load above.
  has_thread_.store(true, base::order::release);
}

void keeper::try_again() noexcept {
  {
    const base::lock_guard guard(lock_);
    const base::time_point now = base::now();
    if (now < next_try_) return;
    next_try_ = now + std::chrono::milliseconds(1);
  }
  ensure_thread();
}

void keeper::moved() noexcept {
  // acq_rel: after the shard's earliest deadline was stored; see the protocol.
  word_.fetch_add(1, base::order::acq_rel);
  base::futex_wake(&word_, 1);
}

timing::shard& keeper::shard() noexcept {
  ensure_thread();
  return shard_;
}

void keeper::arm(timing::timer_node& node, base::time_point deadline, waker wake) noexcept {
  ensure_thread();
  const auto armed = shard_.arm(node, deadline, std::move(wake));
  if (armed.duty == timing::on_arm::announce_earlier) moved();
}

void keeper::thread_main(void* self) noexcept { static_cast<keeper*>(self)->serve(); }

void keeper::serve() noexcept {
  // relaxed: read by this thread only.
  id_.store(base::this_thread_id(), base::order::relaxed);
  for (;;) {
    // acq_rel: the announcement: a thread that arms a timer later adds to word_.
    const std::uint32_t seen = word_.fetch_add(0, base::order::acq_rel);
    {
      const base::lock_guard guard(lock_);
      if (stopping_) return;
    }
    if (shard_.poll(base::now(), timers_at_once) != 0) continue;
    static_cast<void>(base::futex_wait(word_, seen, shard_.earliest()));
  }
}

void keeper::stop() noexcept {
  {
    const base::lock_guard guard(lock_);
    stopping_ = true;
  }
  moved();
  if (thread_.joinable()) thread_.join();
}

}  // namespace rota::pool::detail
