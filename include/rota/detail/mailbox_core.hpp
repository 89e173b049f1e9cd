// The part of a mailbox that does not depend on the type of its messages: its queue, its gate, its size word.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>

#include <rota/detail/base.hpp>
#include <rota/detail/gate_flags.hpp>
#include <rota/detail/mpsc_list.hpp>
#include <rota/detail/send_status.hpp>
#include <rota/task.hpp>
#include <rota/unhandled.hpp>

namespace rota::gate {

/// What a send does if the mailbox is full.
enum class overflow : std::uint8_t {
  // Refuses: send_status::full.
  reject,
  // Blocks the calling thread until there is space. Inside a task or a handler it refuses instead: see
  // async_send.
  wait,
  // Destroys the message that has waited longest. While sends run, more messages than the capacity may wait:
  // at most the capacity and the messages of the sends that have not returned.
  drop_oldest,
};

/// The band of a ready mailbox; a higher band is served first. Of eighteen visits of a thread at least one
/// goes to each lower band that has a ready mailbox.
enum class priority_band : std::uint8_t { high, normal, low };
inline constexpr unsigned priority_bands = 3;

/// What follows when a handler throws.
enum class on_error : std::uint8_t {
  stop,  // the mailbox closes, the messages that wait are destroyed, and error() has the exception
  skip,  // goes on with the next message; the exceptions are counted
  // Destroys the handler, and makes it anew after a pause: the handler has to be a made_by. The message at
  // which it threw is done. If restarts are too frequent, as stop.
  restart,
};

/// The options of on_error::restart.
struct restart_options {
  std::uint32_t limit = 3;  // restarts within `within`, 1 to 1024; the next one stops the mailbox
  std::chrono::nanoseconds within{std::chrono::seconds(5)};  // above 0, at most a day
  std::chrono::nanoseconds pause{
      std::chrono::milliseconds(10)};  // 0 to a day; doubled for each earlier restart `within`
  std::chrono::nanoseconds longest_pause{std::chrono::seconds(1)};  // 0 to a day
};

inline constexpr std::size_t unbounded = 0;

/// Every field has a default. make_mailbox checks them: std::invalid_argument names the field and its range.
struct mailbox_options {
  std::size_t capacity = unbounded;     // messages that wait; 1 to 2^32, or unbounded
  overflow on_full = overflow::reject;  // of a bounded one
  // Messages for each visit, 1 to 65536; then other mailboxes are served
  std::uint32_t budget = 64;
  // The least time of a visit before it gives way, 0 to a day; checked every 16 messages.
  std::chrono::nanoseconds time_slice{std::chrono::milliseconds(1)};
  priority_band band = priority_band::normal;
  gate::on_error error_policy = gate::on_error::stop;
  restart_options restarts{};
  // Where an exception of the handler goes that no caller can see any more: each one at which on_error::skip
  // or restart goes on, and the one that stopped the mailbox, if the mailbox is destroyed and error() was
  // never read. docs/failures.md
  unhandled_policy on_unhandled = unhandled_policy::report;
};

/// Read while the mailbox runs: each figure is one that the mailbox had, except `depth`, which may count
/// messages that have just been served.
struct mailbox_stats {
  std::uint64_t depth = 0;     // messages that wait, including those on their way in
  std::uint64_t served = 0;    // taken out for the handler
  std::uint64_t failed = 0;    // exceptions of the handler and of its remaking
  std::uint64_t dropped = 0;   // destroyed unserved: drop_oldest, an error, the end of the mailbox
  std::uint64_t visits = 0;    // visits of a consumer
  std::uint64_t restarts = 0;  // restarts of the handler
  // The time from ready to the visit; measured once in 64 visits:
  std::uint64_t waits = 0;             // how many were measured
  std::chrono::nanoseconds waited{0};  // their sum
  std::chrono::nanoseconds longest_wait{0};
};

/// The totals of an executor; sums of counters that other threads change while they are read.
struct executor_stats {
  std::size_t mailboxes = 0;  // those that have not ended
  std::uint64_t depth = 0;
  std::uint64_t served = 0;
  std::uint64_t failed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t visits = 0;
  std::uint64_t restarts = 0;
};

namespace detail {

class executor_core;
template <class Item>
class ready_lists;

// PROTOCOL: mailbox size word
//
//   63      62       61        60         59                 0
//   +-------+--------+---------+----------+------------------+
//   | ended | closed | waiting | draining |      count       |
//   +-------+--------+---------+----------+------------------+
//
//   count      Bounded: messages that were admitted and not yet taken out, counted from before the append on.
//              Unbounded: messages that were admitted and not yet subtracted. Rounds, and only they, add what
//              they have served to `unsettled_`. A round that sees closed or draining subtracts that sum from
//              the count (settle()). So count - unsettled_ is the number of messages that wait.
//   waiting    a sender waits for space. draining: a thread or a task waits until the mailbox is empty
//   closed     no message is admitted. ended: final; the handler is destroyed
//
//   send       fetch_add(1) (bounded: a CAS that refuses when full). If it is closed: subtract again; the
//              thread that leaves {closed, 0} without ended schedules, because the consumer may have seen the
//              count that was subtracted. Otherwise: append, schedule.
//   round      begin; serve; settle, if closed or draining. At {closed, 0}: CAS to {ended, closed, 0}. If
//              that succeeds, this is the end, and the gate stays EXECUTING for ever, so no later schedule
//              publishes it. To give way: finish_and_schedule, then check the orders once more before
//              publish: a thread that saw EXECUTING and gave the order to discard waits for this round.
//   close      fetch_or(closed), then schedule: a round sees it.
//   drain      It is empty if count - unsettled_ is 0 (read in this order: a settle() in between makes the
//              difference too large) and then the gate is IDLE: no round runs any more that had taken out
//              what was admitted before. Otherwise fetch_or(draining), then schedule: a round sees it, and
//              the first round that leaves a count of 0 wakes the waiters.
//   abandon    The order to discard, fetch_or(closed), then schedule. From IDLE: the caller runs the last
//              round itself. SCHEDULED: the round that begins later sees the order. EXECUTING: wait until
//              that round sees the order, one message later; if the round is in a task, the task is
//              cancelled.
//   drop       Admit without a limit; append under `drops`; while the list is longer than the capacity, take
//              out the oldest; then schedule. If nothing can be taken out, the list is empty: what is counted
//              is still on its way in. Bound: the list holds at most the capacity and the messages of the
//              sends that have not returned. When a sender's trim() ends, the list held at most the capacity
//              at one moment of it; all messages appended since belong to sends that have not trimmed yet.
//              Without the lock there is no bound:
//                1. T1 exchanges the tail and is preempted before it links its message.
//                2. T2 sends without an end, and takes out nothing, because its messages cannot be reached.
//              Senders and rounds take out concurrently: the links under `drops`, the messages without it. A
//              link that has become the head is freed by the later of two steps: its message is moved out;
//              the next link is taken out.
//   wait       fetch_or(waiting) under the lock; try once more; enter the list. A thread that makes space
//              sees the bit, and takes the lock.
//   fork       A child of the process that has the consumers touches nothing of this: a thread that stayed in
//              the parent may have been inside a lock, a round or a publish, which never ends in the child.
//              So each call compares `process_` first. admit() says forked; close() and abandon() return;
//              calls that wait or give an order throw errc::forked (demand_own_process()). Only references
//              are still counted. stats() returns the figures of the fork.
//
// If the handler of a round returns a task, the round goes on in a task of its own (`go_on`), and the gate
// stays EXECUTING while that task waits. The thread that abandons the mailbox either finds the task's handle
// in `runner`, under the lock, or has given its order before the handle is put there. The thread that puts
// the handle there checks the orders afterwards. The number of the visit says whether that round is already
// over.
//
// Why the end is final: an admitted message is counted until it is taken out. So with a count of 0 no message
// is in the queue or on its way in, and closed admits no further one. Both are in one word, so they are seen
// at one moment. Only a round checks for the end, so no handler runs then.
// Why the end comes: the last of {close, the last round, a refused send} leaves {closed, 0} and schedules, or
// is in the round that checks afterwards. If a refused send finds messages in the count that are served but
// not yet subtracted, the round that subtracts them is still to come: it follows from the schedule of close,
// or of the message itself.
//
// Invariants (tests/model/mailbox_model.cpp): B1 an admitted message is served or destroyed, once. B2 closed,
// and no thread inside send: it ends. B3 the end comes once. B4 a sender that waits for space gets it, or is
// told that the mailbox is closed.
class ROTA_API mailbox_core {
 public:
  mailbox_core(const mailbox_core&) = delete;
  mailbox_core& operator=(const mailbox_core&) = delete;

