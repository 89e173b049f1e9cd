// A queue of items, and the watch that takes items out of it and makes works of them.
#pragma once

#include "base/mutex.hpp"
#include "pool/pool_core.hpp"

#include <rota/pool/watch.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace rota::pool::detail {

/// A FIFO list of items.
class item_list {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void push_back(source_node& item) noexcept;
  void push_front(source_node& item) noexcept;
  /// Returns null if the list is empty.
  [[nodiscard]] source_node* pop_front() noexcept;

 private:
  source_node* first_ = nullptr;
  source_node* last_ = nullptr;
  std::size_t size_ = 0;
};

inline void link_behind(flight_node& earlier, flight_node& node) noexcept {
  node.previous = &earlier;
  node.next_flying = earlier.next_flying;
  earlier.next_flying = node.next_flying->previous = &node;
}
inline void unlink(flight_node& node) noexcept {
  node.previous->next_flying = node.next_flying;
  node.next_flying->previous = node.previous;
}

// PROTOCOL: a source and its watch
//   The lock of the source protects everything: its lists, its watch, and all counts of the watch. Works are
//   made, ended and asked to stop without the lock. Items are moved and destroyed without it, too.
//
//   an item       lies                                        belongs to
//   waiting       in source_core::waiting                     the source
//   taken         in watch_core::flight_, and in a work       the watch; its function has it while that runs
//   given up      in source_core::given_up                    the source
//
//   V1  While a source is watched, an item waits only in three cases: `most` items are taken; a thread that
//       has just changed that has not called feed() yet; or there was no memory for a work, and the timer is
//       armed. So each push and each end of a work calls feed(), without the lock. It is enough that each
//       call starts one work. It starts one more, since `most` may have grown with the pool.
//   V2  A taken item leaves the taken state exactly once: at the end of its work, which the pool reports
//       once, or in start() if no work was made. Then it is in a list of the source, or destroyed. taken = in
//       works + the sum of the counts of all ways to leave.
//   V3  An item in a work has two users: the function, and the end. As a rule the function is destroyed
//       first, on the same thread. The function of an abandoned work is destroyed when its thread returns:
//       the later of the two users destroys the item. As long as there are such items (left_behind_), the
//       body is in use, too. Otherwise it is destroyed with the handle.
//   V4  stop() first writes the request under the lock, and then iterates over the list. start() first makes
//       its work visible in the list, enters it, and then checks for a request. So no work of a stopped watch
//       is missed.
//   V5  A thread that holds the lock takes no other lock.
//   V6  is_busy_: the watch itself is counted as outstanding, and in its group: from before an item can be
//       taken until there is nothing left to do. So a thread that waits for the pool, or for the group, waits
//       for each item that was in the source before, also while another thread has taken the item and has not
//       made a work of it yet. Both counts are changed without the lock. So a thread that adds an item first
//       raises them. Under the lock it then hands this hold over to the watch. If another thread was faster,
//       it drops the hold.
//
// The owners of references. To a watch: its handle, its source while it is watched, each taken item, and an
// armed timer. To a source: its owner, and each watch that it ever had. To the pool's memory: each watch, by
// a slot.
class source_core {
 public:
  using destroyer = void (*)(source_node*) noexcept;

  source_core(std::size_t most, destroyer how) noexcept : capacity(most), destroy(how) {}
  source_core(const source_core&) = delete;
  source_core& operator=(const source_core&) = delete;

  void retain() noexcept {
    // relaxed: the caller's reference keeps it alive.
    references_.fetch_add(1, base::order::relaxed);
  }
  void release() noexcept;
  /// Lets the watch take items, if there is one. Not under the lock.
  void feed() noexcept;
  /// Adds an item: `admitted` and `comes_back` to the end, `goes_back` to the front. Not under the lock. The
  /// caller must call feed() afterwards.
  enum class entry : std::uint8_t { admitted, comes_back, goes_back };
  void put(source_node& item, entry how) noexcept;

  const std::size_t capacity;
  const destroyer destroy;

  base::mutex lock;  // protects the fields below
  item_list waiting;
  item_list given_up;
  std::size_t admitted = 0;  // admitted, and not added yet
  bool is_closed = false;
  watch_core* watched_by = nullptr;  // with a reference

 private:
  ~source_core();
  base::atomic<std::uint32_t> references_{1};
};

class watch_core {
 public:
  enum class request : std::uint8_t { none, pool_has_ended, stop, stop_running, force };

  /// Takes ownership of `body`, if this does not throw.
  watch_core(pool_core& pool, source_core& from, watch_body& body, const watch_options& options);
  watch_core(const watch_core&) = delete;
  watch_core& operator=(const watch_core&) = delete;

  void retain() noexcept {
    // relaxed: the caller's reference keeps it alive.
    references_.fetch_add(1, base::order::relaxed);
  }
  void release() noexcept;

