// The waiters of a mailbox: threads that sleep, and leaves of tasks.
#pragma once

#include <cstdint>
#include <utility>

#include <rota/cancel_reason.hpp>
#include <rota/detail/base.hpp>
#include <rota/leaf.hpp>
#include <rota/waker.hpp>

namespace rota::gate::detail {

class mailbox_core;

/// The links of a node in a ring of such nodes. A node that is alone is a ring of its own.
template <class Node>
struct ring_links {
  Node* next = static_cast<Node*>(this);
  Node* before = static_cast<Node*>(this);

  void insert_after(Node& where) noexcept {
    before = &where;
    next = std::exchange(where.next, static_cast<Node*>(this));
    next->before = static_cast<Node*>(this);
  }
  void unlink() noexcept {
    before->next = next;
    next->before = before;
    next = before = static_cast<Node*>(this);
  }
  [[nodiscard]] bool is_alone() const noexcept { return next == this; }

 private:
  friend Node;
  ring_links() = default;
};

/// A waiter in one of its mailbox's rings, under the mailbox's lock. The ring's own node belongs to no
/// waiter.
struct mailbox_waiter : ring_links<mailbox_waiter> {
  waker by_task;                         // null: the waiter is a thread, which sleeps on `woken`
  std::uint32_t seen = 0;                // if it waits for emptiness: the value of `emptied` when it came
  bool until_over = false;               // waits for the end, not for emptiness
  base::atomic<std::uint32_t> woken{0};  // the waker's last access

  [[nodiscard]] bool was_woken() const noexcept {
    // acquire: pairs with the release store of the waker.
    return woken.load(base::order::acquire) != 0;
  }
};

/// Completes at once, but counts as an operation of the task.
class ROTA_DETAIL_AWAIT_IT ROTA_API turn_leaf final : public leaf {
 public:
  enum class after : unsigned char {
    nothing,
    an_end,  // the task has seen that a mailbox is closed, and stops if the same cause holds for it
  };
  explicit turn_leaf(after what) noexcept : after_(what) {}
  [[nodiscard]] bool is_discardable() noexcept final { return after_ == after::an_end; }
  [[nodiscard]] bool is_ready() noexcept final { return true; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept final { return cancel_progress::ended; }
  [[nodiscard]] const char* what() const noexcept final { return "a turn"; }
  void await_resume() const noexcept {}

 protected:
  bool start() final;

 private:
  after after_;
};

/// Completes when there may be space, or the mailbox is closed.
class ROTA_DETAIL_AWAIT_IT ROTA_API room_leaf final : public leaf {
 public:
  /// `again`: it was woken before and found no space; it goes ahead of the waiters that have not been woken
  /// yet.
  room_leaf(mailbox_core& box, bool again) noexcept : box_(&box), again_(again) {}

  [[nodiscard]] bool is_ready() noexcept final { return at_once_ || me_.was_woken(); }
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  [[nodiscard]] const char* what() const noexcept final { return "room in a mailbox"; }
  void await_resume() const noexcept {}

 protected:
  bool start() final;

 private:
  mailbox_core* box_;
  bool at_once_ = false;  // it did not have to wait
  bool again_;
  mailbox_waiter me_;
};

/// Completes when a mailbox was empty once, or has ended.
class ROTA_DETAIL_AWAIT_IT ROTA_API rest_leaf final : public leaf {
 public:
  enum class until : unsigned char { empty, over };
  rest_leaf(mailbox_core& box, until what) noexcept : box_(&box) { me_.until_over = what == until::over; }

  [[nodiscard]] bool is_ready() noexcept final { return at_once_ || me_.was_woken(); }
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  /// Like the leaf of an event.
  [[nodiscard]] bool is_discardable() noexcept final { return true; }
  [[nodiscard]] const char* what() const noexcept final {
    return me_.until_over ? "the end of a mailbox" : "an empty mailbox";
  }
  void await_resume() const noexcept {}

 protected:
  bool start() final;

 private:
  mailbox_core* box_;
  bool at_once_ = false;  // it did not have to wait
  mailbox_waiter me_;
};

}  // namespace rota::gate::detail