  // --- producers: any thread with a reference

  /// Admits one message, whatever the capacity is. Returns false if the mailbox is closed, or in a forked
  /// child.
  [[nodiscard]] bool admit_regardless() noexcept;
  /// Admits at most `wanted` messages and returns how many; `status` says why not all. Blocks if the policy
  /// is overflow::wait and `may_block`.
  std::size_t admit(std::size_t wanted, bool may_block, send_status& status) noexcept;
  /// Appends admitted messages: a chain, in which the last `next` is null.
  void deliver(queue::mpsc_link& first, queue::mpsc_link& last) noexcept {
    if (drops_) {
      append_and_trim(first, last);
    } else {
      tail_.append(first, last);
    }
    if (flags_.schedule() == on_schedule::publish) publish();
  }

  // --- any thread with a reference

  /// Returns false in a forked child of the process that has its consumers.
  [[nodiscard]] bool is_own_process() const noexcept;
  /// Throws errc::forked in a forked child of that process.
  void demand_own_process() const;
  /// Does nothing in a forked child, where no message comes in anyway.
  void close() noexcept;
  void pause() noexcept;
  void resume() noexcept;
  [[nodiscard]] mailbox_stats stats() const noexcept;
  /// Blocks until it has been empty once, or has ended. Must not be called where would_deadlock().
  void wait_until_empty() noexcept { wait_until_emptied(ask_for_emptiness()); }
  /// wait_until_empty() in two steps, so that many mailboxes can be asked before the caller waits for the
  /// first.
  struct emptiness {
    std::uint32_t seen;
    bool is_empty;
  };
  [[nodiscard]] emptiness ask_for_emptiness() noexcept;
  void wait_until_emptied(emptiness asked) noexcept;
  /// Blocks until it has ended. Must not be called where would_deadlock().
  void wait_until_ended() noexcept;
  /// Returns true if the calling thread is inside the handler or the handler's destructor.
  [[nodiscard]] bool runs_here() const noexcept;
  /// Notes that the running task acts for the handler's task: runs_here() is true in it.
  void note_helper() noexcept;
  /// On a testing::runtime, where a blocking wait would never end: runs one of its tasks. Returns false
  /// elsewhere; then the caller may block.
  bool help_once() noexcept;
  /// As help_once(), but fires no timer after `deadline`. Returns false elsewhere, and if nothing can run
  /// until then.
  bool help_before(std::chrono::steady_clock::time_point deadline) noexcept;
  [[nodiscard]] bool is_alone() const noexcept;
  /// The time as the handlers of its executor see it.
  [[nodiscard]] std::chrono::steady_clock::time_point now() const noexcept;
  /// Returns true if its handler may return tasks.
  [[nodiscard]] bool has_tasks() const noexcept;
  /// Returns true if a wait for this mailbox would block its own handler or a consumer of its executor.
  [[nodiscard]] bool would_deadlock() const noexcept;
  /// Destroys the messages that wait, stops calling the handler, and returns when the handler does not run.
  /// In a forked child it returns at once.
  void abandon() noexcept;
  /// Gives the order of abandon() without waiting. Returns true if a round runs now, and not in the calling
  /// thread.
  bool ask_to_end() noexcept;
  [[nodiscard]] bool has_ended() const noexcept {
    // acquire: pairs with come_to(), which run() calls at the end: what the last round did is seen, and the
    // handler is destroyed.
    return over_.load(base::order::acquire) == over;
  }
  /// After the end: the exception of the handler that stopped the mailbox, or null.
  [[nodiscard]] const std::exception_ptr& error() const noexcept {
    note_error_seen();
    return error_;
  }
  /// Keeps the destructor from reporting the handler's exception. Any thread with a reference.
  void note_error_seen() const noexcept {
    // relaxed: read by the destructor, after every reference has been dropped.
    error_is_seen_.store(true, base::order::relaxed);
  }

