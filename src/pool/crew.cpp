#include "pool/crew.hpp"

#include "base/tls_slot.hpp"

#include <rota/detail/deadline.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace rota::pool::detail {

namespace {

/// Looks of a thread that has run out of work, before it sleeps: about as long as it takes to wake one.
unsigned looks_before_sleep() noexcept {
#if ROTA_MODEL
  return 0;
#else
  return base::usable_processors() == 1 ? 0 : 200;
#endif
}

}  // namespace

crew::crew(crew_client& client, const char* name, limits how, habits like) noexcept
    : client_(client),
      name_(name),
      keep_alive_(how.keep_alive),
      spins_(like.spins ? looks_before_sleep() : 0),
      has_regions_(like.has_regions),
      min_(how.min),
      max_(how.max) {
  const base::lock_guard guard(mutex_);
  update();
}

crew::~crew() { ROTA_ASSERT(seats_.empty() && pending_ == 0); }

/// Under the lock, after threads_, max_, goal_ or extra_ changed.
void crew::update() noexcept {
  // relaxed, both. Hints.
  about_.store(threads_, base::order::relaxed);
  growth_.store(threads_ < cap() && !stopping_ ? cap() - threads_ : 0, base::order::relaxed);
  std::uint64_t now = 0;
  if (threads_ < cap() && !stopping_) now = may_grow;
  if (threads_ > cap()) now = over;
  if (now == bits_) return;
  // acq_rel. See the protocol: who leaves looks into the queues afterwards.
  word_.fetch_add(now - bits_, base::order::acq_rel);
  bits_ = now;
}

// ---- who comes ------------------------------------------------------------------------------------------------------

/// Under the lock: who is to come for work that nobody looks for. It searches from now on.
crew::on_call crew::call(seat*& whom) noexcept {
  if (idle_ != nullptr) {
    whom = idle_;
    drop_idle(*whom);
    // acq_rel. It is counted as searching before anybody hears that it no longer sleeps.
    word_.fetch_add(one_searching - one_idle, base::order::acq_rel);
    // relaxed. The lock orders it; the sleeper only compares.
    whom->signal.fetch_add(1, base::order::relaxed);
    return on_call::wake;
  }
  if (threads_ >= cap() || stopping_) return on_call::nothing;
  count_start();
  // acq_rel. As above.
  word_.fetch_add(one_searching, base::order::acq_rel);
  update();
  return on_call::start;
}

void crew::carry_out(on_call duty, seat* whom) noexcept {
  if (duty == on_call::wake) base::futex_wake(&whom->signal, 1);
  if (duty == on_call::start && start_thread() == on_start::failed) client_.missing();
}

void crew::attract_slowly() noexcept {
  seat* whom = nullptr;
  on_call duty = on_call::nothing;
  {
    const base::lock_guard guard(mutex_);
    // acquire. As in attract().
    if ((word_.load(base::order::acquire) & searching_mask) == 0) duty = call(whom);
  }
  carry_out(duty, whom);
}

/// Under the lock.
std::size_t crew::idle_count() const noexcept {
  // relaxed. The lock orders it.
  return word_.load(base::order::relaxed) & idle_mask;
}

/// One that sleeps is left to the work that waits: it comes for that even if the system gives no other. One that searches is not counted, since it
/// may have taken something already.
bool crew::hand_over(void* job) noexcept {
  seat* whom = nullptr;
  {
    const base::lock_guard guard(mutex_);
    if (stopping_) return false;
    const std::size_t waiting = client_.waiting();
    if (idle_count() > waiting) {
      whom = idle_;
      drop_idle(*whom);
      whom->given = job;
      // acq_rel. It no longer sleeps, nor does it search: nobody leaves work to it.
      word_.fetch_sub(one_idle, base::order::acq_rel);
      // relaxed. The lock orders it; the sleeper only compares.
      whom->signal.fetch_add(1, base::order::relaxed);
    } else {
      if (threads_ >= cap() || idle_count() + (cap() - threads_) <= waiting) return false;
      count_start();
      update();
    }
  }
  if (whom != nullptr) {
    base::futex_wake(&whom->signal, 1);
    return true;
  }
  const on_start how = start_thread(job);
  // While it was counted there may have been as many as there may be: whoever published then has found nobody to start.
  if (how == on_start::failed) client_.missing();
  return how == on_start::started;
}

/// One more is counted, and searches: the caller starts it. False: there are as many as shall be, or as may be.
bool crew::count_in(up_to limit) noexcept {
  const base::lock_guard guard(mutex_);
  if (threads_ >= (limit == up_to::floor ? min_ : cap()) || stopping_) return false;
  count_start();
  // acq_rel. As in call().
  word_.fetch_add(one_searching, base::order::acq_rel);
  update();
  return true;
}

bool crew::grow() noexcept {
  for (up_to limit = up_to::cap; count_in(limit); limit = up_to::floor) {
    if (start_thread() == on_start::failed) return false;
  }
  return true;
}

void crew::fill() noexcept {
  while (count_in(up_to::floor)) {
    if (start_thread() == on_start::failed) return client_.missing();
  }
}

