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
//   One thread for the process, only while there is somebody to wait for: it sleeps in an epoll of its own in which their pidfds are. That epoll is
//   also the list: nothing is allocated for a child.
//
//   epoll_     -1, or opened when it was asked for first; never closed              under `lock_`
//   waited_    children in it                                                       under `lock_`
//   runs_      the thread is there, and will look at waited_ before it ends         under `lock_`
//   made_      whose all of this is: a fork begins anew. The epoll that it has is its parent's, too, and stays as it is; the lock may be taken
//
//   add:     lock · into the epoll · waited_ + 1 · no thread: start one · unlock
//   thread:  wait · each event: ask for the end, out of the epoll, close · lock · waited_ - so many · none: not runs_, end · unlock
//
//   I1  waited_ > 0 implies runs_, unless the system has refused a thread; the next child asks for one again.
//   Its thread may outlive every runtime, so all that it uses is of static storage and has no destructor.
class reaper {
 public:
  /// False: it could not be taken, or `soon`, and there is no thread to look at it.
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

  /// Whoever finds no room for one leaves it to the next who comes.
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

  /// An event may come late, for a number that means something else by now: then there is no end to be asked for.
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
  // No descriptor, no memory, no thread. Who was killed ends at once, or as soon as the kernel lets it; for the other its zombie stays.
  if (soon) sys::reap_process_blocking(pidfd);
  sys::close(pidfd);
}

}  // namespace rota::process::detail