  /// Registers the mailbox with its executor. Called once, when it is completely constructed.
  void enrol() noexcept;

  [[nodiscard]] bool lets_wait() const noexcept;

  void add_reference() noexcept {
    // relaxed: the caller holds a reference.
    references_.fetch_add(1, base::order::relaxed);
  }
  void drop_reference() noexcept;

  // --- the consumer that took the mailbox out of the executor's lists

  /// Runs one round. Returns how many messages it has served.
  std::uint32_t visit() noexcept;

 protected:
  /// Starts with two references: the caller's, and the executor's, which is dropped at the end.
  /// Throws std::bad_alloc.
  mailbox_core(executor_core& owner, const mailbox_options& options);
  virtual ~mailbox_core();

  /// Takes out and serves the oldest messages, at most `most`. Serves fewer if no more were found, if
  /// is_to_stop(), or if is_pending_.
  virtual std::uint32_t serve(std::uint32_t most) noexcept = 0;
  /// Returns the task of the handler for the message that was taken out last, for handlers that return tasks.
  /// Its message stays until drop_pending().
  [[nodiscard]] virtual task<void> take_pending();
  virtual void drop_pending() noexcept {}
  /// Takes out and destroys the oldest messages, at most `most`, and only while more than `keep` are there.
  virtual std::uint32_t destroy_oldest(std::uint32_t most, std::size_t keep) noexcept = 0;
  /// Destroys the handler, if it exists.
  virtual void retire() noexcept = 0;
  /// At the end: destroys also what the handler would be remade from.
  virtual void retire_for_good() noexcept { retire(); }
  /// Makes the handler anew after retire(). Throws what its maker throws.
  virtual void remake() = 0;
  /// Called when the mailbox has stopped for an error. Another mailbox may take the exception over: it calls
  /// note_error_seen() when it does.
  virtual void gave_up(const std::exception_ptr& /*thrown*/) noexcept {}

