// What a mailbox is apart from the type of its messages: its queue, its gate, its account.
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

/// What a send does that finds the mailbox full.
enum class overflow : std::uint8_t {
  // Refuses: send_status::full.
  reject,
  // Blocks the calling thread until there is room. Inside of a task or of a handler it refuses instead: see async_send.
  wait,
  // Destroys the message that has waited longest. More than the capacity may wait while sends run: by the messages of those sends.
  drop_oldest,
};

/// Whose turn comes first among mailboxes that are ready. Of eighteen visits of a thread at least one goes to each lower band in which
/// one is ready.
enum class priority_band : std::uint8_t { high, normal, low };
inline constexpr unsigned priority_bands = 3;

/// What follows when a handler throws.
enum class on_error : std::uint8_t {
  stop,  // the mailbox closes, what waits in it is destroyed, and error() has the exception
  skip,  // the next message's turn; the exceptions are counted
  // The handler is destroyed, and after a pause made anew: it has to be a made_by. The message that it threw at is done. Too often: as
  // stop.
  restart,
};

/// Of on_error::restart.
struct restart_options {
  std::uint32_t limit = 3;  // within `within`, 1 to 1024; at the next one it stops
  std::chrono::nanoseconds within{std::chrono::seconds(5)};  // above 0, at most a day
  std::chrono::nanoseconds pause{
      std::chrono::milliseconds(10)};  // 0 to a day; twice as long for each one before it `within`
  std::chrono::nanoseconds longest_pause{std::chrono::seconds(1)};  // 0 to a day
};

inline constexpr std::size_t unbounded = 0;

/// Every field has a default. Checked by make_mailbox: std::invalid_argument names the field and its range.
struct mailbox_options {
  std::size_t capacity = unbounded;     // messages that wait; 1 to 2^32, or unbounded
  overflow on_full = overflow::reject;  // of a bounded one
  std::uint32_t budget = 64;            // messages for each visit, 1 to 65536; then it is the others' turn
  // For each visit, 0 to a day, at least; looked at every 16 messages.
  std::chrono::nanoseconds time_slice{std::chrono::milliseconds(1)};
  priority_band band = priority_band::normal;
  gate::on_error error_policy = gate::on_error::stop;
  restart_options restarts{};
  // What happens to an exception of the handler that no caller can see any more: at which on_error::skip or restart goes on; with which the
  // mailbox has stopped, when it is destroyed and error() was never read. docs/failures.md
  unhandled_policy on_unhandled = unhandled_policy::report;
};

/// Read while it changes: each figure is one that it had, but for `depth`: that may count what has just been served.
struct mailbox_stats {
  std::uint64_t depth = 0;     // messages that wait, those on their way in included
  std::uint64_t served = 0;    // taken out for the handler
  std::uint64_t failed = 0;    // times the handler threw, or its making anew
  std::uint64_t dropped = 0;   // destroyed unserved: drop_oldest, an error, the end of the mailbox
  std::uint64_t visits = 0;    // of a consumer
  std::uint64_t restarts = 0;  // of the handler
  // Between becoming ready and the visit; timed once in 64 visits:
  std::uint64_t waits = 0;             // how many were timed
  std::chrono::nanoseconds waited{0};  // their sum
  std::chrono::nanoseconds longest_wait{0};
};

