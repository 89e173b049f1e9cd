// Children that run in their parent's place, until they end or become tasks.
#include <rota/detail/fork_group.hpp>

#include "base/tls_slot.hpp"
#include "task/harness.hpp"
#include "task/unreported.hpp"
#include "task/unwinder.hpp"

#include <rota/error.hpp>

#include <new>
#include <utility>

namespace rota::core {

namespace {

/// Returns the root frame of the child to which this strand belongs, or did belong.
promise_base& root_of(strand& front) noexcept {
  auto* const frame = static_cast<std::byte*>(frame_of_room(&front));
  return *std::launder(reinterpret_cast<promise_base*>(frame + promise_offset));
}

header& whole(strand& running) noexcept { return header_of(task_of(running)); }

}  // namespace

// ---- one after the other ---------------------------------------------------------------------------------

/// Starts the children if the parent is a task, if the deque has too little room, or if the deque was called.
std::coroutine_handle<> fork_group::begin_slowly(promise_base& outer) {
  if (frame_ != nullptr) throw error(errc::already_joined, "a when_* is awaited for the second time");
  strand& running = *outer.root;
  if (count_ == 0) return transfer(*outer.root, outer);
  if (running.in_place && rule_ <= group_rule::settled) {
    fork_context& here = *forks_of_thread();
    const auto [room, called] = here.waiting.look_again();
    if (!called) {
      nested_ = true;
      frame_ = &outer;
      here_ = &here;
      return open_partly(here, room);
    }
  }
  header& me = whole(running);
  if (where_.line() != 0) me.note_site(where_);
  bind(me);
  if (const std::uint32_t room = place_for(me); room != 0) {
    scheduler& by = scheduler_for_children(me);
    frame_ = &outer;
    here_ = forks_of_thread();
    const std::coroutine_handle<> child = open_partly(*here_, room - 1);
    by.ops->forked(by);
    return child;
  }
  if (suspend_in(outer)) return std::noop_coroutine();
  return transfer(me, outer);
}

std::coroutine_handle<> fork_group::open_partly(fork_context& here, std::uint32_t room) noexcept {
  const std::coroutine_handle<> child = open(here, count_, room);
  if (window_ != count_) make_tasks_of_the_rest();
  return child;
}

/// Returns the number of children that can run in place, the first included; 0: they must be tasks from the
/// start. They must be tasks if regions are in force around the parent while it waits, or if the deque was
/// called.
std::uint32_t fork_group::place_for(header& me) const noexcept {
  fork_context* const here = forks_of_thread();
  if (here == nullptr || here->by != me.owner || rule_ > group_rule::settled) return 0;
  if (me.regions != nullptr || !me.owner->ops->is_open(*me.owner)) return 0;
  std::uint32_t room = count_ - 1;
  if (!here->waiting.has_room(room)) {
    const auto found = here->waiting.look_again();
    if (found.called) return 0;
    room = found.items;
  }
  note_forks(me, *here);
  return me.word.load().cancel_due() ? 0 : room + 1;
}

/// Leaves the group: no child is left to be started in place.
std::coroutine_handle<> fork_group::leave(fork_context& here) noexcept {
  hand_back(here);
  start_flat(*frame_->root);
  if (mixed_ && stolen_ != 0) return join();
  return transfer(*frame_->root, *frame_);
}

/// Goes on when thieves have taken the remaining children.
std::coroutine_handle<> fork_group::go_on_without_the_stolen(fork_context& here) noexcept {
  note_mixed();
  stolen_ += window_ - next_;
  next_ = window_;
  return leave(here);
}

/// Goes on after a call of the deque: the parent suspends.
std::coroutine_handle<> fork_group::go_on_with_tasks(fork_context& here) noexcept {
  static_cast<void>(here.waiting.look_again());
  note_mixed();
  make_tasks_of_unstarted(here);
  return leave(here);
}

/// Ends a child that has destructors of parameters to run. They run as code of this child.
std::coroutine_handle<> fork_group::end_with_destructors(promise_base& child, bool has_value) noexcept {
  const std::coroutine_handle<> frame = child.handle();
  const strand& front = *child.root;
  tag_of(frame.address()).keep = 1;
  if (has_value) {
    frame.destroy();
  } else {
    const unreported failed;
    frame.destroy();
  }
  if (has_value && front.in_place) return go_on(*forks_of_thread());
  return go_on_after(nullptr);
}

std::coroutine_handle<> fork_group::go_on_after(promise_base* frame) noexcept {
  const std::uint32_t position = next_ - 1;
  strand& front = *static_cast<strand*>(members_[position]->room());
  if (front.in_place) {
    note_mixed();
    if (const ending how = ending_at(position); may_be_first(how)) report(position, how);
    if (front.in_place && is_decided()) discard_unstarted();
  }
  if (!front.in_place) {
    // Its own destructors, or what its end has cancelled, have made it a task. So it ends as a task.
    front.innermost.set(frame);
    front.why = stop_reason::finished;
    return std::noop_coroutine();
  }
  return go_on(*forks_of_thread());
}

/// Ends the children that must not start any more and that no thief has taken, so that a failed group need
/// not wait until each of them had its turn. Children that must begin in any case are scheduled instead. The
/// destructors of the parameters run as code of the child that has ended last; they may make a task of that
/// child.
void fork_group::discard_unstarted() noexcept {
  fork_context& here = *forks_of_thread();
  const std::uint32_t first = next_;
  const std::uint32_t last = window_;
  std::uint32_t end = first;
  while (end != last && here.waiting.pop() != nullptr) ++end;
  // From here on they count neither as unstarted nor as tasks. next_ stays: promote() makes a task of the
  // child before it.
  stolen_ += last - end;
  window_ = first;
  const cancel_reason stop = reason_to_stop();
  for (std::uint32_t i = first; i != end; ++i) {
    promise_base& unstarted = *members_[i];
    if (must_begin(unstarted)) {
      header& base = *task_around();
      ++stolen_;
      scheduler_for_children(base).ops->schedule(adopt(unstarted, base));
      continue;
    }
    const std::coroutine_handle<> frame = unstarted.handle();
    type_of(unstarted).set_cancelled(unstarted.room(), stop);
    tag_of(frame.address()).keep = 1;
    const unreported dropped;
    frame.destroy();
  }
  next_ = window_ = last;
}

/// Makes tasks of the unstarted children. adopt() cancels a child that must not start any more. The child
/// that ended last may still be in place.
void fork_group::make_tasks_of_unstarted(fork_context& here) noexcept {
  header& base = *task_around();
  scheduler& by = scheduler_for_children(base);
  stolen_ += window_ - next_;
  for (; next_ != window_; ++next_) {
    promise_base* const unstarted = here.waiting.pop();
    if (unstarted == nullptr) break;
    by.ops->schedule(adopt(*unstarted, base));
  }
  next_ = window_;
}

/// Makes tasks of the children that did not fit into the deque.
void fork_group::make_tasks_of_the_rest() noexcept {
  note_mixed();
  header& base = *task_around();
  scheduler& by = scheduler_for_children(base);
  for (std::uint32_t i = window_; i != count_; ++i, ++stolen_) {
    demand_work(members_[i] != nullptr);
    members_[i]->group = this;
    by.ops->schedule(adopt(*members_[i], base));
  }
}

/// Waits for the children that are tasks. The parent's strand runs.
std::coroutine_handle<> fork_group::join() noexcept {
  header& me = whole(*frame_->root);
  wait_in_place_of(me);
  const auto missing = static_cast<std::int32_t>(std::exchange(stolen_, 0));
  // acq_rel: release: the waker is written. acquire: what the children did, if all have ended.
  if (remaining_.fetch_add(missing, base::order::acq_rel) + missing == 0) {
    const waker unused = take_waker();
    // The parent's own cancellation may be the cause of the children's ends. Then it must be unwound, and not
    // see them.
    if (!me.word.load().cancel_due() && !waits_for_own_cancellation() &&
        !unwinder::must_not_go_on(me, *this)) {
      me.waiting.set(nullptr);
      return transfer(me, *frame_);
    }
    // relaxed: read by this thread, or by the thread that gets the task from it.
    done_.store(true, base::order::relaxed);
  }
  me.why = stop_reason::leaf;
  return std::noop_coroutine();
}

void fork_group::keep_waker() noexcept {
  base::note_write(waker_room_);
  ::new (static_cast<void*>(waker_room_)) waker(make_waker());
}

waker fork_group::take_waker() noexcept {
  base::note_write(waker_room_);
  return std::move(*std::launder(reinterpret_cast<waker*>(waker_room_)));
}

void fork_group::wait_in_place_of(header& me) noexcept {
  note_mixed();
  bind(me);
  if (where_.line() != 0) me.note_site(where_);
  me.innermost.set(frame_);
  me.waiting.set(this);
  keep_waker();
}

// ---- children that become tasks --------------------------------------------------------------------------

/// Returns the group that the parent is a child of; null if there is none.
const fork_group* fork_group::around() const noexcept { return root_of(*frame_->root).group; }

/// No thread changes what this reads while the group is open.
header& fork_group::base_task() const noexcept {
  const fork_group* outermost = this;
  while (outermost->nested_) outermost = outermost->around();
  return static_cast<header&>(*outermost->frame_->root);
}

header* fork_group::parent() const noexcept {
  if (frame_ == nullptr) return nullptr;
  const fork_group* inside = this;
  for (; inside->nested_; inside = inside->around()) {
    // acquire: pairs with the store in make_task_of().
    if (header* const task = task_made_of(root_of(*inside->frame_->root), base::order::acquire)) return task;
  }
  return static_cast<header*>(inside->frame_->root);
}

/// The parent is suspended in the co_await of this group: no thread changes its regions until the children
/// have ended. A parent in place has none.
base::time_point fork_group::own_deadline_of_parent() const noexcept { return own_deadline(*parent()); }

header& fork_group::make_task_of(promise_base& child,
                                 scheduler& by,
                                 snapshot initial,
                                 const header& inherits) noexcept {
  header& made = make_header_without_type(child, by, initial, &inherits);
  // relaxed: the threads that run or cancel the task come later.
  made.bond.store(this, base::order::relaxed);
  // seq_cst: decider_ is read after this. The deciding thread writes decider_, and reads `result` after that.
  tag_of(made.frame_address()).result.store(&type_of(child), base::order::seq_cst);
  return made;
}

cancel_reason fork_group::reason_to_stop() const noexcept {
  // seq_cst: see make_task_of(). As an acquire it pairs with try_cancel().
  const std::uint32_t decided = decider_.load(base::order::seq_cst);
  if (decided == 0) return cancel_reason::none;
  // relaxed: written before decider_.
  return decided == parents ? reason_.load(base::order::relaxed) : cancel_reason::sibling_failed;
}

/// Returns why no child of this group should begin any more: its own decision, or a cancellation of a task
/// around it that is about to arrive.
cancel_reason fork_group::reason_around() const noexcept {
  const cancel_reason decided = reason_to_stop();
  return decided != cancel_reason::none ? decided : reason_outside();
}

/// Returns the reason of a cancellation that has reached a task around this group. The cancellation needs a
/// turn of each task between that one and the parent. It reaches the parent for certain: no shield between
/// them holds it off.
cancel_reason fork_group::reason_outside() const noexcept {
  constexpr unsigned levels = 64;
  const fork_group* inside = this;
  for (unsigned i = 0; i < levels; ++i) {
    if (!inside->nested_) {
      auto& parent = static_cast<header&>(*inside->frame_->root);
      const snapshot now = parent.word.load();
      if (!now.exposed()) break;
      // relaxed: written before the word's transition.
      if (now.has(cancelled)) return parent.reason.load(base::order::relaxed);
    }
    inside = inside->around();
    if (inside == nullptr) break;
    const cancel_reason decided = inside->reason_to_stop();
    if (decided != cancel_reason::none) return decided;
  }
  return cancel_reason::none;
}

/// Returns true if all children have ended, but one of them was cancelled by a cause that has not reached the
/// parent yet. Then the parent must be unwound, and not see that outcome.
bool fork_group::waits_for_own_cancellation() const noexcept {
  // relaxed: the group has ended, and the caller has acquired what the children did.
  return failed_.load(base::order::relaxed) != 0 && reason_outside() != cancel_reason::none;
}

header& fork_group::adopt(promise_base& child) noexcept {
  fork_group& self = *child.group;
  return self.adopt(child, self.base_task());
}

header& fork_group::adopt(promise_base& child, header& base) noexcept {
  scheduler& by = scheduler_for_children(base);
  const bool taken = by.ops->admit(by);
  header& made = make_task_of(child, by, spawned_word, base);
  const cancel_reason stop = taken ? reason_around() : cancel_reason::shutdown;
  if (stop != cancel_reason::none) {
    announce_to_tasks();
    static_cast<void>(cancel(made, stop));
  }
  return made;
}

/// Makes a task of the child that runs. `me`, the parent, is a task, and suspends here.
header& fork_group::promote_child(header& me) noexcept {
  scheduler& by = scheduler_for_children(me);
  const bool taken = by.ops->admit(by);
  header& made = make_task_of(*members_[next_ - 1], by, entered_word, me);
  made.budget = me.budget;
  cancel_reason stop = taken ? reason_to_stop() : cancel_reason::shutdown;
  // relaxed: written before the word's transition.
  if (stop == cancel_reason::none && me.word.load().cancel_due()) stop = me.reason.load(base::order::relaxed);
  if (stop != cancel_reason::none) {
    announce_to_tasks();
    static_cast<void>(cancel(made, stop));
  }
  note_mixed();
  const auto missing = static_cast<std::int32_t>(std::exchange(stolen_, 0) + 1 + (window_ - next_));
  wait_in_place_of(me);
  // acq_rel: same reason as in join(). The child that goes on here is one of those counted.
  remaining_.fetch_add(missing, base::order::acq_rel);
  park(me);
  by.ops->runs(made);
  return made;
}

void promote(strand& running) noexcept {
  fork_context& here = *forks_of_thread();
  ROTA_ASSERT(here.running == &running);
  fork_group* inner = nullptr;
  strand* outer = &running;
  while (outer->in_place) {
    fork_group* const group = root_of(*outer).group;
    group->within_ = inner;
    inner = group;
    outer = group->frame_->root;
  }
  auto* me = static_cast<header*>(outer);
  ROTA_ASSERT(me == task_around());
  here.running = nullptr;
  // The task that awaits `me` on this thread goes on when the thread is done with the innermost promoted
  // child, which runs here next.
  header* const above = std::exchange(me->awaited_by, nullptr);
  while (inner != nullptr) {
    fork_group& group = *inner;
    inner = group.within_;
    me = &group.promote_child(*me);
  }
  me->awaited_by = above;
  base::this_thread_locals().task = me;
}

}  // namespace rota::core
