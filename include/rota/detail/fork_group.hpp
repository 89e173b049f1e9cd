// The children of a when_*: the part that knows no types. Children that are not stolen run in their parent's
// place.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>

#include <rota/detail/family.hpp>
#include <rota/detail/fork_deque.hpp>
#include <rota/detail/promise.hpp>
#include <rota/leaf.hpp>

namespace rota::core {

struct scheduler;
struct snapshot;

/// What decides how a when_* ends.
enum class group_rule : unsigned char {
  all,          // the first failure
  settled,      // nothing: every child runs to its end
  any,          // the first end
  any_success,  // the first value
};

/// What a worker offers to the tasks that it runs: the unstarted children, for the worker itself and for
/// thieves.
struct fork_context {
  static constexpr std::uint32_t capacity = ROTA_MODEL && !ROTA_SIMULATED ? 4 : 1024;

  fork_context(queue::pop_barrier barrier, scheduler& of) noexcept : waiting(barrier), by(&of) {}

  queue::fork_deque<promise_base, capacity> waiting;  // the first frames of the unstarted children
  // the owner's: the child in place that runs now; null: the task's own frames run
  strand* running = nullptr;
  scheduler* const by;  // the scheduler that owns the tasks that may fork here
};

// PROTOCOL: the children of a when_*
//
// A child is in one of four states. *Unstarted*: a frame that its parent holds, and that may lie in a deque
// as well. *In place*: it runs as a part of the task around it; its strand lies at the front of the memory
// where its header would be. *Task*: it has a header. *Ended*: also if it was discarded before it began
// because another child had failed.
//
//   unstarted -----> in place -----> ended          no other thread took part: no word or count touched;
//       |                |                          an unstarted child that is discarded ends at once
//       |  stolen        |  promoted: it, or a frame inside of it, needs to be a task
//       |  (adopt)       v  (promote)
//       `-------------> task ------> ended          counted by remaining_
//
// In place (rules all and settled, on a worker): the parent's frame suspends in the group, and the first
// child starts. Its siblings lie in the worker's deque, the next one on top. Siblings that do not fit there
// become tasks at once. A child that ends pops the next one. If the deque is empty, thieves have taken all
// remaining siblings: thieves take the oldest, so nothing older than the next sibling is left either. This
// holds as long as only this strand runs on the worker. Before any other task runs there, the strand is
// promoted.
//
// promote() makes a task of the innermost child and of every child in place around it. From the outside in,
// each gets its header, and its parent suspends in its group. It is called when the child's code asks for
// something that only a task has: an await of anything but a task or a fork, or current_task(). This may
// happen in the destructors of its parameters, and in what a cancelled sibling has registered. So a child
// that was over when it became a task ends as a task.
//
// To reach a strand in place, a thread calls the deque of its worker. The strand notices the call at its next
// fork, which then suspends, and at the end of each child: the siblings of that child then become tasks.
//
//   field       accessed by
//   members_    the children's first frames: written before any child starts. The memory around them lives as
//               long as the group
//   result      in a frame's tag: from null, by the thread that makes the child a task; then its header is
//               constructed
//   next_       the strand in place: the number of children started there, or discarded
//   decider_    position + 1 of the child that decided, by compare-exchange from 0; or `parents`, if the
//               parent was cancelled before
//   failed_     position + 1 of the child that failed first, by compare-exchange from 0
//   reason_     why the parent was cancelled: written before decider_
//   remaining_  tasks among the children that have not reported their end. A thief's child may report before
//               the parent has counted it: the sum goes below zero, and is right when the parent has added
//               its count
//   waker_room_ the parent's waker, written before the parent counts; taken by the child that brings
//               remaining_ to zero
//   done_       set by that child when it has taken the waker: afterwards only the parent touches the group
//
// The deciding child asks the others to stop before it reports its own end, so members_ is alive. A child
// that becomes a task meanwhile is asked to stop by the deciding thread, by the thread that makes it a task,
// or by both (store buffering, Dekker). The maker stores `result` and then reads decider_. The decider writes
// decider_ and then reads `result`. All four are seq_cst. A child in place is told through the deque
// (call()): the next fork there promotes it.
//
// remaining_ goes down by acq_rel, so the last child sees what all the others did. Its release of done_
// passes that on to the parent. The waker holds a reference, because the parent may be destroyed when it is
// woken.
//
// A stolen child inherits from the task that its parent belonged to when it forked. While a group is open
// that task does not run, or it runs only the children that are in place. Anything that changes the task
// promotes them before.
//
// Bad interleavings: tests/model/fork_model.cpp has them with the variants that fail.
class ROTA_API fork_group : public leaf, public family {
 public:
  fork_group(const fork_group&) = delete;
  fork_group& operator=(const fork_group&) = delete;