  /// Returns false in a forked child of the process that has the pool's threads.
  [[nodiscard]] bool is_own_process() const noexcept;
  /// Throws if the source is watched already.
  void begin();
  void ask(request how) noexcept;
  /// Takes items and starts works, up to the limit. The caller has a reference.
  void feed() noexcept;
  /// Under the lock of the source. Returns false if feed() would do nothing.
  [[nodiscard]] bool may_take() const noexcept {
    return asked_ == request::none && (options_.most == 0 || in_works_ < options_.most);
  }
  /// What the caller must do if the watch has nothing left to do.
  struct [[nodiscard]] duty {
    bool calls = false;
    bool lets_go = false;
    [[nodiscard]] bool is_any() const noexcept { return calls || lets_go; }
  };
  /// Under the lock, after a change by which the watch may have nothing left to do. The caller then calls
  /// carry_out() without the lock.
  duty look() noexcept {
    if (!is_quiet()) return {};
    return {.calls = waiters_ != 0, .lets_go = std::exchange(is_busy_, false)};
  }
  void carry_out(duty what) noexcept {
    if (what.lets_go) let_go();
    if (what.calls) call_waiters();
  }
  void call_waiters() noexcept;

  /// Counts the watch as busy: see V6. Returns false if the pool ends; then the pool tells the watch a moment
  /// later. Not under the lock.
  [[nodiscard]] bool hold() noexcept;
  void let_go() noexcept;
  /// Under the lock.
  [[nodiscard]] bool is_busy() const noexcept { return is_busy_; }
  void become_busy() noexcept { is_busy_ = true; }

  [[nodiscard]] watch_body& body() const noexcept { return *body_; }
  /// Called at the end of an item's work. `end`: the word, which is final.
  enum class item_end : std::uint8_t { comes_back, leaves };
  static item_end hear_of_end(source_node& item, word end) noexcept {
    return item.watched_by->settle(item, end);
  }
  /// Called by each of the two users of an item when it no longer uses it.
  static void leave(source_node& item) noexcept;

  [[nodiscard]] bool runs_here() const noexcept;
  bool wait(base::time_point deadline);
  void wait_out() noexcept;
  /// Destroys the body. After wait_out(), so only abandoned works may still use it: then the body is
  /// destroyed with the last reference.
  void end_body() noexcept;
  [[nodiscard]] bool is_watching() noexcept;
  [[nodiscard]] watch_stats count() noexcept;

  // Under the lock of the pool.
  watch_core* next_of_pool = nullptr;
  watch_core* previous_of_pool = nullptr;
  bool is_enlisted = false;

 private:
  enum class fate : std::uint8_t { done, dropped, comes_back, is_given_up, stays_with_its_thread };

  ~watch_core();
  [[nodiscard]] unsigned most() noexcept;
  [[nodiscard]] source_node* take() noexcept;
  [[nodiscard]] work_core& draw(source_node& item);
  bool start(source_node& item) noexcept;
  void untake(source_node& item, work_core* made) noexcept;
  void try_again_later() noexcept;
  void feed_again() noexcept;
  [[nodiscard]] waker timer_waker() noexcept;
  item_end settle(source_node& item, word end) noexcept;
  [[nodiscard]] fate fate_of(source_node& item, word end, bool was_stopped) const noexcept;
  [[nodiscard]] bool attach() noexcept;
  [[nodiscard]] bool detach() noexcept;
  void visit(request how) noexcept;
  [[nodiscard]] work_core* next_work(flight_node& place) noexcept;
  void apply(work_core& w, request how) noexcept;
  bool until_quiet(base::time_point deadline, const blocked_on* said);
  [[nodiscard]] bool is_quiet() const noexcept {
    return in_works_ == 0 && (asked_ != request::none || from_.waiting.size() == 0);
  }

  const watch_options options_;
  pool_core& pool_;
  source_core& from_;
  group_core* const group_;  // the group of its works; null: none
  work_core& holder_;        // keeps the pool's memory
  watch_body* body_;         // used by the works; then by the thread that ends the watch

  // Under the lock of the source.
  flight_node flight_;  // a ring
  unsigned in_works_ = 0;
  unsigned left_behind_ = 0;  // items of abandoned works that have not returned
  watch_stats totals_;
  request asked_ = request::none;
  bool is_timed_ = false;  // the timer for another try is armed
  bool is_busy_ = false;   // the watch is counted as busy; see V6
  unsigned waiters_ = 0;

  timing::timer_node later_;
  base::atomic<std::uint32_t> quiet_{
      0};  // raised when there is nothing left to do and a thread waits for that
  base::atomic<std::uint32_t> references_{1};
};

/// A watch that this thread has counted as busy. The hold belongs to this thread until it is handed over. See
/// V6.
class busy_hold {
 public:
  busy_hold() noexcept = default;
  busy_hold(const busy_hold&) = delete;
  busy_hold& operator=(const busy_hold&) = delete;
  ~busy_hold() { drop(); }

  /// Raises the counts of a watch. Takes over a reference to it. Not under the lock.
  void take(watch_core& who) noexcept {
    drop();
    who_ = &who;
    holds_ = who.hold();
  }
  /// Returns true if it is that watch, even if the pool has refused the hold.
  [[nodiscard]] bool is_of(const watch_core* who) const noexcept { return who_ == who; }
  /// Under the lock.
  void hand_over() noexcept {
    if (holds_ && !who_->is_busy()) {
      who_->become_busy();
      holds_ = false;
    }
  }

 private:
  void drop() noexcept {
    if (who_ == nullptr) return;
    if (holds_) who_->let_go();
    who_->release();
  }
  watch_core* who_ = nullptr;
  bool holds_ = false;
};

}  // namespace rota::pool::detail
