// The pool itself: what thread_pool and every work point to.
#pragma once

#include "base/thread.hpp"
#include "pool/crew.hpp"
#include "pool/desk.hpp"
#include "pool/extras.hpp"
#include "pool/failed_works.hpp"
#include "pool/failure_book.hpp"
#include "pool/failure_texts.hpp"
#include "pool/group.hpp"
#include "pool/hill_climber.hpp"
#include "pool/keeper.hpp"
#include "pool/listeners.hpp"
#include "pool/rest_waiters.hpp"
#include "pool/slots.hpp"
#include "pool/time_record.hpp"
#include "pool/work.hpp"
#include "task/registry.hpp"

#include <rota/pool/thread_pool.hpp>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rota::pool::detail {

using on_timeout_action = on_timeout;  // pool_core has a function of that name

/// A queue and its lock. The threads that check this queue first: see pool_core::take().
struct alignas(base::cache_line) lane {
  base::mutex lock;
  std::unique_ptr<work_queue> queue;
  base::atomic<std::size_t> waiting{0};  // its size, written under the lock

  // All under the lock.
  void put(work_core& w) noexcept {
    queue->set(w);
    // relaxed, as all here: written under the lock. A thread that acts on the value takes the lock.
    w.home.store(this, base::order::relaxed);
    note_size();
  }
  void remove(work_core& w) noexcept {
    queue->remove(w);
    note_out(w);
  }
  /// Updates the record of a work that the queue has returned.
  void note_out(work_core& w) noexcept {
    w.home.store(nullptr, base::order::relaxed);  // relaxed: same reason as in put()
    note_size();
  }
  // relaxed: same reason as in put()
  void note_size() noexcept { waiting.store(queue->size(), base::order::relaxed); }
};

/// The jobs of one steal. The capacity bounds how long a thief holds a lock, and how long its first job
/// waits.
struct stolen_jobs {
  std::array<work_core*, 64> jobs;  // the first `count` are set
  std::size_t count = 0;
};

/// A thread that waits for a place in a full queue.
struct place_waiter {
  place_waiter* next = nullptr;
  base::atomic<std::uint32_t> called{0};
};

/// A thread that waits for any of several works. `rung` is raised when one of them is over.
struct any_waiter {
  base::atomic<std::uint32_t>* rung;
  any_waiter* next = nullptr;
  any_waiter* previous = nullptr;
};

class blocked_on;
class watch_core;
struct source_node;

void check_threads(unsigned min_threads, unsigned max_threads);

class pool_core final : public crew_client {
 public:
  explicit pool_core(pool_options how);
  pool_core(const pool_core&) = delete;
  pool_core& operator=(const pool_core&) = delete;
  ~pool_core();

  // ---- submit.cpp
  /// Throws errc::forked in a forked child of the process that made this pool: a child has none of the
  /// threads.
  void demand_own_process(const char* what) const;
  [[nodiscard]] bool is_own_process() const noexcept { return base::is_this_process(process_); }
  /// Returns the id of the process that has the pool's threads.
  [[nodiscard]] std::uint64_t process() const noexcept { return process_; }
  [[nodiscard]] work_core& draw(const body_type& type, const work_options* wanted);
  void give_back(work_core& w) noexcept;
  /// `given`: the caller owns a reference afterwards.
  enum class handle : bool { none, given };
  void enter(work_core& w, const work_options* wanted, handle how);
  /// Enters the work of an item. The work can already be found, and the caller has a reference. It is never
  /// refused a place.
  void enter_watched(work_core& w, const work_options& wanted, source_node& item);
  /// Throws std::invalid_argument.
  static void check(const work_options& wanted, bool is_repeatable);
  [[nodiscard]] work_id reserve();
  void start() noexcept;
  /// Places a work that may run: in a queue, or in the list in which it is held. The travelling reference
  /// goes with it.
  enum class counting : bool { due, done };
  void place(work_core& w, counting how = counting::due) noexcept;
  void push_segment(work_core& w) noexcept;
  /// Clears the job of this thread's seat. Called before another thread may run the work.
  static void leave_seat(const work_core& w) noexcept;
  /// Between the two calls the pool is not idle. The pool's memory stays until the second call has returned.
  [[nodiscard]] work_core& begin_busy(busy_note& note);
  void end_busy(work_core& holder, busy_note& note) noexcept;
  /// Keeps the pool from being idle until let_go_of_hold(). Returns false if the pool is closed. The caller
  /// keeps the pool's memory.
  [[nodiscard]] bool hold_open() noexcept;
  void let_go_of_hold() noexcept;
  /// Draws a slot that no id leads to. As long as it is not dropped, the pool's memory stays. Throws
  /// errc::forked, with `what`.
  [[nodiscard]] work_core& draw_holder(const char* what);

