// A queue of items, and the pool's side of it: whoever takes them out and makes works of them.
#pragma once

#include "base/mutex.hpp"
#include "pool/pool_core.hpp"

#include <rota/pool/watch.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace rota::pool::detail {

/// First in, first out.
class item_list {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void push_back(source_node& item) noexcept;
  void push_front(source_node& item) noexcept;
  /// Null: there is none.
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
//   Everything is under the lock of the source: its lists, who watches it, and all that the watch counts. Works are made, ended and asked
//   to stop without it, and so are items moved and destroyed.
//
//   an item       lies                                        belongs to
//   waiting       in source_core::waiting                     the source
//   taken         in watch_core::flight_, and in a work       the watch; its function has it while that runs
//   given up      in source_core::given_up                    the source
//
//   V1  While a source is watched an item waits only if `most` are taken, or if somebody who has just changed that has yet to call
//       feed(); or if there was no memory for a work, and the timer is armed. So each push and each end of a work calls feed(), without
//       the lock, and it is enough that it starts one. It starts one more, since `most` may have grown with the pool.
//   V2  A taken item is settled once: by the end of its work, which the pool tells of once, or by start() where no work was made. Then
//       it is in a list of the source, or destroyed. taken = in works + how they were settled.
//   V3  An item in a work has two users: the function, and the end. As a rule the function goes first, on the same thread. That of an
//       abandoned work goes when its thread comes back: the later of the two destroys the item. As long as there are such items
//       (left_behind_) the body is in use, too; else it goes with the handle.
//   V4  stop() says so under the lock first and then goes through the list; start() makes its work known first, enters it, and then
//       looks. So no work of a watch that was stopped is left out.
//   V5  Nobody holds the lock and takes another one.
//   V6  is_busy_: the watch itself is counted as outstanding, and in its group. It is before an item can be taken, and until there is
//       nothing left to do. So whoever waits for the pool, or for the group, waits for each item that was in the source before, also
//       while a thread that has taken it has yet to make a work of it. Both counts are changed without the lock: who puts an item in
//       counts first, and hands that over under the lock, or takes it back if another one has been faster.
//
// Who has a reference to a watch: its handle, its source while it is watched, each taken item, and an armed timer. To a source: its owner,
// and each watch that it ever had. To the pool's memory: each watch, by a slot.
class source_core {
 public:
  using destroyer = void (*)(source_node*) noexcept;

  source_core(std::size_t most, destroyer how) noexcept : capacity(most), destroy(how) {}
  source_core(const source_core&) = delete;
  source_core& operator=(const source_core&) = delete;

  void retain() noexcept {
    // relaxed. The caller's reference keeps it alive.
    references_.fetch_add(1, base::order::relaxed);
  }
  void release() noexcept;
  /// Who watches it takes what it may. Not under the lock.
  void feed() noexcept;
  /// To the end: one that was admitted, or one that comes back; or to the front. Not under the lock, and feed() must follow.
  enum class entry : std::uint8_t { admitted, comes_back, goes_back };
  void put(source_node& item, entry how) noexcept;

  const std::size_t capacity;
  const destroyer destroy;

  base::mutex lock;  // of what follows
  item_list waiting;
  item_list given_up;
  std::size_t admitted = 0;  // and not yet in
  bool is_closed = false;
  watch_core* watched_by = nullptr;  // with a reference

 private:
  ~source_core();
  base::atomic<std::uint32_t> references_{1};
};

class watch_core {
 public:
  enum class request : std::uint8_t { none, pool_has_ended, stop, stop_running, force };

  /// `body` is its own, if this does not throw.
  watch_core(pool_core& pool, source_core& from, watch_body& body, const watch_options& options);
  watch_core(const watch_core&) = delete;
  watch_core& operator=(const watch_core&) = delete;

  void retain() noexcept {
    // relaxed. The caller's reference keeps it alive.
    references_.fetch_add(1, base::order::relaxed);
  }
  void release() noexcept;

  /// Returns false in a forked child of the process that has the pool's threads.
  [[nodiscard]] bool is_own_process() const noexcept;
  /// Throws if the source is watched already.
  void begin();
  void ask(request how) noexcept;
  /// Takes no more than it may. By whoever has a reference.
  void feed() noexcept;
  /// Under the lock of the source. False: feed() would do nothing.
  [[nodiscard]] bool may_take() const noexcept {
    return asked_ == request::none && (options_.most == 0 || in_works_ < options_.most);
  }
  /// What follows if there is nothing left to do.
  struct [[nodiscard]] duty {
    bool calls = false;
    bool lets_go = false;
    [[nodiscard]] bool is_any() const noexcept { return calls || lets_go; }
  };
  /// Under the lock, after something was changed by which nothing may be left to do. Then, without it: carry_out().
  duty look() noexcept {
    if (!is_quiet()) return {};
    return {.calls = waiters_ != 0, .lets_go = std::exchange(is_busy_, false)};
  }
  void carry_out(duty what) noexcept {
    if (what.lets_go) let_go();
    if (what.calls) call_waiters();
  }
  void call_waiters() noexcept;

  /// See V6. Counts it; false: the pool ends, and says so a moment later. Without the lock.
  [[nodiscard]] bool hold() noexcept;
  void let_go() noexcept;
  /// Under the lock.
  [[nodiscard]] bool is_busy() const noexcept { return is_busy_; }
  void become_busy() noexcept { is_busy_ = true; }

  [[nodiscard]] watch_body& body() const noexcept { return *body_; }
  /// The end of its work. `end`: the word, which is final.
  enum class item_end : std::uint8_t { comes_back, leaves };
  static item_end hear_of_end(source_node& item, word end) noexcept {
    return item.watched_by->settle(item, end);
  }
  /// One of the two that use it does no longer.
  static void leave(source_node& item) noexcept;

  [[nodiscard]] bool runs_here() const noexcept;
  bool wait(base::time_point deadline);
  void wait_out() noexcept;
  /// After that. Nothing calls the body any more, but works that were abandoned: then it goes with the last reference.
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
  group_core* const group_;  // of its works; null: none
  work_core& holder_;        // keeps the pool's memory
  watch_body* body_;         // of the works; then of who ends it

  // Under the lock of the source.
  flight_node flight_;  // a ring
  unsigned in_works_ = 0;
  unsigned left_behind_ = 0;  // abandoned items whose threads have not come back
  watch_stats totals_;
  request asked_ = request::none;
  bool is_timed_ = false;  // it is tried again later
  bool is_busy_ = false;   // it is counted; see V6
  unsigned waiters_ = 0;

  timing::timer_node later_;
  base::atomic<std::uint32_t> quiet_{
      0};  // raised when there is nothing left to do, and somebody waits for that
  base::atomic<std::uint32_t> references_{1};
};

/// A watch that this thread has counted as busy, to be handed over; until then this one's. See V6.
class busy_hold {
 public:
  busy_hold() noexcept = default;
  busy_hold(const busy_hold&) = delete;
  busy_hold& operator=(const busy_hold&) = delete;
  ~busy_hold() { drop(); }

  /// `who` has a reference for this. Not under the lock.
  void take(watch_core& who) noexcept {
    drop();
    who_ = &who;
    holds_ = who.hold();
  }
  /// Is it that one, whether its pool has let it be counted or not?
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