  [[nodiscard]] queue::mpsc_taker& taker() noexcept { return taker_; }
  /// The removal of one message. No lock is held while the message is moved out of its link.
  struct removal {
    queue::mpsc_link* link = nullptr;    // the message's; from now on the list's head
    queue::mpsc_link* before = nullptr;  // not needed any more, unless null
    bool frees = false;  // under `drops`: the link is no longer the head; the thread that empties it frees it
  };
  /// Returns false if no more than `keep` messages are there; `keep` is 0 unless the mailbox drops the
  /// oldest.
  [[nodiscard]] bool remove_oldest(removal& now, std::size_t keep) noexcept {
    if (drops_) return remove_beside_others(now, keep);
    now.link = taker_.front();
    if (now.link == nullptr) return false;
    now.before = taker_.pop(*now.link);
    return true;
  }
  /// Called when the message has left its link. Returns true if the caller has to free that link.
  [[nodiscard]] bool has_to_free(const removal& now) noexcept { return drops_ && settle_removal(now); }
  /// Counts one message out of a bounded mailbox.
  void note_taken_out() noexcept {
    if (bounded_) make_room(1);
  }
  /// Handles an exception of the handler. Returns false if the handler may be destroyed; then the round
  /// checks the orders.
  bool note_failure(std::exception_ptr thrown) noexcept;
  /// Called by serve(): the handler has returned a task for the last message, so the round goes on in a task.
  void note_pending() noexcept { is_pending_ = true; }
  /// Returns true if there is an order, so the handler is not called for the next message. Checked between
  /// messages.
  [[nodiscard]] bool is_to_stop() const noexcept {
    // relaxed: a message without data; it is seen eventually, and certainly after the next begin.
    return orders_.load(base::order::relaxed) != 0;
  }

 private:
  friend class executor_core;
  template <class Item>
  friend class ready_lists;
  friend class room_leaf;
  friend class rest_leaf;
  struct visiting;
  class runner;

  static constexpr std::uint64_t ended = std::uint64_t{1} << 63U;
  static constexpr std::uint64_t closed = std::uint64_t{1} << 62U;
  static constexpr std::uint64_t waiting = std::uint64_t{1} << 61U;
  static constexpr std::uint64_t draining = std::uint64_t{1} << 60U;
  static constexpr std::uint64_t count_mask = draining - 1;

  // over_: 0; at_rest: a round has seen the order to discard, so the handler does not run and never will;
  // over: the last round has done everything.
  static constexpr std::uint32_t at_rest = 1;
  static constexpr std::uint32_t over = 2;
  // orders_
  static constexpr std::uint32_t to_pause = 1;
  static constexpr std::uint32_t to_discard = 2;
  static constexpr std::uint32_t to_rest = 4;    // between two handlers
  static constexpr std::uint32_t to_remake = 8;  // the handler, before the next message
  // The runner; the thread that gave it is not inside the handler
  static constexpr std::uint32_t to_cancel = 16;