  // ---- run.cpp
  [[nodiscard]] void* take(seat& here) noexcept override;
  on_run run(seat& here, void* job) noexcept override;
  [[nodiscard]] bool has_work() noexcept override;
  void begins(seat& here) noexcept override;
  void ends(seat& here) noexcept override;
  void loses(seat& here) noexcept override;
  void gone(void* job) noexcept override;
  void missing() noexcept override;
  [[nodiscard]] bool leaves_behind(seat& here) noexcept override;
  /// Takes a work out of its queue and runs it on this thread, nested in the current work. Returns false if
  /// it is not in a queue.
  bool run_here(work_core& w) noexcept;
  /// The same with any work. Returns false if none was found.
  bool help_once() noexcept;

  // ---- finish.cpp
  /// Does everything that the end of a work requires. Called after the status has become final. The caller
  /// owns a reference.
  void finish(work_core& w) noexcept;
  void drop(work_core& w) noexcept;
  /// Reports an exception of the user's code that no code receives any more. A cancellation while the pool
  /// ends is not reported.
  void note_lost(const unhandled_exception& about, const std::exception_ptr& thrown) noexcept;
  /// Returns the slot. No reference is left.
  void recycle(work_core& w) noexcept;

  // ---- control.cpp
  bool cancel(work_core& w, std::uint64_t why) noexcept;
  bool stop(work_core& w, std::uint64_t how) noexcept;
  bool pause(work_core& w) noexcept;
  bool resume(work_core& w) noexcept;
  void pause_all() noexcept;
  void resume_all() noexcept;
  void pause_group(std::string_view name);
  void resume_group(std::string_view name);
  /// Returns false if the job is not accepted yet, or has ended. Throws errc::forked, std::invalid_argument,
  /// std::bad_alloc.
  bool join_group(work_core& w, std::string_view name);
  /// Returns false if the job is not in that group, or has ended. Throws errc::forked.
  bool leave_group(work_core& w, std::string_view name);
  /// The same. Sets `was_held` if a pause may have held the job: then the caller calls release_held()
  /// afterwards, once for several.
  bool leave_group(work_core& w, std::string_view name, bool& was_held);
  void release_held() noexcept;
  void limit_group(std::string_view name, unsigned most);
  void unrelate(std::string_view parent, std::string_view child) noexcept;
  [[nodiscard]] bool is_paused(work_core& w) noexcept;
  void checkpoint(work_core& w);
  void sleep(work_core& w, base::time_point until);
  static void on_timeout(work_core& w) noexcept;
  static void on_deadline(work_core& w) noexcept;
  bool end_if_late(work_core& w) noexcept;
  static void on_backoff(work_core& w) noexcept;
  static void on_grace(work_core& w) noexcept;

  // ---- wait.cpp
  /// A hint without a lock: `listed` is set before the job is in a group that it joined later. For jobs that
  /// were accepted.
  [[nodiscard]] static bool may_be_in_groups(const work_core& w) noexcept {
    return (w.extras != nullptr && w.extras->group != nullptr) || w.load().has(listed);
  }
  [[nodiscard]] static bool was_called_off(const work_core& w) noexcept;
  bool wait(work_core& w, base::time_point deadline);
  void wait_helping(work_core& w);
  bool wait_group(std::string_view name, base::time_point deadline);
  /// Returns an empty id if the deadline passed first.
  [[nodiscard]] work_id wait_any(std::span<const work_id> ids, base::time_point deadline);
  bool wait_idle(base::time_point deadline);
  bool until_idle(base::time_point deadline, const blocked_on* said);
  void wait_idle_helping();
  // ---- async_wait.cpp
  [[nodiscard]] bool is_at_rest(rest_waiter& me, waker& wake) noexcept;
  void take_out_of_idle(rest_waiter& me) noexcept;
  /// For a thread that is about to sleep until something of the pool is over, and that has read the word that
  /// it sleeps on. Returns the time until which it may sleep. That is `deadline`, unless the pool lacks
  /// threads and the keeper lacks its own: then this thread tries to start threads, and must sleep for a
  /// short time only.
  [[nodiscard]] base::time_point sleep_until(base::time_point deadline) noexcept {
    return clock.lacks_thread() ? try_for_threads(deadline) : deadline;
  }

