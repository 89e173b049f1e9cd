#include "process/reaper.hpp"

#include "base/mutex.hpp"
#include "base/sys/events.hpp"
#include "base/sys/files.hpp"
#include "base/sys/processes.hpp"
#include "base/thread.hpp"
#include "process/per_process.hpp"

#include <cstdint>
#include <new>

namespace rota::process::detail {

namespace sys = base::sys;

namespace {

// PROTOCOL: reaper
//   One thread for the process, only while there are children to wait for. It sleeps in an epoll of its own
//   that watches their pidfds. That epoll is also the list: nothing is allocated for a child.
//
//   epoll_     -1, or opened at its first use; never closed                         under `lock_`
//   waited_    children in it                                                       under `lock_`
//   runs_      the thread exists, and will check waited_ before it ends             under `lock_`
//   made_      the process that owns this state: a fork makes it anew. The epoll that a fork has is shared
//              with its parent and stays as it is; the lock may be held there
//
//   add:     lock · into the epoll · waited_ + 1 · no thread: start one · unlock
//   thread:  wait · each event: reap, out of the epoll, close · lock · waited_ - so many · none: not runs_,
//            end · unlock
//
//   I1  waited_ > 0 implies runs_, unless the system has refused a thread; the next child tries to start one
//       again.
//   The thread may outlive every runtime, so all that it uses has static storage and no destructor.
class reaper {
 public:
  /// Adds a child. Returns false if it could not be added, or if `soon` and there is no thread to wait for
  /// it.
  bool add(int pidfd, bool soon) noexcept {
    made_.ensure(base::this_process_id(), [this]() noexcept { begin(); });
    const base::lock_guard lock(lock_);
    if (!has_epoll()) return false;
    if (!sys::epoll_add_input(epoll_, pidfd, static_cast<std::uint64_t>(pidfd)).has_value()) return false;
    ++waited_;
    if (!runs_) start();
    if (runs_ || !soon) return true;
    --waited_;
    sys::epoll_remove(epoll_, pidfd);
    return false;
  }

 private:
  void begin() noexcept {
    ::new (static_cast<void*>(&lock_)) base::mutex;
    epoll_ = -1;
    waited_ = 0;
    runs_ = false;
  }

  /// Opens the epoll. If it cannot be opened the next call tries again.
  bool has_epoll() noexcept {
    if (epoll_ != -1) return true;
    const auto made = sys::epoll_create();
    if (made.has_value()) epoll_ = *made;
    return made.has_value();
  }

  void start() noexcept {
    auto made = base::thread::start(
        "rota-reaper", [](void* self) noexcept { static_cast<reaper*>(self)->run(); }, this);
    if (!made.has_value()) return;
    made->detach();
    runs_ = true;
  }

  void run() noexcept {
    constexpr int batch = 16;
    epoll_event found[batch];
    for (;;) {
      const auto count = sys::epoll_wait(epoll_, found, batch, base::never);
      unsigned ended = 0;
      for (unsigned i = 0; count.has_value() && i < *count; ++i)
        ended += see_to(static_cast<int>(found[i].data.u64)) ? 1U : 0U;
      const base::lock_guard lock(lock_);
      waited_ -= ended;
      if (waited_ != 0) continue;
      runs_ = false;
      return;
    }
  }

  /// Reaps one child. An event may come late, for a number that means another file by now: then there is
  /// nothing to reap.
  bool see_to(int pidfd) const noexcept {
    const auto end = sys::reap_process(pidfd);
    const bool is_over =
        end.has_value() ? end->how != sys::how_ended::not_yet : end.error() == std::errc::no_child_process;
    if (!is_over) return false;
    sys::epoll_remove(epoll_, pidfd);
    sys::close(pidfd);
    return true;
  }

  per_process made_;
  base::mutex lock_;
  int epoll_ = -1;
  unsigned waited_ = 0;
  bool runs_ = false;
};

constinit reaper the_reaper;

}  // namespace

void reap_later(int pidfd, bool soon) noexcept {
  if (the_reaper.add(pidfd, soon)) return;
  // No descriptor, no memory or no thread. A killed child ends at once, or as soon as the kernel lets it;
  // another child stays as a zombie.
  if (soon) sys::reap_process_blocking(pidfd);
  sys::close(pidfd);
}

}  // namespace rota::process::detail