/// What an executor has done so far; sums of counters that run on while they are read.
struct executor_stats {
  std::size_t mailboxes = 0;  // that have not ended
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
//   count      bounded: messages that were admitted and are not taken out, from before the append on. Unbounded: those that were
//              admitted and are not settled: what rounds have served is in `unsettled`, which only they write, until a round sees closed
//              or draining, and takes it off here. So count - unsettled is what waits
//   waiting    somebody waits for room. draining: somebody waits until it is empty
//   closed     nobody is admitted. ended: it is final; the handler is gone
//
//   send       fetch_add(1) (bounded: a CAS that refuses when full). closed: take it back; whoever leaves {closed, 0} that is not
//              ended schedules, since the consumer may have seen the count that was taken back. Else append, schedule.
//   round      begin; serve; settle, if somebody wants to know. {closed, 0}: CAS to {ended, closed, 0}; it succeeded: the end, and the gate stays
//              EXECUTING for ever, so that no later schedule publishes it. It gives way: finish_and_schedule; then a last look at
//              the orders, before it publishes: who saw it EXECUTING and gave the order waits for this round.
//   close      fetch_or(closed), then schedule: a round will see it.
//   drain      count - unsettled 0 (read in this order: a settlement in between makes it too large), and then the gate IDLE: no round
//              runs any more that had taken out what was admitted before. Else
//              fetch_or(draining), then schedule: a round will see it, and the first that leaves a count of 0 tells.
//   abandon    the order to discard, fetch_or(closed), then schedule. From IDLE: the caller runs the last round itself. It was
//              SCHEDULED: the round that begins later sees the order. EXECUTING: wait until that round sees it, one message later;
//              is it a task, it is cancelled.
//   drop       as an unbounded one: admit, append under `drops`; then, as long as the count is above the capacity, take out the
//              oldest; then schedule. Where nothing can be taken out, the list is empty: what is counted is on its way in.
//              Bound: the list holds at most the capacity and the messages of the sends that have not returned. When a sender's
//              trim ends, the list held at most the capacity at one moment of it; all that was appended since belongs to sends that
//              have not trimmed yet. Without the lock there is no bound: T1 exchanges the tail and is preempted before it links its
//              message; T2 sends without an end, and takes out nothing, since what it has appended cannot be reached.
//              Senders and rounds take out beside each other: links under `drops`, messages without it. A link that has become the head
//              is freed by the second of {who moves its message out, who takes out the next}.
//   wait       fetch_or(waiting) under the lock; look again; into the list. Whoever makes room sees the bit, and takes the lock.
//   fork       a child of the process that has the consumers touches nothing of this: a thread that stayed in the parent may have been
//              inside a lock, a round or a publish, which never ends in the child. So each call compares `process_` first. admit() says
//              forked; close() and abandon() return; what waits or gives an order throws errc::forked (demand_own_process()). Only
//              references are counted on, and the figures of stats() are those of the fork
//
// A round whose handler has given a task goes on in a task of its own (`go_on`), and the gate stays EXECUTING while that waits. Who
// abandons it finds the task's handle in `runner`, under the lock, or has given its order before the handle is put there; who puts it
// there looks at the orders afterwards. The number of the visit says whether that round is over already.
//
// Why the end is final: a message that was admitted is counted until it was taken out, so with a count of 0 none is in the queue or
// on its way into it, and closed admits no further one. One word, so the two are seen at one moment; and only a round looks, so no
// handler runs.
// Why the end comes: the last of {close, the last round, a refused send} leaves {closed, 0} and schedules, or is in the round that
// looks afterwards. Where a refused send finds unsettled messages in the count, the round that settles them is still to come: of
// close's schedule, or of that of the message itself.
//
// Invariants (tests/model/mailbox_model.cpp): B1 what was admitted is served or destroyed, once. B2 closed and nobody inside send:
// it ends. B3 the end comes once. B4 who waits for room gets it or hears that it is closed.
class ROTA_API mailbox_core {
 public:
  mailbox_core(const mailbox_core&) = delete;
  mailbox_core& operator=(const mailbox_core&) = delete;

  // --- producers: whoever has a reference

  /// Room for one message, whatever the capacity is. False: it is closed, or this is a forked child.
  [[nodiscard]] bool admit_regardless() noexcept;
  /// Room for at most `wanted` messages; `status` says why not for all. Blocks where the policy is to wait and `may_block`.
  std::size_t admit(std::size_t wanted, bool may_block, send_status& status) noexcept;
  /// What was admitted: a chain, whose last `next` is null.
  void deliver(queue::mpsc_link& first, queue::mpsc_link& last) noexcept {
    if (drops_) {
      append_and_trim(first, last);
    } else {
      tail_.append(first, last);
    }
    if (flags_.schedule() == on_schedule::publish) publish();
  }

  // --- whoever has a reference