  // ---- end.cpp
  void shut_down(base::nanoseconds grace) noexcept;
  [[nodiscard]] pool_report report();
  void let_go() noexcept;

  // ---- lifecycle.cpp
  /// Returns how many jobs were brought to their end by a thread: the measure of hill climbing. An attempt
  /// that another one follows does not count.
  [[nodiscard]] std::uint64_t count_of_ends() noexcept;

  // ---- pool_core.cpp
  [[nodiscard]] work_core* find(std::uint64_t id) noexcept { return memory.find(id); }
  [[nodiscard]] std::uint64_t find_name(std::string_view name) noexcept;
  [[nodiscard]] work_core* find_stored(std::uint64_t id) noexcept;
  bool forget_stored(work_core& w) noexcept;
  std::size_t clear_stored() noexcept;
  // ---- stored.cpp
  /// Returns stored works that are over and have results of this type. The caller owns a reference to each.
  [[nodiscard]] std::vector<work_core*> all_stored(const void* tag);
  /// Returns stored works that may be in a group, over or not. The caller owns a reference to each.
  [[nodiscard]] std::vector<work_core*> stored_of_groups();
  [[nodiscard]] work_end end_of_stored(work_core& w) const noexcept;
  [[nodiscard]] std::vector<failed_work> all_failed();
  bool forget_failed(work_id id) noexcept;
  std::size_t forget_all_failed() noexcept;
  [[nodiscard]] pool_stats count() noexcept;
  [[nodiscard]] listener& listen(observer& whom);
  /// Registers a watch that must be told of the pool's end. Throws errc::shut_down.
  void enlist(watch_core& one);
  void strike_off(watch_core& one) noexcept;

  const pool_options options;
  slots memory;
  crew threads;
  keeper clock;
  lost_exceptions lost{options.on_unhandled};
  listeners events{lost};
  groups circles{*this};
  core::registry tasks{1};  // of coroutines
#if ROTA_MODEL
  // A run of a model must not depend on the times of the run before. A pool that a task has made shares the
  // times of the task's runtime, as all pools do in a program.
  core::passed_deadlines own_passed;
  core::passed_deadlines& passed =
      core::task_in_sight() != nullptr ? *core::task_in_sight()->owner->passed : own_passed;
#else
  static constexpr core::passed_deadlines& passed = core::passed_on_steady_clock;
#endif

 private:
  enum class [[nodiscard]] on_admit : std::uint8_t { place, take, run_here, discard, discard_other };
  enum class [[nodiscard]] on_line : std::uint8_t { stay, place, closed, force };
  enum class [[nodiscard]] on_claim : std::uint8_t { run, not_now };
  // done: the caller still has its reference. gone: that reference is gone, too. last: no reference is left,
  // and the slot belongs to the caller. waits: the coroutine waits. given_up: the thread came back to a work
  // that had been abandoned.
  enum class [[nodiscard]] on_execute : std::uint8_t { done, gone, last, waits, given_up };
  enum class [[nodiscard]] on_retry : std::uint8_t { here, elsewhere, never };
  enum class which : bool { own, stolen };

