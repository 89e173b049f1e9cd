// The submission of works.
#include "base/tls_slot.hpp"
#include "pool/coroutine_part.hpp"
#include "pool/demand.hpp"
#include "pool/pool_core.hpp"
#include "task/thread_ports.hpp"

#include <rota/detail/deadline.hpp>
#include <rota/error.hpp>
#include <rota/pool/errors.hpp>

#include <algorithm>
#include <utility>

namespace rota::pool::detail {

void pool_core::demand_own_process(const char* what) const {
  if (!is_own_process()) throw error(errc::forked, what);
}

// ---- memory -----------------------------------------------------------------------------------------------

work_core& pool_core::draw(const body_type& type, const work_options* wanted) {
  demand_own_process("submit");
  // relaxed: a hint. count_in() decides.
  if (closing_.load(base::order::relaxed)) throw error(errc::shut_down, "submit");
  work_core* w = nullptr;
  if (wanted != nullptr && wanted->id) {
    w = memory.find(wanted->id.value);
    word seen{};
    demand(w != nullptr, "work_options::id is no id that reserve() gave");
    if (!w->apply<rule::take>(seen)) {
      drop(*w);
      demand(false, "work_options::id is in use: a reserved id names one work");
    }
  } else {
    // No other thread finds the work before it is entered.
    desk* const own = own_desk();
    w = &memory.draw(0, own == nullptr ? nullptr : &own->stock);
  }
  if (type.bytes > body_room) {
    try {
      w->body = base::allocate_frame(type.bytes);
    } catch (...) {
      give_back(*w);
      throw;
    }
  } else {
    w->body = w->room;
  }
  w->type = &type;
  if (type.begin != nullptr) {
    w->coroutine = new (std::nothrow) coroutine_part(*w);
    if (w->coroutine == nullptr) {
      give_back(*w);
      throw std::bad_alloc();
    }
  }
  return *w;
}

work_core& pool_core::draw_holder(const char* what) {
  demand_own_process(what);
  // The holder is over, so an operation on all works skips it.
  return memory.draw(word{1}.to(work_status::succeeded).with(over).bits, nullptr);
}

work_id pool_core::reserve() {
  demand_own_process("reserve");
  // relaxed: a hint.
  if (closing_.load(base::order::relaxed)) throw error(errc::shut_down, "reserve");
  // release: pairs with link_after(). Written before any thread has the id.
  has_reserved_.store(true, base::order::release);
  work_core& w = memory.draw(word{2}.with(reserved).bits, nullptr);
  const work_id id{w.id};
  const bool too_late = is_closed();
  if (too_late) end_reservation(w);
  drop(w);
  if (too_late) throw error(errc::shut_down, "reserve");
  return id;
}

// ---- checks -----------------------------------------------------------------------------------------------

void pool_core::check(const work_options& wanted, bool is_repeatable) {
  demand_not_negative(wanted.timeout.limit, "work_options::timeout: its limit is negative");
  demand_not_negative(wanted.retry.backoff, "work_options::retry.backoff is negative");
  demand_not_negative(wanted.retry.max_backoff, "work_options::retry.max_backoff is negative");
  demand_nice(wanted.nice, "work_options::nice is not in -20 .. 19");
  demand(wanted.retry.limit == 0 || is_repeatable,
         "work_options::retry.limit is not 0: this function can be called only once");
}

/// Returns true if the options have no effect but the priority, which every work has.
bool pool_core::is_plain(const work_options& wanted) const noexcept {
  return wanted.name.empty() && wanted.group.empty() && !wanted.id && wanted.after.empty() &&
         wanted.timeout.limit == base::nanoseconds(0) && options.work_timeout.limit == base::nanoseconds(0) &&
         wanted.retry.limit == 0 && wanted.retry.backoff >= base::nanoseconds(0) &&
         wanted.retry.max_backoff >= base::nanoseconds(0) && !wanted.callback &&
         wanted.where == placement::idle_then_least_loaded && !wanted.long_running && !wanted.store_result &&
         wanted.nice == 0;
}

void pool_core::prepare(work_core& w, const work_options& wanted, source_node* item) {
  if (item == nullptr && is_plain(wanted)) {
    w.priority = wanted.priority;
    return;
  }
  auto made = std::make_unique<work_extras>();
  made->options = wanted;
  made->name = wanted.name;
  made->item = item;
  if (made->options.timeout.limit == base::nanoseconds(0)) made->options.timeout = options.work_timeout;
  made->next_backoff = wanted.retry.backoff;
  if (!wanted.group.empty()) made->group = &circles.at(wanted.group);
  if (!wanted.name.empty()) {
    const base::lock_guard guard(lock_);
    demand(names_.try_emplace(wanted.name, w.id).second, "work_options::name is in use");
  }
  w.queued_at = base::now();
  w.began_at = {};
  w.extras = made.release();
  w.priority = wanted.priority;
}

// ---- into the pool ----------------------------------------------------------------------------------------

/// Enters a work without further options. No other thread finds the work before it is in its queue.
void pool_core::enter_simply(work_core& w, handle how) {
  try {
    count_in();
  } catch (...) {
    undo(w);
    throw;
  }
  note_queued(w);
  lane& to = lanes_[lane_for(w)];
  {
    const base::lock_guard guard(to.lock);
    to.put(w);
    // release: pairs with try_retain() and load(). A thread that finds the work finds all of it, and the
    // queue that it is in.
    w.state.store(word{how == handle::given ? 2U : 1U}.to(work_status::queued).bits, base::order::release);
  }
  threads.attract();
}

void pool_core::enter(work_core& w, const work_options* wanted, handle how) {
  if (w.coroutine != nullptr) w.coroutine->inherit();
  // relaxed: a reserved work may already be used by other threads, which find nothing in it. Any other work
  // is still this thread's alone.
  if (word{w.state.load(base::order::relaxed)}.refs() == 0) {
    // acquire: pairs with the release in start().
    const bool is_simple = is_simple_ && w.coroutine == nullptr && started_.load(base::order::acquire);
    if (is_simple && (wanted == nullptr || is_plain(*wanted))) {
      w.priority = wanted == nullptr ? 0 : wanted->priority;
      return enter_simply(w, how);
    }
    // release: pairs with try_retain().
    w.state.store(word{2}.bits, base::order::release);
  }
  enter_fully(w, wanted);
  if (how == handle::none) drop(w);
}

/// Enters a work that can be found and that has two references: the travelling one, and a handle's.
void pool_core::enter_fully(work_core& w, const work_options* wanted, source_node* item) {
  on_admit how = on_admit::place;
  bool counted = false;
  try {
    if (wanted != nullptr) {
      check(*wanted, w.type->repeatable);
      prepare(w, *wanted, item);
    } else if (options.work_timeout.limit != base::nanoseconds(0)) {
      prepare(w, work_options{});
    }
    if (is_limited_ && item == nullptr && takes_place(wanted)) how = admit(w);
    count_in();
    counted = true;
    if (work_extras* const e = w.extras; e != nullptr) {
      if (e->group != nullptr) circles.join(*e->group, w);
      if (e->options.store_result) keep_stored(w);
    }
    if (wanted != nullptr && !wanted->after.empty()) {
      link_after(w, wanted->after);
    } else {
      arm_from_submit(w);
    }
  } catch (...) {
    if (how == on_admit::take) note_waiting(-1);
    undo(w);
    if (counted) count_out();
    throw;
  }
  if (w.load().is(work_status::created)) bring_in(w, how);
  // Before the work was in any list, a stop may have been requested, or its time may have run out. Then no
  // thread has begun it.
  if (const word now = w.load(); now.has(stop_asked))
    static_cast<void>(stop(w, now.bits & (timed_out | force_asked)));
}

void pool_core::enter_watched(work_core& w, const work_options& wanted, source_node& item) {
  enter_fully(w, &wanted, &item);
}

/// Arms the timers that a submit starts. Called when nothing can fail any more: a timer that fires uses the
/// work's options.
void pool_core::arm_from_submit(work_core& w) noexcept {
  if (w.extras != nullptr && w.extras->options.timeout.from == timeout_from::submit)
    arm_timeout(w, base::now());
  if (w.coroutine != nullptr && w.coroutine->deadline() != base::never) arm_deadline(w);
}

bool pool_core::is_closed() noexcept {
  // acq_rel: the pool's end sees what was done before, or this thread sees that the end has begun.
  return (outstanding_.fetch_add(0, base::order::acq_rel) & closed_bit) != 0;
}

/// Brings an accepted work to a queue, or to its end.
void pool_core::bring_in(work_core& w, on_admit how) noexcept {
  word seen{};
  switch (how) {
    case on_admit::place: return place(w);
    case on_admit::take: return place(w, counting::done);
    case on_admit::run_here: return run_by_caller(w);
    case on_admit::discard_other:
      if (discard_one(w)) return place(w);
      [[fallthrough]];
    case on_admit::discard:
      // The work was never in a queue, so it is not counted there.
      static_cast<void>(w.apply<rule::place>(seen, work_status::suspended));
      if (w.apply<rule::take_back>(seen, work_status::discarded, std::uint64_t{0})) finish(w);
      drop(w);
      return;
  }
}

// ---- to a queue -------------------------------------------------------------------------------------------

void pool_core::place(work_core& w, counting how) noexcept {
  if (!make_ready(w)) {
    if (how == counting::done) note_waiting(-1);
    return;
  }
  if (how == counting::due) note_waiting(+1);
  if (push(w, on_push::begins)) return;
  note_waiting(-1);
  give_place_on(w);
  drop(w);
}

/// Returns true if the work may be queued. Returns false if it is held until the pool starts or its group has
/// a place, or if it was cancelled.
bool pool_core::make_ready(work_core& w) noexcept {
  word seen{};
  bool holds = false;
  bool is_alive = true;
  // acquire: pairs with the release in start(). A pool that has started never holds works again, so the lock
  // is only taken before that.
  if (!started_.load(base::order::acquire)) {
    const base::lock_guard guard(lock_);
    // relaxed: written under the lock.
    holds = !started_.load(base::order::relaxed);
    if (holds) is_alive = w.apply<rule::place>(seen, work_status::suspended);
    if (holds && is_alive) {
      w.link = held_;
      held_ = &w;
    }
  }
  if (!is_alive) drop(w);
  if (holds) return false;
  if (w.extras != nullptr && w.extras->group != nullptr) {
    if (!w.apply<rule::place>(seen, work_status::suspended)) {
      drop(w);
      return false;
    }
    if (!circles.admit(*w.extras->group, w)) return false;
  }
  note_queued(w);
  return true;
}

/// Runs the work on the thread that submits it.
void pool_core::run_by_caller(work_core& w) noexcept {
  if (!make_ready(w)) return;
  word seen{};
  if (!w.apply<rule::place>(seen, work_status::queued)) {
    give_place_on(w);
    return drop(w);
  }
  note_waiting(+1);
  w.retain();  // a coroutine that waits may be gone before it is accessed again
  if (take_on(w) == on_claim::run && execute_here(w) != on_execute::waits) drop(w);
  drop(w);
}

/// Returns the shorter of this queue and the next one. A guess.
unsigned pool_core::shorter_of(unsigned first, unsigned in_use) noexcept {
  const unsigned other = first + 1 >= in_use ? 0 : first + 1;
  // relaxed: a guess.
  return lanes_[other].waiting.load(base::order::relaxed) < lanes_[first].waiting.load(base::order::relaxed)
             ? other
             : first;
}

/// Chooses the queue of a work. If there are any threads, those with low numbers exist.
unsigned pool_core::lane_for(const work_core& w) noexcept {
  if (lanes_.size() == 1) return 0;
  const placement where = w.extras == nullptr ? placement::idle_then_least_loaded : w.extras->options.where;
  const seat* const here = crew::here();
  const auto count = static_cast<unsigned>(lanes_.size());
  const unsigned in_use = std::clamp(threads.about_how_many(), 1U, count);
  if (here != nullptr && here->of == &threads) {
    const unsigned own = here->index % count;
    if (where == placement::local) return own;
    if (!threads.has_room())
      return where == placement::idle_then_local ? own : shorter_of(std::min(own, in_use - 1), in_use);
  }
  const unsigned turn = base::this_thread_locals().turn++;
  return in_use == 1 ? 0 : shorter_of(turn % in_use, in_use);
}

/// Allows one more thread until this long work is over. The work may already be over. Then no other thread
/// would take the extra thread back, and this function does.
void pool_core::count_long(work_core& w) noexcept {
  using extra = work_extras::extra;
  extra seen = extra::none;
  // relaxed: a check for works that are queued again.
  if (w.extras->thread_more.load(base::order::relaxed) != seen) return;
  threads.add_extra();
  // relaxed: it only decides which thread takes the extra thread back. failure: relaxed: the work is over.
  if (!w.extras->thread_more.compare_exchange_strong(
          seen, extra::counted, base::order::relaxed, base::order::relaxed))
    threads.remove_extra();
}

/// Puts the work into a queue. Returns false if the work is over.
bool pool_core::push(work_core& w, on_push how) noexcept {
  const bool is_long = w.extras != nullptr && w.extras->options.long_running;
  lane& to = is_long ? long_lane_ : lanes_[lane_for(w)];
  if (options.aging != base::nanoseconds(0)) w.since = base::now();
  if (is_long) count_long(w);
  {
    const base::lock_guard guard(to.lock);
    // relaxed: published by the next operation on the word. A thread that finds the work queued finds its
    // queue, and waits for this lock. So no entry of a finished work stays behind for a thread that may never
    // come.
    w.home.store(&to, base::order::relaxed);
    word seen{};
    if (how == on_push::begins && !w.apply<rule::place>(seen, work_status::queued)) {
      // relaxed: written under the lock.
      w.home.store(nullptr, base::order::relaxed);
      return false;
    }
    to.put(w);
  }
  threads.attract();
  return true;
}

/// Queues a coroutine that can continue. It has the travelling reference.
void pool_core::push_segment(work_core& w) noexcept { static_cast<void>(push(w, on_push::goes_on)); }

}  // namespace rota::pool::detail
