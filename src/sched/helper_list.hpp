// The threads in join(help) that play no role and have found the injector empty.
#pragma once

#include "base/mutex.hpp"
#include "task/outside_helper.hpp"

#include <cstdint>

namespace rota::sched {

// PROTOCOL: helpers and the injector
//
//   producer                                  helper
//   push into the injector                    the injector is empty
//   read count_                               enter the list; count_ + 1
//   count_ is not 0: under the lock           check the injector once more (re-scan)
//     take a helper out of the list             a task: leave the list, take the task
//     set its bit, wake it                      nothing: sleep until a bit is set, then leave the list
//
// Lost wakeup. (1) The helper finds the injector empty. (2) A task is pushed. (3) The producer reads count_
// == 0. (4) The helper sleeps, and every worker is occupied by a task that waits for the pushed one.
// Why it cannot happen: the push, the producer's read, the helper's read-modify-write of count_ and its
// re-scan are seq_cst. Either the re-scan finds the push, or the producer reads the count.
//
// A call is passed on. A producer calls one helper for a push, but a push may contain several tasks, and a
// called helper may find that its own target has ended and leave without a task. So a helper calls the next
// one, if the injector is not empty, (1) after it has taken a task and before it runs it, and (2) before it
// returns because its target has ended.
//
// Workers are woken by their own protocol, also for a task for which a helper is called: one of the two finds
// the injector empty.
//
// Locks: the list and a helper's bit in it are changed under mutex_. count_ is changed under mutex_, and read
// by producers without it.
class helper_list {
 public:
  helper_list() = default;
  helper_list(const helper_list&) = delete;
  helper_list& operator=(const helper_list&) = delete;
  ~helper_list() = default;

  /// Called after a push into the injector: calls the helper that has waited longest, if there is one.
  void call_one() noexcept {
    // seq_cst: the second of the four accesses: after the push.
    if (count_.load(base::order::seq_cst) != 0) take_and_call();
  }

  void enter(core::outside_helper& me) noexcept;
  /// Removes `me` from the list. When this returns no thread calls `me` any more.
  void leave(core::outside_helper& me) noexcept;

 private:
  void take_and_call() noexcept;
  void unlink(core::outside_helper& each) noexcept;

  base::atomic<std::uint32_t> count_{0};
  base::mutex mutex_;
  core::outside_helper* first_ = nullptr;
  core::outside_helper* last_ = nullptr;
};

}  // namespace rota::sched