/// The caller has counted it, as a thread, and as searching unless a job is given to it. The lock is not held while the system makes the
/// thread: other threads take work, sleep and submit meanwhile.
crew::on_start crew::start_thread(void* given) noexcept {
  reap();
  pending_start pending;
  std::unique_ptr<seat> made(new (std::nothrow) seat);
  seat* const here = made.get();
  if (here != nullptr) here->given = given;
  bool has_place;
  {
    const base::lock_guard guard(mutex_);
    has_place = !stopping_ && made != nullptr && take_place(made, pending);
    if (!has_place) uncount_start(given);
    if (stopping_) return on_start::over;
  }
  const on_start how = has_place ? launch(*here, pending, given) : on_start::failed;
  if (how != on_start::failed) return how;
  // What was published meanwhile was left to it. Whoever fell asleep before that can come; if all are busy they look later, and if
  // nobody is there: see missing().
  wake_idle(1);
  return on_start::failed;
}

/// Under the lock: a thread is to be started. From now on stop() waits for the caller of start_thread().
void crew::count_start() noexcept {
  ++threads_;
  ++pending_;
}

/// Under the lock: there will be no such thread after all.
void crew::uncount_start(void* given) noexcept {
  --threads_;
  // acq_rel. As in sleep().
  if (given == nullptr) word_.fetch_sub(one_searching, base::order::acq_rel);
  update();
  if (!stopping_) ++failures_;
  note_start_over();
}

/// Under the lock: puts it into seats_, so that its thread is found as soon as it runs. Returns false if there is no memory.
bool crew::take_place(std::unique_ptr<seat>& made, pending_start& pending) noexcept {
  made->of = this;
  const auto place = std::find(seats_.begin(), seats_.end(), nullptr);
  made->index = static_cast<unsigned>(place - seats_.begin());
  try {
    if (place == seats_.end()) seats_.emplace_back();
  } catch (const std::bad_alloc&) {
    return false;
  }
  made->pending = &pending;
  ++started_;
  seats_[made->index] = std::move(made);
  return true;
}

/// Starts the thread of a seat that is in seats_. Once it runs the seat may go, if its thread is given up: `pending` says so.
crew::on_start crew::launch(seat& made, pending_start& pending, void* given) noexcept {
  const unsigned index = made.index;
  auto thread = base::thread::start(name_, thread_main, &made);
  std::unique_ptr<seat> unused;
  const base::lock_guard guard(mutex_);
  if (!thread.has_value()) {
    unused = std::move(seats_[index]);
    --started_;
    uncount_start(given);
    return stopping_ ? on_start::over : on_start::failed;
  }
  if (pending.is_lost) {
    thread->detach();
  } else {
    made.thread = std::move(*thread);
    made.pending = nullptr;
  }
  note_start_over();
  return on_start::started;
}

/// Joins threads that have ended.
void crew::reap() noexcept {
  for (;;) {
    std::unique_ptr<seat> done;
    {
      const base::lock_guard guard(mutex_);
      const auto found = std::find_if(seats_.begin(), seats_.end(), [](const auto& s) {
        return s != nullptr && s->ended && s->pending == nullptr;
      });
      if (found == seats_.end()) return;
      done = std::move(*found);
    }
    done->thread.join();
  }
}

void crew::wake_idle(unsigned count) noexcept {
  for (; count != 0; --count) {
    seat* whom = nullptr;
    {
      const base::lock_guard guard(mutex_);
      if (idle_ == nullptr) return;
      whom = idle_;
      drop_idle(*whom);
      // acq_rel. As in call().
      word_.fetch_add(one_searching - one_idle, base::order::acq_rel);
      // relaxed. The lock orders it.
      whom->signal.fetch_add(1, base::order::relaxed);
    }
    base::futex_wake(&whom->signal, 1);
  }
}

/// Under the lock: those that sleep look again how long they may.
void crew::remind_idle() noexcept {
  for (seat* each = idle_; each != nullptr; each = each->below) {
    // relaxed. The lock orders it.
    each->signal.fetch_add(1, base::order::relaxed);
    base::futex_wake(&each->signal, 1);
  }
}

// ---- a thread -------------------------------------------------------------------------------------------------------

void crew::thread_main(void* seat_address) noexcept {
  seat& here = *static_cast<seat*>(seat_address);
  if (here.of->has_regions_) base::this_thread_locals().seat = &here;
  here.of->serve(here);
}

/// It searches when it comes, unless it was started for a job of its own.
void crew::serve(seat& here) noexcept {
  client_.begins(here);
  bool searching = true;
  for (;;) {
    if (void* const job = next(here, searching); job != nullptr) {
      if (client_.run(here, job) == crew_client::on_run::given_up) return forget(here, job);
      if (is_over() && retire(here)) return;
    } else if (!searching) {
      searching = true;
      // acq_rel. Who reads it may leave work to this thread, and so to the look that follows.
      word_.fetch_add(one_searching, base::order::acq_rel);
    } else if (sleep(here) == on_sleep::leave) {
      return;
    }
  }
}

