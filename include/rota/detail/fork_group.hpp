// The children of a when_*: the part that knows no types. Children that nobody steals run in their parent's place.
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
  settled,      // nothing: all end as they like
  any,          // the first end
  any_success,  // the first value
};

/// What a worker offers the tasks that it runs: the children that nobody has started, for it and for thieves.
struct fork_context {
  static constexpr std::uint32_t capacity = ROTA_MODEL && !ROTA_SIMULATED ? 4 : 1024;

  fork_context(queue::pop_barrier barrier, scheduler& of) noexcept : waiting(barrier), by(&of) {}

  queue::fork_deque<promise_base, capacity> waiting;  // their first frames
  strand* running = nullptr;  // the owner's: the child in place whose frames run now; null: the task's own do
  scheduler* const by;        // whose tasks may fork here
};

// PROTOCOL: the children of a when_*
//
// A child is one of four things: *unstarted*, a frame that its parent holds, or that lies in a deque as well; *in place*: it runs
// as a part of the task around it, its strand being the front of the room where its header would be; a *task*, with a header;
// or *ended*; also if it was discarded before it began, since another had failed.
//
//   unstarted -----> in place -----> ended          nobody else took part: no word, no reference, no count was touched;
//       |                |                          discarded, an unstarted one ends at once
//       |  stolen        |  promoted: it, or something inside of it, needs to be a task
//       |  (adopt)       v  (promote)
//       `-------------> task ------> ended          counted by remaining_
//
// In place (rules all and settled, on a worker): the parent's frame stops in the group, the first child starts, its siblings lie in
// the worker's deque, the next one on top; those that find no room there are tasks at once. A child that ends pops the next. If the
// deque has none, thieves have all the rest: they take the oldest, so nothing older than the next one is left either. This holds
// as long as only this strand runs on the worker: before anything else does, the strand is promoted.
//
// promote() makes the innermost child, and every child in place around it, a task: from the outside in, each gets its header,
// and its parent suspends in its group. It happens when the child's code asks for what only a task has: an await of anything
// but a task or a fork, current_task(). Also in the destructors of its parameters, and in what a cancelled sibling has hooked up:
// so a child that was over when it became a task ends as one.
//
// Who wants a word with a strand in place calls its worker's deque. The strand hears of it when it forks, which is a suspension
// then, and at the end of each child, whose siblings are tasks then.
//
//   field       who touches it
//   members_    the children's first frames: written before anything starts. The rooms around them stay as long as the group
//   result      in a frame's tag: from null, by whoever makes it a task; then its header is there
//   next_       whoever is in place: how many have been started there, or discarded
//   decider_    position + 1 of the child that decided, by compare-exchange from 0; or `parents`, if the parent was cancelled first
//   failed_     position + 1 of the child that failed first, by compare-exchange from 0
//   reason_     why the parent was cancelled: before decider_ says so
//   remaining_  tasks among the children that have not reported their end. A thief's child may report before the parent has
//               counted it: the sum goes below zero, and is right when the parent has added how many it misses
//   waker_room_ the parent's waker, before it counts; taken by the child that brings remaining_ to zero
//   done_       set by that child when it has taken the waker: then nobody but the parent touches anything here
//
// Who decides asks the others to stop before it reports its own end, so members_ is there. Who becomes a task meanwhile is asked
// by one of them, or by both: it stores `result` and then reads decider_; the other writes decider_ and then reads `result`; all seq_cst.
// A child in place is told through the deque (call()): the next fork there promotes it. remaining_ goes down by acq_rel, so
// the last one has seen what all the others did; its release of done_ hands that to the parent. The waker holds a
// reference: the parent may be gone when it is woken.
//
// Who inherits what: a stolen child from the task that its parent belonged to when it forked. While a group is open that task does
// not run, or runs the very children that are in place; and what changes it promotes them before.
//
// Bad interleavings: tests/model/fork_model.cpp has them with the variants that fail.
class ROTA_API fork_group : public leaf, public family {
 public:
  fork_group(const fork_group&) = delete;
  fork_group& operator=(const fork_group&) = delete;

  /// The co_await says where it stands.
  void awaited_at(std::source_location where) noexcept { where_ = where; }
  /// Returns the site for the children's reports: that of the co_await, or that of what awaits the group, as in
  /// `timeout(1s, when_all(...))`. Line 0: a coroutine of rota has it inside of something. Both were written before the first child
  /// began, and stay until the last has ended.
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

