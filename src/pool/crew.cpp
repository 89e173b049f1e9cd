#include "pool/crew.hpp"

#include "base/tls_slot.hpp"

#include <rota/detail/deadline.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace rota::pool::detail {

namespace {

/// The number of scans by a thread that has run out of jobs, before it sleeps. They take about as long as
/// waking a thread.
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

/// Publishes the counts. Called under the lock, after threads_, max_, goal_ or extra_ changed.
void crew::update() noexcept {
  // relaxed, both: hints.
  about_.store(threads_, base::order::relaxed);
  growth_.store(threads_ < cap() && !stopping_ ? cap() - threads_ : 0, base::order::relaxed);
  std::uint64_t now = 0;
  if (threads_ < cap() && !stopping_) now = may_grow;
  if (threads_ > cap()) now = over;
  if (now == bits_) return;
  // acq_rel: see the protocol: a thread that leaves scans the queues afterwards.
  word_.fetch_add(now - bits_, base::order::acq_rel);
  bits_ = now;
}

// ---- waking and starting threads --------------------------------------------------------------------------

/// Under the lock: chooses a thread for a job for which no thread searches. The thread counts as searching
/// from now on.
crew::on_call crew::call(seat*& whom) noexcept {
  if (idle_ != nullptr) {
    whom = idle_;
    drop_idle(*whom);
    // acq_rel: it counts as searching before any thread reads that it no longer sleeps.
    word_.fetch_add(one_searching - one_idle, base::order::acq_rel);
    // relaxed: the lock orders it; the sleeper only compares.
    whom->signal.fetch_add(1, base::order::relaxed);
    return on_call::wake;
  }
  if (threads_ >= cap() || stopping_) return on_call::nothing;
  count_start();
  // acq_rel: same reason as above.
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
    // acquire: same reason as in attract().
    if ((word_.load(base::order::acquire) & searching_mask) == 0) duty = call(whom);
  }
  carry_out(duty, whom);
}

/// Under the lock.
std::size_t crew::idle_count() const noexcept {
  // relaxed: the lock orders it.
  return word_.load(base::order::relaxed) & idle_mask;
}

/// A sleeping thread is left for each waiting job: it runs that job even if the system gives no other thread.
/// A searching thread does not count, since it may have taken a job already.
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
      // acq_rel: the thread no longer sleeps, and it does not search, so no producer leaves a job to it.
      word_.fetch_sub(one_idle, base::order::acq_rel);
      // relaxed: the lock orders it; the sleeper only compares.
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
  // While this thread was counted the limit may have been reached. A producer that published then found no
  // thread to start.
  if (how == on_start::failed) client_.missing();
  return how == on_start::started;
}

/// Counts in one more thread, which searches; the caller starts it. Returns false if the limit is reached.
bool crew::count_in(up_to limit) noexcept {
  const base::lock_guard guard(mutex_);
  if (threads_ >= (limit == up_to::floor ? min_ : cap()) || stopping_) return false;
  count_start();
  // acq_rel: same reason as in call().
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

/// Starts a thread that the caller has counted: as a thread, and as searching unless a job is given to it.
/// The lock is not held while the system makes the thread. Other threads take jobs, sleep and submit
/// meanwhile.
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
  // Jobs that were published meanwhile were left to the thread. A thread that fell asleep before can take
  // them. If all threads are busy, they scan the queues later. If there is no thread: see missing().
  wake_idle(1);
  return on_start::failed;
}

/// Under the lock: counts in a thread that is to be started. From now on stop() waits for the caller of
/// start_thread().
void crew::count_start() noexcept {
  ++threads_;
  ++pending_;
}

/// Under the lock: counts out a thread that could not be started.
void crew::uncount_start(void* given) noexcept {
  --threads_;
  // acq_rel: same reason as in sleep().
  if (given == nullptr) word_.fetch_sub(one_searching, base::order::acq_rel);
  update();
  if (!stopping_) ++failures_;
  note_start_over();
}

/// Under the lock: puts the seat into seats_, so that its thread is found as soon as it runs. Returns false
/// if there is no memory.
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

/// Starts the thread of a seat that is in seats_. Once the thread runs, it may be given up and free the seat.
/// Then `pending` says so.
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
      // acq_rel: same reason as in call().
      word_.fetch_add(one_searching - one_idle, base::order::acq_rel);
      // relaxed: the lock orders it.
      whom->signal.fetch_add(1, base::order::relaxed);
    }
    base::futex_wake(&whom->signal, 1);
  }
}

/// Under the lock: wakes all sleeping threads, so that each checks again how long it may sleep.
void crew::remind_idle() noexcept {
  for (seat* each = idle_; each != nullptr; each = each->below) {
    // relaxed: the lock orders it.
    each->signal.fetch_add(1, base::order::relaxed);
    base::futex_wake(&each->signal, 1);
  }
}

