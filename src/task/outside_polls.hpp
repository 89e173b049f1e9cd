// What a watchdog reads of tasks that run on threads without a worker's role: roots of block_on, and tasks
// that join(help) runs.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"

#include <cstdint>

namespace rota::core {

class outside_polls;

// PROTOCOL: polls outside of the workers
//
//   word_   63                      3    2          1         0
//           +-----------------------+----------+---------+-------+
//           |         count         | reported | running | taken |
//           +-----------------------+----------+---------+-------+
//
//   state     bits  means                                           next state, set by the thread of the slot
//   free      000   no thread has the slot                          running, by claim()
//   running   011   the thread runs its task                        running (another poll), resting, free
//   running,  111   the same; the watcher has reported this poll    as running
//   reported
//   resting   001   the thread sleeps until its task is woken, or   running
//                   is inside of a blocking section
//
//   The watcher sets `reported`, by a compare-exchange. Each step of the thread clears it and raises the
//   count. So a watcher that reads the same count twice has seen the same poll twice.
//
//   R1  A slot has one thread at a time: claim() takes it by a compare-exchange from `free`.
//   R2  task_of_poll(stamp) returns the task of the poll with this stamp, or 0. The thread writes the task's
//       id after claim(), and 0 before it leaves. A watcher that reads the id of a later claim sees that
//       claim in the word, which it reads again. A watcher with the stamp of a later claim has acquired the 0
//       that was written before it.
//   R3  Of {a thread runs, the watcher sleeps} one side sees the other (store buffering). The thread makes
//       the slot `running` by a read-modify-write and then reads the watcher's word. The watcher writes that
//       word by a read-modify-write and then reads each slot. All four are seq_cst. For a slot that was just
//       added the read-modify-write is that of `newest_`. A thread that goes on without having rested was not
//       `resting`, so no watcher can have missed it: a plain store is enough.
//   R4  A slot lives as long as the list. So the watcher may read it at any time, whatever the thread does
//       meanwhile.
//   R5  A watcher may sleep while reported polls run. A thread that reads `reported` in its word ends that
//       poll by a seq_cst read-modify-write and then reads the watcher's word, as in R3. A thread that reads
//       its word just before the watcher sets `reported` overwrites the bit by its plain store, and wakes no
//       watcher. So a watcher sleeps with a deadline while a reported poll runs.
class alignas(base::cache_line) outside_poll {
 public:
  explicit outside_poll(outside_polls& list) noexcept : list_(list) {}
  outside_poll(const outside_poll&) = delete;
  outside_poll& operator=(const outside_poll&) = delete;
  ~outside_poll() = default;

  // ---- called by the thread that has the slot ------------------------------------------------

  /// Begins another poll, without having rested.
  void begin_next() noexcept { end_poll(taken | running); }
  /// Notes that the thread is about to sleep, or enters a blocking section. Sections may be nested.
  void rest() noexcept {
    if (rests_++ == 0) end_poll(taken);
  }
  /// Ends what the last rest() began. After the outermost one another poll begins.
  void resume() noexcept;
  void leave() noexcept;

  // ---- called by any thread ------------------------------------------------------------------

  /// Returns a value that changes with each poll.
  [[nodiscard]] std::uint64_t stamp() const noexcept {
    // acquire: pairs with the step that has made the slot `running`: see R2.
    return word_.load(base::order::acquire) & ~reported;
  }
  [[nodiscard]] static bool is_running(std::uint64_t stamp) noexcept { return (stamp & running) != 0; }
  /// Returns the id of the task of the poll with this stamp; 0 if that poll has ended, or has only just
  /// begun.
  [[nodiscard]] std::uint64_t task_of_poll(std::uint64_t stamp) const noexcept {
    if (!is_running(stamp)) return 0;
    // acquire: pairs with the release in tell(): see R2.
    const std::uint64_t id = task_id_.load(base::order::acquire);
    // relaxed: read after the id: a later claim that has written the id is seen.
    return (word_.load(base::order::relaxed) & ~reported) == stamp ? id : 0;
  }
  /// Returns the kernel's id of the thread. If the slot is claimed meanwhile, it may be that of the next
  /// thread.
  [[nodiscard]] std::uint64_t thread_id() const noexcept {
    // relaxed: only for reports.
    return thread_id_.load(base::order::relaxed);
  }
  /// Returns the call in which the thread runs the task: a string literal.
  [[nodiscard]] const char* call() const noexcept {
    // relaxed: only for reports, and what it points to is constant.
    return call_.load(base::order::relaxed);
  }
  /// Notes that the watcher has reported the poll with this stamp. Called by the watcher. any_runs() does not
  /// count that poll, and its end wakes the watcher: see R5.
  void mark_reported(std::uint64_t stamp) noexcept {
    // relaxed: the bit publishes nothing: see R5. failure: relaxed: the poll has ended.
    static_cast<void>(
        word_.compare_exchange_strong(stamp, stamp | reported, base::order::relaxed, base::order::relaxed));
  }
  /// Returns the number of the slot in its list, counted from 0.
  [[nodiscard]] unsigned number() const noexcept { return number_.get(); }