  // submit.cpp
  [[nodiscard]] bool is_plain(const work_options& wanted) const noexcept;
  void prepare(work_core& w, const work_options& wanted, source_node* item = nullptr);
  void undo(work_core& w) noexcept;
  void reject(work_core& w) noexcept;
  void link_after(work_core& w, const std::vector<work_id>& after);
  void demand_no_cycle(work_core& w, const std::vector<work_core*>& after);
  void resolve_late(work_core& w, std::uint64_t id, work_core*& failed) noexcept;
  void count_in() {
    // acq_rel: the count is raised before the pool's end checks it, or this thread sees the bit that the
    // pool's end has set.
    const std::uint64_t before = outstanding_.fetch_add(1, base::order::acq_rel);
    if ((before & closed_bit) != 0) [[unlikely]]
      refuse();
    if ((before & count_mask) == 0) note_lifecycle(begun_batches_);
  }
  [[noreturn]] void refuse();
  void enter_simply(work_core& w, handle how);
  void enter_fully(work_core& w, const work_options* wanted, source_node* item = nullptr);
  void arm_from_submit(work_core& w) noexcept;
  [[nodiscard]] bool is_closed() noexcept;
  void bring_in(work_core& w, on_admit how) noexcept;
  [[nodiscard]] bool make_ready(work_core& w) noexcept;
  void run_by_caller(work_core& w) noexcept;
  enum class on_push : std::uint8_t { begins, goes_on };
  [[nodiscard]] bool push(work_core& w, on_push how) noexcept;
  void count_long(work_core& w) noexcept;
  void place_all(work_core* list) noexcept;
  [[nodiscard]] unsigned lane_for(const work_core& w) noexcept;
  [[nodiscard]] unsigned shorter_of(unsigned first, unsigned in_use) noexcept;

  // admission.cpp
  [[nodiscard]] static bool takes_place(const work_options* wanted) noexcept;
  void note_waiting(int by) noexcept {
    if (is_limited_) count_waiting(by);
  }
  void count_waiting(int by) noexcept;
  [[nodiscard]] std::int64_t places() const noexcept;
  [[nodiscard]] bool take_place() noexcept;
  [[nodiscard]] bool take_place_in_turn() noexcept;
  void call_waiter() noexcept;
  [[nodiscard]] bool wait_for_place();
  on_line look_for_place(place_waiter& mine, bool is_forced) noexcept;
  [[nodiscard]] rejection policy_for(const work_core& w) noexcept;
  on_admit admit(work_core& w);
  [[nodiscard]] lane* lowest_lane() noexcept;
  [[nodiscard]] work_core* take_lost(lane& from, int most) noexcept;
  bool discard_from(lane& from, int most) noexcept;
  bool discard_one(const work_core& w) noexcept;

  // run.cpp
  [[nodiscard]] work_core* pop(lane& from, which end) noexcept;
  void pop_stolen(lane& from, stolen_jobs& out) noexcept;
  [[nodiscard]] work_core* steal_into(unsigned mine) noexcept;
  void take_out(work_core& w) noexcept;
  on_claim take_on(work_core& w) noexcept;
  on_claim claim(work_core& w) noexcept;
  [[nodiscard]] bool hold_if_paused(work_core& w) noexcept;
  on_execute execute(work_core& w, seat* mine = nullptr) noexcept;
  on_execute finish_run(work_core& w, work_status how, seat* mine) noexcept;
  [[nodiscard]] std::optional<on_execute> end_at_once(work_core& w, seat* mine) noexcept;
  on_run run_segment(seat& here, work_core& w) noexcept;
  [[nodiscard]] static work_status kind_of(work_core& w, const std::exception_ptr& thrown) noexcept;
  [[nodiscard]] work_status attempt(work_core& w, bool last) noexcept;
  [[nodiscard]] std::optional<work_status> segment(work_core& w, bool last) noexcept;
  void note_queued(work_core& w) noexcept;
  void begin_attempt(work_core& w) noexcept;
  void end_attempt(work_core& w) noexcept;
  void arm_timeout(work_core& w, base::time_point from) noexcept;
  [[nodiscard]] static bool may_try_again(work_core& w) noexcept;
  [[nodiscard]] static on_retry cut_off(work_core& w) noexcept;
  on_retry try_again(work_core& w, seat* mine) noexcept;
  [[nodiscard]] static base::nanoseconds next_pause(work_extras& e) noexcept;