  template <class Promise>
  [[gnu::always_inline]] std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    promise_base& outer = parent.promise();
    if (rule_ <= group_rule::settled) return fork(outer, count_);
    return begin_slowly(outer);
  }

  // --- for the child that ends in place, and for workers

  [[nodiscard]] bool is_decided() const noexcept {
    // relaxed. What was decided is looked at elsewhere.
    return decider_.load(base::order::relaxed) != 0;
  }
  /// A child in place has ended with a value, and its frame has gone, but for the room. If something else was decided meanwhile,
  /// that has called here.
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
  /// It has parameters that end with it; the room, and the result in front of that, stay.
  [[nodiscard]] std::coroutine_handle<> end_with_destructors(promise_base& child, bool has_value) noexcept;
  /// It has failed, or is a task now. `frame`: its own, if that is not destroyed yet.
  [[nodiscard]] std::coroutine_handle<> go_on_after(promise_base* frame) noexcept;

  /// An unstarted child that was taken out of a deque: a task from now on, runnable, with an entry for the caller.
  [[nodiscard]] static header& adopt(promise_base& child) noexcept;

 protected:
  explicit fork_group(group_rule rule) noexcept : rule_(rule) {}

  /// In place if the parent is, else as it has to be. `count`: count_, known when this is compiled.
  [[gnu::always_inline]] std::coroutine_handle<> fork(promise_base& outer, std::uint32_t count) {
    strand& running = *outer.root;
    // relaxed. Its own.
    fork_context* const here = running.forks.load(base::order::relaxed);
    // None: as many as no deque has room for.
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

  /// For the destructor of whoever has the members: gives up their tasks, or the frames of those that never started.
  void let_go() noexcept;
  bool start() override;

  /// All children have ended in place, and none has failed.
  [[nodiscard]] bool is_plain() const noexcept { return !mixed_; }
  [[nodiscard]] bool has_members() const noexcept { return count_ != 0; }
  [[nodiscard]] std::span<promise_base*> members() const noexcept { return {members_, count_}; }
  /// Nothing is left for let_go().
  void forget_members() noexcept { count_ = 0; }

  /// After the end. Which member decided, as a position.
  [[nodiscard]] std::size_t decider() const noexcept;
  /// Throws what the deciding failure threw, if a failure decides.
  void rethrow_failure();

 private:
  friend void promote(strand& running) noexcept;

  static constexpr std::uint32_t parents = 0xFFFF'FFFFU;
  /// Ends the program: so many children are too many.
  [[noreturn]] static void refuse(std::size_t count) noexcept;

  /// Starts the first child, with its siblings in the deque, `room` of them at most.
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
  /// Strands that go on in each other's place have one native stack, and one count of what may have grown it.
  [[gnu::always_inline]] static void carry_on([[maybe_unused]] const strand& from,
                                              [[maybe_unused]] strand& to) noexcept {
#if !defined(__clang__)
    to.transfers = from.transfers;
#endif
  }
  /// The same where nobody knows what ran before: the next transfer goes by way of the trampoline.
  static void start_flat([[maybe_unused]] strand& next) noexcept {
#if !defined(__clang__)
    next.transfers = most_transfers - 1;
#endif
  }
  /// The strand of the child that was started last.
  [[nodiscard, gnu::always_inline]] const strand& last_in_place() const noexcept {
    return *static_cast<const strand*>(members_[next_ - 1]->room());
  }
  /// Not a header, but what is in front of one.
  [[gnu::always_inline]] static std::coroutine_handle<> begin_in_place(promise_base& child,
                                                                       fork_context& here,
                                                                       const strand& before) noexcept {
    strand* const front = static_cast<strand*>(child.room());
    // relaxed. Its own.
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
  /// From now on the parent runs.
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
  promise_base* frame_ = nullptr;  // the parent's, which awaits this; null before
  base::atomic<std::uint32_t> decider_;
  base::atomic<std::uint32_t> failed_;
  base::atomic<std::int32_t> remaining_;
  base::atomic<bool> done_;
  base::atomic<cancel_reason> reason_;
  group_rule rule_;
  bool nested_ = false;   // when it forked, the parent was in place itself
  bool mixed_ = false;    // not all children have ended in place with a value
  std::uint32_t window_;  // those before it have started in place, or lie in the deque; the others are tasks
  std::uint32_t stolen_;  // if it is mixed: tasks that remaining_ does not count yet
  std::uint32_t rethrown_;        // if it is mixed: position + 1
  fork_context* here_ = nullptr;  // where it forked in place; null: nowhere
  fork_group* within_;            // in promote(): the group that a child of this one waits in
  std::source_location where_;
  alignas(waker) std::byte waker_room_[sizeof(waker)];
};

/// Of a range without elements nothing can be the first.
[[noreturn]] ROTA_API void throw_nothing_to_wait_for();

template <class Promise>
[[gnu::always_inline]] inline std::coroutine_handle<> end_in_place(
    std::coroutine_handle<Promise> frame) noexcept {
  Promise& self = frame.promise();
  fork_group& group = *self.group;
  // relaxed. Its own.
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
