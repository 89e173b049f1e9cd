// What the nodes of a tree record while they run: frames, items, ends. Failed checks are kept for the report.
#pragma once

#include "fuzz/composition_tree.hpp"

#include <rota/async_generator.hpp>
#include <rota/async_scope.hpp>
#include <rota/cancel.hpp>
#include <rota/error.hpp>
#include <rota/finally.hpp>
#include <rota/join_set.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/stop_token.hpp>
#include <rota/task.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#if ROTA_MODEL
#include <rota/testing/explore.hpp>
#endif

#include <array>
#include <atomic>
#include <chrono>
#include <utility>

namespace compositions {

using namespace std::chrono_literals;
using rota::task;
using time_point = std::chrono::steady_clock::time_point;

#if ROTA_MODEL
inline time_point now() { return rota::testing::now(); }
#else
inline time_point now() { return std::chrono::steady_clock::now(); }
#endif

/// The exception of a node.
struct failure {
  unsigned id;
};

/// The place of a node: what its shape does not tell.
struct place {
  time_point outer = time_point::max();  // no later deadline is around it
  bool may_be_refused = false;  // a shutdown refuses its tasks, and it is shielded from that shutdown
};

class books {
 public:
  books(const tree& t, rota::pool::thread_pool* jobs) : of(t), pool(jobs) {}
  books(const books&) = delete;
  books& operator=(const books&) = delete;
  ~books() = default;

  const tree& of;
  rota::pool::thread_pool* const pool;
  // seq_cst throughout: no check depends on a weaker order.
  std::atomic<int> locals{0};
  std::atomic<int> items{0};

  /// Again and again, if the node is repeated.
  void enter(const node& n) {
    ++locals;
    ended_[n.id] = false;
    done_[n.id] = false;
    ++running_[n.id];
  }
  void leave(const node& n) {
    --running_[n.id];
    --locals;
  }
  /// It ended by itself: with a value or an exception.
  void note_end(const node& n) { ended_[n.id] = true; }
  [[nodiscard]] bool has_ended(const node& n) const { return ended_[n.id]; }
  [[nodiscard]] bool is_running(const node& n) const { return running_[n.id] != 0; }

  /// What a task sees of another one that may outlive the tree's root.
  void note_done(const node& n) { done_[n.id] = true; }
  [[nodiscard]] bool is_done(const node& n) const { return done_[n.id]; }

  /// The root has ended. Tasks that are left, and that nothing awaits, are cancelled where they are.
  void note_over() { is_over_ = true; }

  /// Keeps the first fault.
  void demand(bool holds, const char* what, const node& at) {
    if (holds || is_over_) return;
    const char* none = nullptr;
    if (fault_.compare_exchange_strong(none, what)) fault_at_ = at.id;
  }
  [[nodiscard]] const char* fault() const { return fault_; }
  [[nodiscard]] unsigned fault_at() const { return fault_at_; }

 private:
  std::array<std::atomic<int>, tree::most_nodes> running_{};
  std::array<std::atomic<bool>, tree::most_nodes> ended_{};
  std::array<std::atomic<bool>, tree::most_nodes> done_{};
  std::atomic<bool> is_over_{false};
  std::atomic<const char*> fault_{nullptr};
  std::atomic<unsigned> fault_at_{0};
};

/// A local of a frame of node `n`.
class visit {
 public:
  visit(books& b, const node& n) : books_(b), node_(n) { books_.enter(node_); }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;
  ~visit() { books_.leave(node_); }

 private:
  books& books_;
  const node& node_;
};

/// A local of a frame that may outlive its node, such as one of a detached task.
class guest {
 public:
  explicit guest(books& b) : books_(b) { ++books_.locals; }
  guest(const guest&) = delete;
  guest& operator=(const guest&) = delete;
  ~guest() { --books_.locals; }

 private:
  books& books_;
};

/// The first local of a frame. The frame's children must have ended when it is destroyed, in any way.
class ended_before {
 public:
  ended_before(books& b, const node& n) : books_(b), node_(n) {}
  ended_before(const ended_before&) = delete;
  ended_before& operator=(const ended_before&) = delete;
  ~ended_before() { check(); }

  void check() const {
    for (const unsigned each : node_.children) {
      books_.demand(
          !books_.is_running(books_.of.nodes[each]), "a child runs on after the end of its parent", node_);
    }
  }

 private:
  books& books_;
  const node& node_;
};

/// Sent through channels: each is destroyed once.
class parcel {
 public:
  parcel(books& b, int n) : number(n), books_(&b) { ++books_->items; }
  parcel(parcel&& other) noexcept : number(other.number), books_(std::exchange(other.books_, nullptr)) {}
  parcel& operator=(parcel&& other) noexcept {
    std::swap(number, other.number);
    std::swap(books_, other.books_);
    return *this;
  }
  ~parcel() {
    if (books_ != nullptr) --books_->items;
  }

  int number;

 private:
  books* books_;
};

inline std::chrono::microseconds span_of(const node& n) { return std::chrono::microseconds(n.micros); }

/// Runs a node, and checks its end.
task<int> run(books& b, const node& n, place p);

/// A node that takes longer now and then.
inline task<> pause(const node& n) {
  if (n.micros == 0) co_return;
  if (n.micros % 3 == 0) {
    co_await rota::yield();
  } else {
    co_await rota::sleep_for(span_of(n));
  }
}

/// The same without a suspension: tasks that were spawned before may be in any state meanwhile.
inline void hold_up([[maybe_unused]] const node& n) {
#if !ROTA_MODEL
  const auto until = now() + span_of(n) / 4;
  while (n.lasts && now() < until) {
  }
#endif
}

// ---- checks of what a task sees of a child

inline int checked_value(books& b, const node& child, int value) {
  b.demand(value == static_cast<int>(child.id), "the value is not the child's", child);
  b.demand(child.may.value, "a value of a child that has none", child);
  return value;
}

/// Rethrows an exception. `cut`: the parent itself may have cancelled the child.
inline void check_outcome(
    books& b, const node& child, const place& p, const rota::outcome<int>& end, bool cut) {
  if (end.has_value()) {
    checked_value(b, child, end.value());
    return;
  }
  try {
    static_cast<void>(end.value());
  } catch (const failure& f) {
    b.demand((child.may.throws >> f.id & 1U) != 0, "the exception is not the child's", child);
  } catch (const rota::cancelled_error&) {
    b.demand(cut || child.may.cancelled || p.may_be_refused,
             "a cancellation that is not the child's is seen",
             child);
  } catch (...) {
    b.demand(false, "an exception that no node has thrown", child);
  }
}
/// For a node that ends as its child did.
inline int pass_on(const node& n, const rota::outcome<int>& end) {
  static_cast<void>(end.value());
  return static_cast<int>(n.id);
}

}  // namespace compositions