  /// Sets the site of the co_await.
  void awaited_at(std::source_location where) noexcept { where_ = where; }
  /// Returns the site for the children's reports: that of the co_await, or that of the frame that awaits the
  /// group, as in `timeout(1s, when_all(...))`. Line 0: a coroutine of rota awaits the group inside of
  /// another awaitable. Both values were written before the first child began, and stay until the last one
  /// has ended.
  [[nodiscard]] std::source_location site() const noexcept {
    if (where_.line() != 0 || frame_ == nullptr) return where_;
    return __builtin_bit_cast(std::source_location, frame_->kept_site());
  }

  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  void announce_cancel() noexcept final { announce_to_tasks(); }
  [[nodiscard]] bool cancel_ended() noexcept final;
  [[nodiscard]] bool is_discardable() noexcept final;
  [[nodiscard]] bool starts_tasks() const noexcept final { return true; }
  [[nodiscard]] const char* what() const noexcept final { return "when"; }

  void ended(header& child, const ending& how, bool unseen) noexcept final;
  void dropped(header& child, const ending& how) noexcept final;
  [[nodiscard]] header* parent() const noexcept final;
  [[nodiscard]] std::chrono::steady_clock::time_point own_deadline_of_parent() const noexcept final;

  template <class Promise>
  [[gnu::always_inline]] std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    promise_base& outer = parent.promise();
    if (rule_ <= group_rule::settled) return fork(outer, count_);
    return begin_slowly(outer);
  }

  // --- for the child that ends in place, and for workers

  [[nodiscard]] bool is_decided() const noexcept {
    // relaxed: only a hint. What was decided is read elsewhere.
    return decider_.load(base::order::relaxed) != 0;
  }
  /// Goes on after a child in place that has ended with a value. Its frame is destroyed, except for the
  /// memory of header and result. If another child has decided meanwhile, the deciding thread has called the
  /// deque.
  [[nodiscard, gnu::always_inline]] std::coroutine_handle<> go_on(fork_context& here) noexcept {
    if (next_ == window_) return all_have_started(here);
    if (here.waiting.is_called()) [[unlikely]]
      return go_on_with_tasks(here);
    promise_base* const next = here.waiting.pop();
    if (next == nullptr) [[unlikely]]
      return go_on_without_the_stolen(here);
    ROTA_ASSERT(next == members_[next_]);
    const strand& before = last_in_place();
    ++next_;
    return begin_in_place(*next, here, before);
  }
  /// Ends a child that has parameters with destructors. The memory of header and result stays.
  [[nodiscard]] std::coroutine_handle<> end_with_destructors(promise_base& child, bool has_value) noexcept;
  /// Goes on after a child that has failed, or that is a task now. `frame`: its own, if that is not destroyed
  /// yet.
  [[nodiscard]] std::coroutine_handle<> go_on_after(promise_base* frame) noexcept;

  /// Makes a task of an unstarted child that was taken out of a deque. The task is runnable, and the caller
  /// owns its queue entry.
  [[nodiscard]] static header& adopt(promise_base& child) noexcept;

 protected:
  explicit fork_group(group_rule rule) noexcept : rule_(rule) {}

  /// Runs the children in place if the parent runs in place; otherwise takes the slow path. `count`: count_,
  /// known at compile time.
  [[gnu::always_inline]] std::coroutine_handle<> fork(promise_base& outer, std::uint32_t count) {
    strand& running = *outer.root;
    // relaxed: only the thread that runs the strand uses it.
    fork_context* const here = running.forks.load(base::order::relaxed);
    // count may be 0: count - 1 then wraps around to a number that fits in no deque.
    if (!running.in_place || frame_ != nullptr || !here->waiting.has_room(count - 1)) [[unlikely]]
      return begin_slowly(outer);
    nested_ = true;
    frame_ = &outer;
    here_ = here;
    return open(*here, count, count);
  }
  ~fork_group() = default;