  [[nodiscard]] std::size_t admit_unless_forked(std::size_t wanted,
                                                bool may_block,
                                                send_status& status) noexcept;
  [[nodiscard]] std::size_t admit_here(std::size_t wanted, bool may_block, send_status& status) noexcept;
  [[nodiscard]] std::size_t try_admit(std::size_t wanted, send_status& status) noexcept;
  [[nodiscard]] std::size_t admit_waiting(std::size_t wanted, send_status& status) noexcept;
  void take_back(std::size_t count) noexcept;
  void append_and_trim(queue::mpsc_link& first, queue::mpsc_link& last) noexcept;
  void trim() noexcept;
  void make_room(std::uint32_t count) noexcept;
  [[nodiscard]] std::uint64_t settle() noexcept;
  void wake_senders(std::uint32_t count) noexcept;
  [[nodiscard]] bool remove_beside_others(removal& now, std::size_t keep) noexcept;
  [[nodiscard]] bool settle_removal(const removal& now) noexcept;
  void publish() noexcept;
  void note_wait() noexcept;
  void tell_of_emptiness(bool at_the_end) noexcept;
  bool wake_a_watcher(std::uint32_t told, bool at_the_end) noexcept;
  [[nodiscard]] bool is_at_rest() const noexcept;
  void schedule() noexcept;
  [[nodiscard]] bool time_is_up(std::chrono::steady_clock::time_point& until) const noexcept;
  [[nodiscard]] bool give_way() noexcept;
  void wait_until(std::uint32_t least) noexcept;
  void come_to(std::uint32_t state) noexcept;
  [[nodiscard]] bool is_to_discard() const noexcept {
    // relaxed: contains every order given before a schedule that this round's begin, or its give_way(), has
    // seen.
    return (orders_.load(base::order::relaxed) & to_discard) != 0;
  }
  void note_dropped(std::uint32_t count) noexcept;
  [[nodiscard]] bool begin_restart() noexcept;
  [[nodiscard]] bool try_remake() noexcept;
  void end_rest() noexcept;
  [[nodiscard]] bool try_end(std::uint64_t seen) noexcept;
  void discard_and_close() noexcept;
  void order_to_discard() noexcept {
    // relaxed: the round that runs sees it, or a following schedule releases it to the round that begins
    // after that.
    orders_.fetch_or(to_discard, base::order::relaxed);
  }

  /// The state of a round. A round moves from one thread to another if the handler waits.
  struct turn {
    std::uint32_t left;  // of the budget
    std::chrono::steady_clock::time_point until{};
    // Of its current chunk:
    bool is_in_chunk = false;
    bool discards = false;
    bool rests = false;
    std::uint32_t wanted = 0;
    std::uint32_t count = 0;
    std::uint32_t counted = 0;  // of these, already added to the counters
  };
  enum class [[nodiscard]] after_round : std::uint8_t {
    finished,  // the gate was finished; another thread may own the mailbox now
    ended,     // the last round
    pending,   // it has to go on in a task
  };
  [[nodiscard]] after_round round(turn& t) noexcept;
  void begin_chunk(turn& t) noexcept;
  void count_served(turn& t) noexcept;
  void note_done(std::uint32_t count) noexcept;
  [[nodiscard]] bool run(turn& t) noexcept;
  void go_on_as_task(turn& t) noexcept;
  void report_unseen(const std::exception_ptr& thrown) const noexcept;
  void start_runner(task<void> work) noexcept;
  static task<void> go_on(runner whole);
  [[nodiscard]] bool continues(turn& t, std::exception_ptr thrown) noexcept;
  void cut_off(turn& t) noexcept;
  void cancel_runner() noexcept;

  struct parts;  // used only in src/gate

  // Three groups of cache lines: what is mostly read; the consumer's; the producers'.
  const bool bounded_;
  const bool drops_;
  executor_core* const owner_;
  parts* parts_;
  base::atomic<std::uint32_t> orders_{0};
  base::atomic<std::uint32_t> over_{0};
  std::exception_ptr error_;
  mutable base::atomic<bool> error_is_seen_{false};
  base::atomic<std::uint32_t> references_{2};
  const std::uint64_t process_;  // the executor's
  alignas(64) queue::mpsc_taker taker_;
  // Owned by the thread that has the mailbox between publish and begin
  base::cell<mailbox_core*> next_ready_{nullptr};
  base::atomic<std::uint64_t> unsettled_{0};  // written by rounds
  bool is_pending_ = false;                   // written by the round
  alignas(64) queue::mpsc_appender tail_{taker_};
  base::atomic<std::uint64_t> size_{0};
  gate_flags flags_;
};

}  // namespace detail
}  // namespace rota::gate