 private:
  friend class outside_polls;
  static constexpr std::uint64_t taken = 1;
  static constexpr std::uint64_t running = 2;
  static constexpr std::uint64_t reported = 4;
  static constexpr std::uint64_t one_step = 8;

  [[nodiscard]] static constexpr std::uint64_t after(std::uint64_t word, std::uint64_t bits) noexcept {
    return ((word & ~(taken | running | reported)) + one_step) | bits;
  }
  [[nodiscard]] static bool is_to_watch(std::uint64_t word) noexcept {
    return (word & (running | reported)) == running;
  }
  void end_poll(std::uint64_t bits) noexcept {
    // relaxed: only this thread writes the word while it has the slot, except for the watcher's bit: see R5.
    const std::uint64_t seen = word_.load(base::order::relaxed);
    if ((seen & reported) != 0) [[unlikely]]
      return end_reported_poll(after(seen, bits));
    // release: pairs with the acquire in stamp() and claim(): see R2.
    word_.store(after(seen, bits), base::order::release);
  }
  void end_reported_poll(std::uint64_t next) noexcept;
  [[nodiscard]] bool claim() noexcept;
  void tell(std::uint64_t task_id, const char* call) noexcept;

  base::atomic<std::uint64_t> word_{0};
  base::atomic<std::uint64_t> task_id_{0};
  base::atomic<std::uint64_t> thread_id_{0};
  base::atomic<const char*> call_{""};
  unsigned rests_ = 0;  // used by the thread that has the slot
  outside_polls& list_;
  // Set before the slot is in the list.
  base::cell<unsigned> number_;
  base::cell<outside_poll*> older_;
};

/// The slots of one runtime: as many as threads were outside of its workers at the same time. A claim
/// searches them from the newest one on, and adds a slot if all are taken.
class outside_polls {
 public:
  outside_polls() = default;
  outside_polls(const outside_polls&) = delete;
  outside_polls& operator=(const outside_polls&) = delete;
  ~outside_polls();

  /// Sets the watcher before the first claim. `wake(watcher)` is called after each step from `free` or
  /// `resting` to `running`, and at the end of each poll that was reported.
  void set_watcher(void (*wake)(void* watcher) noexcept, void* watcher) noexcept {
    wake_ = wake;
    watcher_ = watcher;
  }

  /// Returns a slot that runs `task_id` on this thread; null if there is no memory for a slot.
  [[nodiscard]] outside_poll* claim(std::uint64_t task_id, const char* call) noexcept;

  /// Called by a watcher that has announced its sleep. Returns true if any slot is `running` with a poll that
  /// was not reported yet.
  [[nodiscard]] bool any_runs() const noexcept;

  template <class Visit>
  void for_each(Visit visit) {
    // acquire: pairs with the release in add(): the slot is built.
    for (outside_poll* at = newest_.load(base::order::acquire); at != nullptr; at = at->older_.get())
      visit(*at);
  }

 private:
  friend class outside_poll;
  [[nodiscard]] outside_poll* add() noexcept;
  void wake_watcher() const noexcept {
    if (wake_ != nullptr) wake_(watcher_);
  }

  void (*wake_)(void* watcher) noexcept = nullptr;
  void* watcher_ = nullptr;
  outside_poll first_{*this};
  base::atomic<outside_poll*> newest_{&first_};
};

/// Says, while it lives, that a task runs on this thread, which plays no role. May be nested: in a blocking
/// section, or in a join that helps.
class outside_run {
 public:
  /// `polls`: null if there is no watchdog.
  outside_run(outside_polls* polls, std::uint64_t task_id, const char* call) noexcept;
  outside_run(const outside_run&) = delete;
  outside_run& operator=(const outside_run&) = delete;
  ~outside_run();

  void begin_next() const noexcept {
    if (mine_ != nullptr) mine_->begin_next();
  }
  void rest() const noexcept {
    if (mine_ != nullptr) mine_->rest();
  }
  void resume() const noexcept {
    if (mine_ != nullptr) mine_->resume();
  }

 private:
  outside_poll* mine_;
  void* outer_;
};

/// Called around a blocking section, or a wait that helps: the run on this thread rests meanwhile, if the
/// thread plays no role.
void rest_outside_run() noexcept;
void resume_outside_run() noexcept;

}  // namespace rota::core