  void set_members(promise_base** first, std::size_t count) noexcept {
    if (count >= parents) [[unlikely]]
      refuse(count);
    members_ = first;
    count_ = static_cast<std::uint32_t>(count);
  }
  [[nodiscard]] virtual const result_vtable& type_of(promise_base& child) const noexcept = 0;

  /// Called by the destructor of the class that holds the members. Gives up the handles of the tasks, and
  /// destroys the frames that never started.
  void let_go() noexcept;
  bool start() override;

  /// Returns true if all children have ended in place and none has failed.
  [[nodiscard]] bool is_plain() const noexcept { return !mixed_; }
  [[nodiscard]] bool has_members() const noexcept { return count_ != 0; }
  [[nodiscard]] std::span<promise_base*> members() const noexcept { return {members_, count_}; }
  /// Leaves nothing for let_go().
  void forget_members() noexcept { count_ = 0; }

  /// Returns the position of the member that decided. Requires that the group has ended.
  [[nodiscard]] std::size_t decider() const noexcept;
  /// Rethrows the exception of the deciding failure, if a failure decides.
  void rethrow_failure();

 private:
  friend void promote(strand& running) noexcept;

  static constexpr std::uint32_t parents = 0xFFFF'FFFFU;
  /// Ends the program: the number of children is above the maximum.
  [[noreturn]] static void refuse(std::size_t count) noexcept;

  /// Starts the first child, with its siblings in the deque, at most `room` of them.
  [[gnu::always_inline]] std::coroutine_handle<> open(fork_context& here,
                                                      std::uint32_t count,
                                                      std::uint32_t room) noexcept {
    std::uint32_t siblings = count - 1;
    if (siblings > room) siblings = room;
    next_ = 1;
    window_ = 1 + siblings;
    promise_base** const all = members_;
    demand_work(all[0] != nullptr);
    promise_base& child = *all[0];
    here.waiting.push(siblings, [this, all](std::uint32_t i) -> promise_base& {
      demand_work(all[i + 1] != nullptr);
      promise_base& sibling = *all[i + 1];
      sibling.group = this;
      return sibling;
    });
    child.group = this;
    return begin_in_place(child, here, *frame_->root);
  }
  /// Passes on the transfer count: strands that go on in each other's place share one native stack.
  [[gnu::always_inline]] static void carry_on([[maybe_unused]] const strand& from,
                                              [[maybe_unused]] strand& to) noexcept {
#if !defined(__clang__)
    to.transfers = from.transfers;
#endif
  }
  /// As carry_on(), where the previous strand is unknown: the next transfer goes through the trampoline.
  static void start_flat([[maybe_unused]] strand& next) noexcept {
#if !defined(__clang__)
    next.transfers = most_transfers - 1;
#endif
  }
  /// Returns the strand of the child that was started last.
  [[nodiscard, gnu::always_inline]] const strand& last_in_place() const noexcept {
    return *static_cast<const strand*>(members_[next_ - 1]->room());
  }
  /// Starts a child in place. Constructs only its strand, the front part of a header.
  [[gnu::always_inline]] static std::coroutine_handle<> begin_in_place(promise_base& child,
                                                                       fork_context& here,
                                                                       const strand& before) noexcept {
    strand* const front = static_cast<strand*>(child.room());
    // relaxed: only the thread that runs the strand uses it.
    front->forks.store(&here, base::order::relaxed);
    front->why = stop_reason::none;
    front->transfers = 0;
    carry_on(before, *front);
    front->in_place = true;
    front->budget = leaf_budget;
    child.root = front;
    here.running = front;
    return transfer(*front, child);
  }
  [[nodiscard, gnu::always_inline]] std::coroutine_handle<> all_have_started(fork_context& here) noexcept {
    if (mixed_ || !frame_->root->in_place) [[unlikely]]
      return leave(here);
    here.running = frame_->root;
    carry_on(last_in_place(), *frame_->root);
    return transfer(*frame_->root, *frame_);
  }