  /// Returns false in a forked child of the process that has its consumers.
  [[nodiscard]] bool is_own_process() const noexcept;
  /// Throws errc::forked there.
  void demand_own_process() const;
  /// Does nothing in a forked child, where no message comes in anyway.
  void close() noexcept;
  void pause() noexcept;
  void resume() noexcept;
  [[nodiscard]] mailbox_stats stats() const noexcept;
  /// Blocks until it has been empty once, or has ended. Not where would_deadlock().
  void wait_until_empty() noexcept { wait_until_emptied(ask_for_emptiness()); }
  /// The same in two steps, so that many can be asked before one waits.
  struct emptiness {
    std::uint32_t seen;
    bool is_empty;
  };
  [[nodiscard]] emptiness ask_for_emptiness() noexcept;
  void wait_until_emptied(emptiness asked) noexcept;
  /// Blocks until it has ended. The same.
  void wait_until_ended() noexcept;
  /// Is this thread inside of its handler, or of that's destructor?
  [[nodiscard]] bool runs_here() const noexcept;
  /// The task that runs here does what the handler's would.
  void note_helper() noexcept;
  /// On a testing::runtime, where it would be waited for: runs one of the tasks. False: wait.
  bool help_once() noexcept;
  /// There: the same, but no timer after `deadline` fires. False elsewhere, and where nothing can run until then.
  bool help_before(std::chrono::steady_clock::time_point deadline) noexcept;
  [[nodiscard]] bool is_alone() const noexcept;
  /// As its executor's handlers see it.
  [[nodiscard]] std::chrono::steady_clock::time_point now() const noexcept;
  /// May its handler give tasks?
  [[nodiscard]] bool has_tasks() const noexcept;
  /// Would it be a consumer of its executor that waits for it?
  [[nodiscard]] bool would_deadlock() const noexcept;
  /// Destroys what waits, calls the handler no more, and returns when it does not run. In a forked child it returns at once.
  void abandon() noexcept;
  /// The same, and returns at once. True: it runs now, and not here.
  bool ask_to_end() noexcept;
  [[nodiscard]] bool has_ended() const noexcept {
    // acquire. Pairs with visit(): what the last round did is seen, and the handler is gone.
    return over_.load(base::order::acquire) == over;
  }
  /// After the end: what the handler threw, if that was the reason.
  [[nodiscard]] const std::exception_ptr& error() const noexcept {
    note_error_seen();
    return error_;
  }
  /// The destructor does not report what the handler threw. Any thread with a reference.
  void note_error_seen() const noexcept {
    // relaxed. Read by the destructor, after every reference has gone.
    error_is_seen_.store(true, base::order::relaxed);
  }

  /// Once, when it is whole: from now on the executor knows it.
  void enrol() noexcept;

  [[nodiscard]] bool lets_wait() const noexcept;

  void add_reference() noexcept {
    // relaxed. The caller has one.
    references_.fetch_add(1, base::order::relaxed);
  }
  void drop_reference() noexcept;

  // --- the consumer that took it out of the executor's lists

  /// How many messages it has served.
  std::uint32_t visit() noexcept;

 protected:
  /// Two references: the caller's, and the service's, which is dropped at the end.
  /// Throws std::bad_alloc.
  mailbox_core(executor_core& owner, const mailbox_options& options);
  virtual ~mailbox_core();

  /// Takes out and serves the oldest messages, at most so many. Fewer: no more were found, or is_to_stop(), or is_pending().
  virtual std::uint32_t serve(std::uint32_t most) noexcept = 0;
  /// Of handlers that give tasks: the one for the message that was taken out last. Its message stays until it is dropped.
  [[nodiscard]] virtual task<void> take_pending();
  virtual void drop_pending() noexcept {}
  /// Takes out and destroys the oldest, at most so many, and only as long as more than `keep` are there.
  virtual std::uint32_t destroy_oldest(std::uint32_t most, std::size_t keep) noexcept = 0;
  /// Destroys the handler, if it is there.
  virtual void retire() noexcept = 0;
  /// At the end: and what it would be made anew from.
  virtual void retire_for_good() noexcept { retire(); }
  /// Makes the handler anew, which was destroyed. May throw what its making throws.
  virtual void remake() = 0;
  /// It has stopped, for an error. Another mailbox may get that: it calls note_error_seen() when it does.
  virtual void gave_up(const std::exception_ptr& /*thrown*/) noexcept {}