  // finish.cpp
  [[nodiscard]] work_end end_of(work_core& w, work_status how) const noexcept;
  void tell_of_attempt(work_core& w) noexcept;
  bool call_back(work_core& w, const work_end& end) noexcept;
  bool tell(work_core& w, work_status how) noexcept;
  [[nodiscard]] static bool is_failure_of_its_own(const work_core& w, work_status how) noexcept;
  [[nodiscard]] bool is_cut_off(const work_core& w) const noexcept;
  static void drop_function(work_core& w, work_status how) noexcept;
  void report_unseen(work_core& w) noexcept;
  void finish_one(work_core& w, work_core*& failed) noexcept;
  void announce(work_core& w, word how, work_core*& failed) noexcept;
  void finish_failed(work_core* failed) noexcept;
  void release_waiting(work_core& w, word how, work_core*& failed) noexcept;
  [[nodiscard]] static std::uint64_t root_of_failure(const work_core& w) noexcept;
  void resolve(work_core& w, std::uint64_t root, word how, work_core*& failed) noexcept;
  void give_place_on(work_core& w) noexcept;
  void leave_names(work_core& w) noexcept;
  void remember(work_core& w, work_status how) noexcept;
  void list_failure(work_core& w, std::uint64_t root) noexcept;
  [[nodiscard]] std::exception_ptr failed_because_of(work_id root) noexcept;
  void count_out(std::uint64_t ends = 1) noexcept {
    // acq_rel: a thread that sees that nothing is outstanding sees what all works did.
    const std::uint64_t before = outstanding_.fetch_sub(ends, base::order::acq_rel);
    if ((before & count_mask) == ends) note_idle(before);
  }
  void settle(seat& here) noexcept;
  [[nodiscard]] std::uint64_t outstanding_now() noexcept;
  void note_idle(std::uint64_t before) noexcept;
  [[nodiscard]] desk* own_desk() noexcept {
    const seat* const here = crew::here();
    return here != nullptr && here->of == &threads ? static_cast<desk*>(here->own) : nullptr;
  }
  void count_one(total what, std::uint64_t by = 1) noexcept { count_at(own_desk(), what, by); }
  void count_at(desk* own, total what, std::uint64_t by = 1) noexcept {
    const auto place = static_cast<std::size_t>(what);
    if (own != nullptr) {
      own->sums[place].add(by);
    } else {
      outside_[place].fetch_add(by, base::order::relaxed);  // relaxed: a total
    }
  }
  [[nodiscard]] std::uint64_t sum(total what) noexcept;
  void count_threads(std::vector<thread_stats>& into);
  void leave_desk(seat& here) noexcept;
  void wake_idle_waiters() noexcept;
  void wake_idle_tasks() noexcept;

  // end.cpp
  struct accounts {
    std::uint64_t begun = 0;  // works that ended after they had begun
    std::uint64_t unbegun = 0;
  };
  void end_all(base::nanoseconds grace) noexcept;
  void end_each(std::uint64_t how) noexcept;
  void end_by_force() noexcept;
  void end_watches() noexcept;
  bool end_reservation(work_core& w) noexcept;
  void demand_not_busy_here() noexcept;
  [[nodiscard]] accounts count_ends() noexcept;

  // lifecycle.cpp
  [[nodiscard]] bool tells_lifecycle() const noexcept;
  void note_lifecycle(base::atomic<std::uint64_t>& batches) noexcept;
  void begin_batch() noexcept;
  void end_batch() noexcept;
  void arm_running_timer() noexcept;
  void count_runner(unsigned by) noexcept;
  void begins_to_run(const seat& here) noexcept;
  void runs_no_more(desk& own) noexcept;
  on_execute execute_here(work_core& w) noexcept;
  void total_time_is_over() noexcept;
  void tick() noexcept;
  void reset_climb() noexcept;
  void begin_climb() noexcept;
  void arm_climb_timer() noexcept;
  void climb() noexcept;
  void try_again_to_start() noexcept;
  [[nodiscard]] base::time_point try_for_threads(base::time_point deadline) noexcept;
  void rouse_sleepers() noexcept;

  // control.cpp
  void arm_deadline(work_core& w) noexcept;
  void note_late(work_core& w) noexcept;
  void abandon(work_core& w) noexcept;
  void arm_grace(work_core& w) noexcept;
  static void disarm_grace(work_core& w) noexcept;
  void rouse_waiting(work_core& w) noexcept;
  void go_on(work_core& w) noexcept;
  void look_again() noexcept;

  void keep_stored(work_core& w);

  static constexpr std::uint64_t closed_bit = std::uint64_t{1} << 62U;
  static constexpr std::uint64_t waited_bit = std::uint64_t{1} << 63U;
  static constexpr std::uint64_t count_mask = closed_bit - 1;