  [[nodiscard]] static bool must_begin(promise_base& child) noexcept {
    return tag_of(frame_of_room(child.room())).must_begin != 0;
  }
  [[nodiscard]] header& adopt(promise_base& child, header& base) noexcept;
  std::coroutine_handle<> begin_slowly(promise_base& outer);
  std::coroutine_handle<> open_partly(fork_context& here, std::uint32_t room) noexcept;
  std::coroutine_handle<> leave(fork_context& here) noexcept;
  std::coroutine_handle<> go_on_without_the_stolen(fork_context& here) noexcept;
  std::coroutine_handle<> go_on_with_tasks(fork_context& here) noexcept;
  std::coroutine_handle<> join() noexcept;
  void make_tasks_of_the_rest() noexcept;
  void wait_in_place_of(header& me) noexcept;
  /// Notes that the parent runs from now on.
  void hand_back(fork_context& here) const noexcept {
    here.running = frame_->root->in_place ? frame_->root : nullptr;
  }
  void make_tasks_of_unstarted(fork_context& here) noexcept;
  void discard_unstarted() noexcept;
  header& promote_child(header& me) noexcept;
  void note_mixed() noexcept {
    if (mixed_) return;
    mixed_ = true;
    stolen_ = 0;
    rethrown_ = 0;
  }
  void keep_waker() noexcept;
  [[nodiscard]] waker take_waker() noexcept;
  header& make_task_of(promise_base& child, scheduler& by, snapshot initial, const header& inherits) noexcept;
  [[nodiscard]] std::uint32_t place_for(header& me) const noexcept;
  [[nodiscard]] header& base_task() const noexcept;
  [[nodiscard]] const fork_group* around() const noexcept;
  [[nodiscard]] cancel_reason reason_to_stop() const noexcept;
  [[nodiscard]] cancel_reason reason_around() const noexcept;
  [[nodiscard]] cancel_reason reason_outside() const noexcept;
  [[nodiscard]] bool waits_for_own_cancellation() const noexcept;
  template <class Visit>
  void for_each_task(Visit visit) const noexcept;
  void announce_to_tasks() const noexcept;
  [[nodiscard]] std::uint32_t position_of(const header& task) const noexcept;
  [[nodiscard]] bool may_be_first(const ending& how) const noexcept;
  [[nodiscard]] ending ending_at(std::uint32_t position) const noexcept;
  [[nodiscard]] bool decides(const ending& how) const noexcept;
  void report(std::uint32_t position, const ending& how) noexcept;
  void cancel_others(const header* but, cancel_reason reason) noexcept;
  void call_who_is_in_place() noexcept;

  promise_base** members_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t next_ = 0;
  promise_base* frame_ = nullptr;  // the frame of the parent, which awaits this group; null before
  base::atomic<std::uint32_t> decider_;
  base::atomic<std::uint32_t> failed_;
  base::atomic<std::int32_t> remaining_;
  base::atomic<bool> done_;
  base::atomic<cancel_reason> reason_;
  group_rule rule_;
  bool nested_ = false;  // the parent was in place when it forked
  bool mixed_ = false;   // not all children have ended in place with a value
  // the children before it have started in place, or lie in the deque; the others are tasks
  std::uint32_t window_;
  // valid if mixed_: tasks that remaining_ does not count yet
  std::uint32_t stolen_;
  std::uint32_t rethrown_;        // valid if mixed_: position + 1
  fork_context* here_ = nullptr;  // the context in which it forked in place; null: none
  fork_group* within_;            // in promote(): the group that a child of this one waits in
  std::source_location where_;
  alignas(waker) std::byte waker_room_[sizeof(waker)];
};

/// Throws: an empty range has no first element to end.
[[noreturn]] ROTA_API void throw_nothing_to_wait_for();

template <class Promise>
[[gnu::always_inline]] inline std::coroutine_handle<> end_in_place(
    std::coroutine_handle<Promise> frame) noexcept {
  Promise& self = frame.promise();
  fork_group& group = *self.group;
  // relaxed: only the thread that runs the strand uses it.
  fork_context& here = *self.root->forks.load(base::order::relaxed);
  base::note_read(&self.result());
  const bool has_value = self.result().has_value();
  if constexpr (!Promise::ends_by_itself) {
    return group.end_with_destructors(self, has_value);
  } else {
    if (!has_value) [[unlikely]]
      return group.go_on_after(&self);
    return group.go_on(here);
  }
}

}  // namespace rota::core