// ---- a thread ---------------------------------------------------------------------------------------------

void crew::thread_main(void* seat_address) noexcept {
  seat& here = *static_cast<seat*>(seat_address);
  if (here.of->has_regions_) base::this_thread_locals().seat = &here;
  here.of->serve(here);
}

/// Runs the thread. It begins as searching, unless it was started for a handed-over job.
void crew::serve(seat& here) noexcept {
  client_.begins(here);
  bool searching = true;
  for (;;) {
    if (void* const job = next(here, searching); job != nullptr) {
      if (client_.run(here, job) == crew_client::on_run::given_up) return forget(here, job);
      if (is_over() && retire(here)) return;
    } else if (!searching) {
      searching = true;
      // acq_rel: a producer that reads it may leave a job to this thread, and so to the scan that follows.
      word_.fetch_add(one_searching, base::order::acq_rel);
    } else if (sleep(here) == on_sleep::leave) {
      return;
    }
  }
}

/// Returns null if no job was found.
void* crew::next(seat& here, bool& searching) noexcept {
  if (!searching) return client_.take(here);
  if (here.given != nullptr) {
    searching = false;  // not searching: hand_over() has not counted it so
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
    if (look % 16 == 15) base::yield_thread();  // bounded: at most spins_ more scans
  }
}

void crew::found() noexcept {
  // acq_rel: the check below finds a job that was published while this thread searched, for which no thread
  // was woken.
  word_.fetch_sub(one_searching, base::order::acq_rel);
  if (client_.has_work()) attract();
}

/// Called by a searching thread. Afterwards the thread searches again, or has a job handed over to it, or has
/// left.
crew::on_sleep crew::sleep(seat& here) noexcept {
  std::uint32_t seen = 0;
  bool leaves;
  bool stays;
  {
    const base::lock_guard guard(mutex_);
    // One more scan: a job that was published before stop() is in its queue by now, and after stop() no
    // thread is woken for it.
    if (stopping_ && !std::exchange(here.has_looked_at_end, true)) return on_sleep::look_again;
    leaves = stopping_ || threads_ > cap();
    stays = threads_ <= min_;
    if (leaves) {
      uncount();
      // acq_rel: see the protocol: the scan of the queues comes after it.
      word_.fetch_sub(one_searching, base::order::acq_rel);
    } else {
      push_idle(here);
      // acq_rel: the announcement, with the same reason.
      word_.fetch_add(one_idle - one_searching, base::order::acq_rel);
    }
    // relaxed: raised under the same lock.
    seen = here.signal.load(base::order::relaxed);
  }
  if (leaves) return depart(here);
  if (client_.has_work()) {
    {
      const base::lock_guard guard(mutex_);
      rouse(here);
    }
    // A job was given to this thread meanwhile. Another thread must come for the job that this one has seen.
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
      // Several threads may have timed out together, and min_ may have changed. Stay unless threads_ is above
      // min_.
      stays = threads_ <= min_;
      // relaxed: raised under the same lock.
      seen = here.signal.load(base::order::relaxed);
      if (stays || !timed_out) continue;
      drop_idle(here);
      uncount();
      // acq_rel: see the protocol.
      word_.fetch_sub(one_idle, base::order::acq_rel);
    }
    return depart(here);
  }
}

/// Under the lock: counts out a thread that leaves.
void crew::uncount() noexcept {
  --threads_;
  ++retired_;
  update();
}

/// Ends a thread that is counted out. Another thread must come for jobs that were published meanwhile.
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

/// Under the lock: notifies stop() that a thread has left.
void crew::note_left() noexcept {
  if (!stopping_) return;
  // release: pairs with the acquire in stop().
  left_.fetch_add(1, base::order::release);
}

/// Under the lock: notifies stop() that a counted start is over. Wakes stop() under the lock: the starter
/// need not be one of the crew's threads, and its caller keeps the crew until the starter has returned.
void crew::note_start_over() noexcept {
  --pending_;
  if (!stopping_) return;
  note_left();
  base::futex_wake(&left_, 1);
}

/// Returns true if this thread has left because there are more threads than there may be.
bool crew::retire(seat& here) noexcept {
  {
    const base::lock_guard guard(mutex_);
    if (threads_ <= cap()) return false;
    uncount();
  }
  static_cast<void>(depart(here));
  return true;
}

// ---- the idle list, under the lock ------------------------------------------------------------------------

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

/// Takes a thread that has found a job by itself out of the idle list. Does nothing if another thread has
/// woken it meanwhile.
void crew::rouse(seat& here) noexcept {
  if (!here.idle) return;
  drop_idle(here);
  // acq_rel: same reason as in call().
  word_.fetch_add(one_searching - one_idle, base::order::acq_rel);
}

}  // namespace rota::pool::detail