  std::vector<lane> lanes_;
  lane long_lane_;
  // Read by every submit and every run. Rarely written.
  alignas(base::cache_line) const bool is_limited_;  // the number of waiting works is limited
  const bool is_simple_;                             // no limit, no clock and no user-defined queue
  const bool is_time_masked_;                        // time_one_in is a power of two
  const std::uint64_t process_ = base::this_process_id();
  base::atomic<bool> closing_{false};
  base::atomic<bool> started_;  // written under lock_
  base::atomic<bool> paused_{false};
  base::atomic<std::uint32_t> pauses_{
      0};  // paused works and groups, and one for a paused pool; 0: no check is necessary
  base::atomic<std::uint32_t> ended_{0};  // 1: shut_down() is done
  alignas(base::cache_line) base::atomic<std::uint64_t> outstanding_{0};
  base::atomic<std::uint32_t> idle_epoch_{0};
  base::atomic<std::uint64_t> holds_{0};     // outstanding counts that are not works
  base::atomic<std::uint64_t> orphaned_{0};  // ended works that given-up threads have not counted out
  alignas(base::cache_line) base::atomic<std::uint64_t> waiting_{
      0};  // in queues; counted only where there is a limit
  // counted by threads outside of the pool
  alignas(base::cache_line) std::array<base::atomic<std::uint64_t>, totals> outside_{};

  base::mutex lock_;       // protects the fields below
  desk* desks_ = nullptr;  // all that were made; owned
  desk* free_desks_ = nullptr;
  bool shut_down_ = false;
  work_core* held_ = nullptr;         // held by start_mode::suspended; the last one first
  work_core* paused_list_ = nullptr;  // held by a pause of queued works
  place_waiter* first_waiter_ = nullptr;
  place_waiter* last_waiter_ = nullptr;
  std::map<std::string, std::uint64_t, std::less<>> names_;
  failure_book failures_;                       // for `after`
  failure_texts texts_;                         // of the same works, for dependency_failed::what()
  failed_list failed_;                          // for failed_works()
  std::map<std::uint64_t, work_core*> stored_;  // results that are kept; each owns a reference
  watch_core* watches_ = nullptr;               // the registered watches
  any_waiter* any_waiters_ = nullptr;
  rest_waiters idle_tasks_;  // tasks that wait until the pool is idle
  busy_note* busy_notes_ = nullptr;
  pool_report report_;
  bool abandoned_are_noted_ = false;  // in the report

  const base::time_point made_at_ = base::now();
  time_record queue_times_;
  time_record run_times_;

  base::mutex graph_lock_;
  base::atomic<bool> has_reserved_{false};  // an id was reserved, so a cycle of dependencies is possible
  base::mutex lifecycle_lock_;
  bool running_ = false;                          // as last told to observers
  bool telling_ = false;                          // a thread reports a beginning or an end
  std::uint64_t told_ = 0;                        // the number of batches of which the beginning was told
  base::atomic<std::uint64_t> begun_batches_{0};  // batches that have begun
  base::atomic<std::uint64_t> ended_batches_{0};
  base::time_point began_{};                // written by the thread that tells
  base::atomic<std::uint32_t> runners_{0};  // threads that run works, counted while there is an observer
  timing::timer_node total_timer_;
  timing::timer_node running_timer_;
  timing::timer_node climb_timer_;  // under lifecycle_lock_, as the next two
  hill_climber climber_;
  end_sampler samples_;
  timing::timer_node missing_timer_;    // under lifecycle_lock_
  bool threads_are_over_ = false;       // under lifecycle_lock_: missing_timer_ is armed no more
  base::atomic<bool> is_short_{false};  // threads are missing, and missing_timer_ has no thread to serve it
  // the sleeping threads were told to try for threads themselves
  base::atomic<bool> sleepers_are_told_{false};
};

/// Makes a waker for a timer of a work. It calls `f(work)`, which takes over the reference.
template <void (*F)(work_core&) noexcept>
[[nodiscard]] waker timer_waker(work_core& w) noexcept {
  static constexpr waker_vtable vtable{
      .wake = [](void* data) noexcept { F(*static_cast<work_core*>(data)); },
      .wake_by_ref = [](void*) noexcept {},
      .clone =
          [](void* data) noexcept {
            static_cast<work_core*>(data)->retain();
            return data;
          },
      .drop =
          [](void* data) noexcept {
            auto& mine = *static_cast<work_core*>(data);
            mine.pool->drop(mine);
          },
  };
  return {&w, &vtable};
}

}  // namespace rota::pool::detail
