// Tasks that wait until nothing of a group, or of the pool, is outstanding.
#pragma once

#include <rota/waker.hpp>

#include <utility>

namespace rota::pool::detail {

/// The node of one task in a list of waiting tasks.
struct rest_waiter {
  waker wake;
  rest_waiter* next = nullptr;
  rest_waiter** place = nullptr;  // the pointer that refers to this node; null: in no list
  bool is_granted = false;        // since the task was added, there was a moment with nothing outstanding
};

// PROTOCOL: tasks that wait for rest
//   Everything is under the lock of the owner: the lock of the groups, or that of the pool. A task enters
//   `waiting_`. The thread that finds that nothing is outstanding moves all of `waiting_` to `granted_` in
//   one critical section, so a task that comes later is not granted by an earlier moment. Any thread then
//   takes tasks out of `granted_`, one for each critical section, and wakes each without the lock. A task
//   that gives up removes itself from either list; a node that is in no list is not touched by another
//   thread.
class rest_waiters {
 public:
  rest_waiters() = default;
  rest_waiters(const rest_waiters&) = delete;
  rest_waiters& operator=(const rest_waiters&) = delete;
  ~rest_waiters() = default;

  /// Returns true if a task waits that was not granted yet.
  [[nodiscard]] bool any() const noexcept { return waiting_ != nullptr; }
  void add(rest_waiter& one) noexcept { link(waiting_, one); }
  /// Without effect on a node that is in no list.
  static void remove(rest_waiter& one) noexcept {
    if (one.place == nullptr) return;
    *one.place = one.next;
    if (one.next != nullptr) one.next->place = one.place;
    one.place = nullptr;
  }
  void grant_all() noexcept {
    while (rest_waiter* const one = waiting_) {
      remove(*one);
      one->is_granted = true;
      link(granted_, *one);
    }
  }
  /// Takes one task that was granted out of its list, and moves its waker into `wake`, which is empty.
  /// Returns false if there is none.
  [[nodiscard]] bool take(waker& wake) noexcept {
    rest_waiter* const one = granted_;
    if (one == nullptr) return false;
    remove(*one);
    wake = std::move(one->wake);
    return true;
  }

 private:
  static void link(rest_waiter*& first, rest_waiter& one) noexcept {
    one.next = first;
    if (first != nullptr) first->place = &one.next;
    first = &one;
    one.place = &first;
  }

  rest_waiter* waiting_ = nullptr;
  rest_waiter* granted_ = nullptr;
};

}  // namespace rota::pool::detail
