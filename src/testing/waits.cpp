// The operations that may wait: locks, futexes, threads.
#include "testing/machine.hpp"

#include "base/bits.hpp"

#include <bit>
#include <utility>

namespace rota::testing::detail {

namespace {

/// Returns ", task 3,": the task of the thread when it began to wait. By number: the task may have been
/// freed.
std::string task_of(const fibre& f) {
  return f.task_id == 0 ? "" : ", task " + std::to_string(f.task_id) + ',';
}

std::string wait_of(const fibre& f, const trace& t) {
  switch (f.why) {
    case waiting::nothing: return "can run";
    case waiting::start: return "was not started";
    case waiting::lock: return "waits for the mutex in " + t.name_of(f.wants);
    case waiting::futex: return "sleeps on the futex in " + t.name_of(f.wants);
    case waiting::join: return "waits for a thread's end";
    case waiting::quiet: return "waits for the end of all threads";
    case waiting::ended: return "has ended";
  }
  return "";
}

}  // namespace

// A thread that is about to lock is `waiting::lock` from here on, ready or not. The thread that takes the
// lock makes the others unready; the thread that releases it makes them ready. So a lock operation is chosen
// only when the lock is free, and any waiter may get it.
void machine::lock(word w, place where) {
  fibre& f = me();
  f.where = where.line() != 0 ? where : f.where;
  (void)open(w, {});
  f.wants = w.address;
  f.why = waiting::lock;
  if (const std::uint64_t holder = read_word(w); holder != 0) {
    if (holder == current_ + 1) fail("deadlock: " + full_name(f, current_) + " locks a mutex that it holds");
    record(event_kind::lock_waits, w.address, 0);
    demand_no_circle();
    ready_ &= ~bit(current_);
    f.chosen = false;
  }
  point(where);
  drain();
  take(w);
  record(event_kind::lock, w.address, 0);
}

/// Returns the thread that holds the lock, if that thread itself waits for a lock.
const fibre* machine::waiting_holder(const fibre& f) const {
  const std::uint64_t holder = read_word({const_cast<void*>(f.wants), sizeof(std::uint32_t)});
  if (holder == 0) return nullptr;
  const fibre& other = fibres_[holder - 1];
  return other.why == waiting::lock ? &other : nullptr;
}

/// Threads that wait for each other's locks are deadlocked: no passage of time helps.
void machine::demand_no_circle() {
  const fibre* other = &me();
  do {
    other = waiting_holder(*other);
    if (other == nullptr) return;
  } while (other != &me());
  std::string text = "deadlock: threads wait for each other's locks";
  do {
    text += "\n  " + full_name(*other, static_cast<unsigned>(other - fibres_.data())) + task_of(*other) +
            ' ' + wait_of(*other, trace_);
    const fibre* const next = waiting_holder(*other);
    text += ", which " + full_name(*next, static_cast<unsigned>(next - fibres_.data())) + " holds";
    other = next;
  } while (other != &me());
  fail(text);
}

bool machine::try_lock(word w, place where) {
  point(where);
  drain();
  (void)open(w, {});
  if (read_word(w) != 0) {
    record(event_kind::try_lock_failed, w.address, 0);
    return false;
  }
  take(w);
  record(event_kind::lock, w.address, 0);
  return true;
}

void machine::take(word w) {
  me().why = waiting::nothing;
  (void)memory::modify(open(w, {}), w, modification::exchange, current_ + 1, by({}), base::order::acquire);
  for (unsigned i = 0; i < fibre_count_; ++i) {
    if (fibres_[i].why == waiting::lock && fibres_[i].wants == w.address) ready_ &= ~bit(i);
  }
}

void machine::unlock(word w, place where) {
  point(where);
  drain();
  location& l = open(w, {});
  if (read_word(w) != current_ + 1)
    fail("unlock by " + full_name(me(), current_) + ", which does not hold the mutex");
  record(event_kind::unlock, w.address, 0);
  (void)memory::modify(l, w, modification::exchange, 0, by({}), base::order::release);
  for (unsigned i = 0; i < fibre_count_; ++i) {
    fibre& other = fibres_[i];
    if (other.why != waiting::lock || other.wants != w.address || (ready_ & bit(i)) != 0) continue;
    other.ready_since = steps_;
    ready_ |= bit(i);
  }
}

// PROTOCOL: threads that watch others
//   A watchdog checks the others every millisecond. While it finds nothing and no other thread steps, its
//   next check finds nothing either. After many_looks such checks its deadline no longer counts: the clock
//   goes to the next deadline of another thread, and if there is none, no thread can run. Otherwise a program
//   of deadlocked tasks would be reported as a livelock of its watchdog. So a model does not see actions that
//   a watchdog would take only after that: the report of a worker that has been stuck for longer.
void machine::note_look() {
  constexpr unsigned many_looks = 64;
  fibre& f = me();
  f.watches = true;
  if (std::exchange(f.progress_seen, progress_) != progress_) {
    f.vain_looks = 0;
    vain_ &= ~bit(current_);
  } else if (++f.vain_looks >= many_looks) {
    vain_ |= bit(current_);
  }
}

// The kernel compares and sleeps in one step. A futex orders nothing that a program could rely on, so no
// clock is joined.
machine::futex_result machine::futex_wait(word w,
                                          std::uint64_t expected,
                                          base::time_point deadline,
                                          unsigned shift) {
  point({});
  settle(w.address);
  const std::uint64_t value = memory::load(open(w, {}), w, base::order::relaxed, by({}));
  if (value >> shift != expected) {
    record(event_kind::futex_changed, w.address, value);
    return futex_result::changed;
  }
  if (deadline <= time_) {
    record(event_kind::futex_timed_out, w.address, value);
    return futex_result::timed_out;
  }
  if (fault(spurious_wakes_)) {
    record(event_kind::futex_spurious, w.address, value);
    return futex_result::woken;
  }
  record(event_kind::futex_sleeps, w.address, value);
  sleepers_ |= bit(current_);
  if (deadline != base::never) timed_ |= bit(current_);
  me().deadline = deadline;
  me().timed_out = false;
  block(waiting::futex, w.address);
  record(me().timed_out ? event_kind::futex_timed_out : event_kind::futex_woken, w.address, 0);
  return me().timed_out ? futex_result::timed_out : futex_result::woken;
}

int machine::futex_wake(const void* address, int count) {
  ++done_.wakes;
  point({});
  drain();
  int woken = 0;
  for (; woken < count; ++woken) {
    fibre_mask here = 0;
    for (fibre_mask rest = sleepers_; rest != 0; rest &= rest - 1) {
      if (fibres_[base::lowest_bit(rest)].wants == address) here |= rest & ~(rest - 1);
    }
    if (here == 0) break;
    const unsigned index = pick_sleeper(count - woken < std::popcount(here) ? here : here & ~(here - 1));
    make_ready(fibres_[index], index);
  }
  record(event_kind::futex_wake, address, static_cast<std::uint64_t>(woken));
  return woken;
}

// Any sleeper may be chosen.
unsigned machine::pick_sleeper(fibre_mask sleepers) {
  for (unsigned skip = decide(static_cast<unsigned>(std::popcount(sleepers)), value_kind::free); skip > 0;
       --skip) {
    sleepers &= sleepers - 1;
  }
  return base::lowest_bit(sleepers);
}

unsigned machine::start_thread(const char* name, void (*entry)(void*) noexcept, void* argument) {
  point({});
  drain();
  if (fault(thread_failures_)) {
    record(event_kind::thread_start_failed, nullptr, 0);
    return 0;
  }
  const unsigned index = new_fibre(name, options_.daemon_threads);
  fibres_[index].job.put([entry, argument](int) { entry(argument); });
  start_fibre(index);
  record(event_kind::thread_start, nullptr, index);
  return index;
}

void machine::join_thread(unsigned index) {
  fibre& f = me();
  f.wants = &fibres_[index];
  f.why = waiting::join;
  if (index == current_) fail("deadlock: " + full_name(f, current_) + " joins itself");
  if (fibres_[index].why != waiting::ended) {
    ready_ &= ~bit(current_);
    f.chosen = false;
  }
  point({});
  f.why = waiting::nothing;
  drain();
  while (!buffers_[index].empty()) arrive_first(index, 0);
  f.clock.join(fibres_[index].clock);
  record(event_kind::thread_join, nullptr, index);
}

void machine::fail_deadlock() {
  std::string text = "deadlock or lost wakeup: no thread can run";
  for (unsigned i = 0; i < fibre_count_; ++i) {
    const fibre& f = fibres_[i];
    if (f.why == waiting::ended) continue;
    text += "\n  " + full_name(f, i) + task_of(f) + (f.daemon ? " (daemon) " : " ") + wait_of(f, trace_);
    if (f.where.line() != 0) text += ", after " + to_string(f.where);
  }
  fail(text);
}

}  // namespace rota::testing::detail