  [[nodiscard]] queue::mpsc_taker& taker() noexcept { return taker_; }
  /// What takes a message out of its link, for which nobody has a lock.
  struct removal {
    queue::mpsc_link* link = nullptr;    // the message's; from now on the list's head
    queue::mpsc_link* before = nullptr;  // not needed any more, unless null
    bool frees = false;  // under `drops`: it is the head no more, and whoever empties it frees it
  };
  /// Returns false if no more than `keep` are there, which is 0 but for one that drops.
  [[nodiscard]] bool remove_oldest(removal& now, std::size_t keep) noexcept {
    if (drops_) return remove_beside_others(now, keep);
    now.link = taker_.front();
    if (now.link == nullptr) return false;
    now.before = taker_.pop(*now.link);
    return true;
  }
  /// The message has left its link. True: that is not needed any more.
  [[nodiscard]] bool has_to_free(const removal& now) noexcept { return drops_ && settle_removal(now); }
  /// One was taken out of a bounded one.
  void note_taken_out() noexcept {
    if (bounded_) make_room(1);
  }
  /// The handler threw. False: it may be gone; the round looks at the orders.
  bool note_failure(std::exception_ptr thrown) noexcept;
  /// Of serve(): the handler has given a task for the last message, so the round goes on in one.
  void note_pending() noexcept { is_pending_ = true; }
  /// The handler is to come to rest: asked between messages.
  [[nodiscard]] bool is_to_stop() const noexcept {
    // relaxed. A message; it is seen sooner or later, and after the next begin for certain.
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

  // over_: 0; at_rest: the handler does not run and never will, since a round has seen the order to discard; over: the last round
  // has done everything.
  static constexpr std::uint32_t at_rest = 1;
  static constexpr std::uint32_t over = 2;
  // orders_
  static constexpr std::uint32_t to_pause = 1;
  static constexpr std::uint32_t to_discard = 2;
  static constexpr std::uint32_t to_rest = 4;     // between two handlers
  static constexpr std::uint32_t to_remake = 8;   // the handler, before the next message
  static constexpr std::uint32_t to_cancel = 16;  // the runner: who gave it is not inside of the handler

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
    // relaxed. What came before a schedule that this round's begin, or its give_way(), has seen is in it.
    return (orders_.load(base::order::relaxed) & to_discard) != 0;
  }
  void note_dropped(std::uint32_t count) noexcept;
  [[nodiscard]] bool begin_restart() noexcept;
  [[nodiscard]] bool try_remake() noexcept;
  void end_rest() noexcept;
  [[nodiscard]] bool try_end(std::uint64_t seen) noexcept;
  void discard_and_close() noexcept;
  void order_to_discard() noexcept {
    // relaxed. The round that runs sees it, or a schedule that follows releases it to the round that begins after it.
    orders_.fetch_or(to_discard, base::order::relaxed);
  }

  /// A round as it goes on, from one thread to the next if the handler waits.
  struct turn {
    std::uint32_t left;  // of the budget
    std::chrono::steady_clock::time_point until{};
    // Of its present chunk:
    bool is_in_chunk = false;
    bool discards = false;
    bool rests = false;
    std::uint32_t wanted = 0;
    std::uint32_t count = 0;
    std::uint32_t counted = 0;  // of these, in the account
  };
  enum class [[nodiscard]] after_round : std::uint8_t {
    finished,  // the gate was finished, and the mailbox may be anybody's
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

  struct parts;  // what only src/gate needs to know

  // Three lines: what is only read, most of the time; the consumer's; the producers'.
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
  base::cell<mailbox_core*> next_ready_{nullptr};  // whoever has it, between publish and begin
  base::atomic<std::uint64_t> unsettled_{0};       // the rounds'
  bool is_pending_ = false;                        // the round's
  alignas(64) queue::mpsc_appender tail_{taker_};
  base::atomic<std::uint64_t> size_{0};
  gate_flags flags_;
};

}  // namespace detail
}  // namespace rota::gate