/// Null: nothing was found.
void* crew::next(seat& here, bool& searching) noexcept {
  if (!searching) return client_.take(here);
  if (here.given != nullptr) {
    searching = false;  // as whoever gave it has counted
    return std::exchange(here.given, nullptr);
  }
  void* const job = search(here);
  if (job == nullptr) return nullptr;
  found();
  searching = false;
  return job;
}

void* crew::search(seat& here) noexcept {
  for (unsigned look = 0;; ++look) {
    if (void* const job = client_.take(here); job != nullptr) return job;
    if (look >= spins_) return nullptr;
    if (look % 16 == 15) base::yield_thread();  // bounded: so many looks
  }
}

void crew::found() noexcept {
  // acq_rel. What was published while it searched, and for which nobody was woken, is found now.
  word_.fetch_sub(one_searching, base::order::acq_rel);
  if (client_.has_work()) attract();
}

/// Called by one that searches. Afterwards it searches again, or has a job of its own, or has left.
crew::on_sleep crew::sleep(seat& here) noexcept {
  std::uint32_t seen = 0;
  bool leaves;
  bool stays;
  {
    const base::lock_guard guard(mutex_);
    // Once more: what was published before stop() is there by now, and after it nobody is woken.
    if (stopping_ && !std::exchange(here.has_looked_at_end, true)) return on_sleep::look_again;
    leaves = stopping_ || threads_ > cap();
    stays = threads_ <= min_;
    if (leaves) {
      uncount();
      // acq_rel. See the protocol: the look into the queues comes after it.
      word_.fetch_sub(one_searching, base::order::acq_rel);
    } else {
      push_idle(here);
      // acq_rel. The announcement: the same.
      word_.fetch_add(one_idle - one_searching, base::order::acq_rel);
    }
    // relaxed. Raised under the same lock.
    seen = here.signal.load(base::order::relaxed);
  }
  if (leaves) return depart(here);
  if (client_.has_work()) {
    {
      const base::lock_guard guard(mutex_);
      rouse(here);
    }
    // A job was given to it meanwhile: what it has seen was left to it, and somebody else must come for that.
    if (here.given != nullptr) attract();
    return on_sleep::look_again;
  }
  for (;;) {
    const base::time_point until =
        stays ? base::never : rota::detail::saturating_deadline(base::now(), keep_alive_);
    const bool timed_out = here.waits.wait(here.signal, seen, until) == base::wait_result::timed_out;
    {
      const base::lock_guard guard(mutex_);
      if (!here.idle) return on_sleep::look_again;
      // Several may have timed out together, and the floor may be another one by now: those that are to be kept stay.
      stays = threads_ <= min_;
      // relaxed. Raised under the same lock.
      seen = here.signal.load(base::order::relaxed);
      if (stays || !timed_out) continue;
      drop_idle(here);
      uncount();
      // acq_rel. See the protocol.
      word_.fetch_sub(one_idle, base::order::acq_rel);
    }
    return depart(here);
  }
}

/// Under the lock: it leaves.
void crew::uncount() noexcept {
  --threads_;
  ++retired_;
  update();
}

/// It is no longer counted. What it was not there for others must come for.
crew::on_sleep crew::depart(seat& here) noexcept {
  if (client_.has_work()) attract();
  client_.ends(here);
  {
    const base::lock_guard guard(mutex_);
    here.ended = true;
    note_left();
  }
  base::futex_wake(&left_, 1);
  return on_sleep::leave;
}

/// Under the lock: for stop().
void crew::note_left() noexcept {
  if (!stopping_) return;
  // release. Pairs with stop().
  left_.fetch_add(1, base::order::release);
}

/// Under the lock: a start that was counted is over. For stop(). Wakes under the lock, too. The starter need not be one of the crew's threads; its caller keeps
/// the crew until it has returned.
void crew::note_start_over() noexcept {
  --pending_;
  if (!stopping_) return;
  note_left();
  base::futex_wake(&left_, 1);
}

/// There are more threads than there may be: is this one to go?
bool crew::retire(seat& here) noexcept {
  {
    const base::lock_guard guard(mutex_);
    if (threads_ <= cap()) return false;
    uncount();
  }
  static_cast<void>(depart(here));
  return true;
}

// ---- the list of idle ones, under the lock --------------------------------------------------------------------------

void crew::push_idle(seat& here) noexcept {
  here.idle = true;
  here.above = nullptr;
  here.below = idle_;
  if (idle_ != nullptr) idle_->above = &here;
  idle_ = &here;
}

void crew::drop_idle(seat& here) noexcept {
  (here.above != nullptr ? here.above->below : idle_) = here.below;
  if (here.below != nullptr) here.below->above = here.above;
  here.idle = false;
}

/// It has found something to do by itself. Who has called it meanwhile has done the same.
void crew::rouse(seat& here) noexcept {
  if (!here.idle) return;
  drop_idle(here);
  // acq_rel. As in call().
  word_.fetch_add(one_searching - one_idle, base::order::acq_rel);
}

}  // namespace rota::pool::detail
