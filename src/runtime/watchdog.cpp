#include "runtime/watchdog.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

namespace rota::detail {

namespace {

constexpr base::nanoseconds tick = std::chrono::milliseconds(1);
/// The limit of the period while all workers are parked and only polls outside may run.
constexpr base::nanoseconds longest_period = std::chrono::milliseconds(3);
/// The watchdog falls asleep after this time without anything to watch.
constexpr base::nanoseconds quiet_time = std::chrono::milliseconds(8);
/// A child that runs in its parent's place for longer than this gets a turn of its own at its next fork.
constexpr base::nanoseconds longest_in_place = std::chrono::milliseconds(5);

/// Period of the search for join cycles, in builds with asserts: it walks the whole registry.
constexpr base::nanoseconds circle_period = std::chrono::seconds(1);
#if defined(NDEBUG) || ROTA_MODEL
constexpr bool looks_for_circles = false;
#else
constexpr bool looks_for_circles = true;
#endif

long long in_ms(base::nanoseconds span) noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
}

/// Returns the file and its folder. The rest of the path only tells where the program was built.
const char* without_build_path(const char* file) noexcept {
  const char* folder = file;
  const char* name = file;
  for (const char* at = file; *at != '\0'; ++at)
    if (*at == '/') folder = std::exchange(name, at + 1);
  return folder;
}

template <std::size_t Size>
void print_thread(char (&into)[Size], const sched::worker& whom) noexcept {
  std::snprintf(into, Size, "worker %u", whom.index());
}
template <std::size_t Size>
void print_thread(char (&into)[Size], const core::outside_poll& whom) noexcept {
  std::snprintf(into, Size, "thread %" PRIu64 " in %s", whom.thread_id(), whom.call());
}

}  // namespace

watchdog::watchdog(sched::scheduler& tasks, base::nanoseconds patience) noexcept
    : tasks_(tasks), patience_(patience) {
  outside_.set_watcher([](void* self) noexcept { static_cast<watchdog*>(self)->note_outside_run(); }, this);
}

void watchdog::start() {
  samples_.resize(tasks_.workers());
  samples_outside_.resize(1);
  auto started = base::thread::start("rota-watchdog", thread_main, this);
  if (!started.has_value()) throw std::system_error(started.error(), "rota: the watchdog's thread");
  thread_ = std::move(*started);
}

void watchdog::stop() noexcept {
  if (!thread_.joinable()) return;
  // seq_cst: same word as sleep() and doze().
  word_.exchange(leaving, base::order::seq_cst);
  base::futex_wake(&word_, 1);
  thread_.join();
}

void watchdog::first_awake() noexcept {
  std::uint32_t seen = asleep;
  // seq_cst: same word as sleep(), after the idle word said that a worker woke up. failure: seq_cst: the
  // watchdog is not asleep, but when it announces its sleep next it must find that worker awake.
  if (word_.compare_exchange_strong(seen, awake, base::order::seq_cst, base::order::seq_cst)) {
    base::futex_wake(&word_, 1);
  }
}

/// Called when a thread without a role starts to run a task.
void watchdog::note_outside_run() noexcept {
  // seq_cst: after the write of the slot: see R3 in task/outside_polls.hpp.
  if (word_.load(base::order::seq_cst) == asleep) first_awake();
}

void watchdog::thread_main(void* self) noexcept {
  auto& mine = *static_cast<watchdog*>(self);
  mine.watch();
  const base::time_point now = base::now();
  mine.look_for_ends(now);
  static_cast<void>(mine.look_outside(now));
}

void watchdog::watch() noexcept {
  for (base::nanoseconds quiet{0};;) {
    if (look(base::now())) {
      quiet = base::nanoseconds(0);
    } else if ((quiet += period_) >= quiet_time) {
      quiet = base::nanoseconds(0);
      if (!sleep()) return;
      period_ = tasks_.sleepers().all_parked() ? period_outside() : tick;
    }
    if (!doze()) return;
  }
}

/// A poll outside needs no time slices: eight checks until it is due are enough.
base::nanoseconds watchdog::period_outside() const noexcept {
  return std::clamp(patience_ / 8, tick, longest_period);
}

/// Checks everything once. Returns true if there is something to watch.
bool watchdog::look(base::time_point now) noexcept {
  const bool workers_sleep = !starts_missing_threads() && tasks_.sleepers().all_parked();
  if (workers_sleep) {
    nobody_polled_ = false;
    look_for_ends(now);
  } else {
    period_ = tick;
    look_at_workers(now);
  }
  // Checking the workers may have taken time since `now`, and a poll outside may be younger than that.
  if (!look_outside(base::now()) && workers_sleep) return false;
  look_for_circles(now);
  return true;
}

bool watchdog::doze() noexcept {
  static_cast<void>(base::futex_watch(word_, awake, base::now() + period_));
  // acquire: pairs with stop().
  return word_.load(base::order::acquire) != leaving;
}

bool watchdog::sleep() noexcept {
  std::uint32_t seen = awake;
  // seq_cst: the announcement; the check of the idle word follows. failure: seq_cst: it was told to leave.
  if (!word_.compare_exchange_strong(seen, asleep, base::order::seq_cst, base::order::seq_cst)) return false;
  if (!tasks_.sleepers().all_parked() || starts_missing_threads()) first_awake();
  sleep_between_lines();
  // acquire: pairs with first_awake() and stop().
  return word_.load(base::order::acquire) != leaving;
}

/// The word is `asleep` all the time, so each poll that begins meanwhile wakes this thread, and so does the
/// end of a reported one. The check before each sleep reports the ends that came before the announcement. It
/// also finds a poll that began before the announcement, and one of which the thread has missed the bit: see
/// R3 and R5 in task/outside_polls.hpp.
void watchdog::sleep_between_lines() noexcept {
  base::time_point until;
  do {
    static_cast<void>(look_outside(base::now()));
    if (outside_.any_runs()) first_awake();
    until = next_line_outside_;
    // Nothing moves any more: check once, and again later if that has found a cycle.
    // NOT IN A MODEL: circles are looked for in builds with asserts, by what a model cannot afford
    if (looks_for_circles && patience_.count() > 0 && circles_.look(tasks_.tasks()))
      until = std::min(until, base::now() + circle_period);
  } while (!sleep_while_asleep(until));
}

/// Sleeps while the word is `asleep`. Returns false if `until` has passed first.
// NOT IN A MODEL: a limit: with circles and reported polls alone
bool watchdog::sleep_while_asleep(base::time_point until) noexcept {
  // acquire: pairs with first_awake() and stop().
  while (word_.load(base::order::acquire) == asleep) {
    if (base::futex_wait(word_, asleep, until) == base::wait_result::timed_out) return false;
  }
  return true;
}

// NOT IN A MODEL: see sleep_between_lines()
void watchdog::look_for_circles(base::time_point now) noexcept {
  if (!looks_for_circles || patience_.count() == 0 || now < next_circle_look_) return;
  next_circle_look_ = now + circle_period;
  static_cast<void>(circles_.look(tasks_.tasks()));
}

bool watchdog::starts_missing_threads() noexcept {
  return tasks_.around.start_missing(tasks_.around.threads);
}

void watchdog::look_at_workers(base::time_point now) noexcept {
  // If the time is not the machine's, the behaviour of a worker must not depend on the machine's.
  if (tasks_.around.clock == nullptr) tasks_.begin_slice();
  look_for_poller();  // before anything is printed: standard error may be slow
  for (unsigned i = 0; i < tasks_.workers(); ++i) look_at(tasks_.at(i), samples_[i], now);
}

/// A worker may stay in a poll while the others sleep and none of them waits in the driver: then events and
/// timers would be missed. It takes two checks in a row: between its tasks a worker polls the driver itself,
/// or goes there.
void watchdog::look_for_poller() noexcept {
  const bool polled_before = !std::exchange(nobody_polled_, tasks_.poll().is_free());
  if (nobody_polled_ && !polled_before) tasks_.look_for_poller();
}

/// A long poll may be many children, one inside the other. Other workers may take them; after a while this
/// one must suspend.
void watchdog::look_at_forks(sched::worker& whom, base::nanoseconds age) noexcept {
  if (queue::fork_thief(whom.forks().waiting).has_items()) tasks_.look_after_ring();
  if (age >= longest_in_place) whom.forks().waiting.call();
}

/// If the worker is in the same poll as at the last check, passes its prepared operations to the kernel, and
/// lets other workers take a task that waits behind the poll.
void watchdog::look_at(sched::worker& whom, sample& before, base::time_point now) noexcept {
  const std::uint64_t stamp = whom.poll_stamp();
  if (is_another(whom, stamp, before, now)) return;
  tasks_.flush_driver();
  if (whom.slot().ripen()) {
    // relaxed: a sum for a report; one writer.
    ripened_.fetch_add(1, base::order::relaxed);
    tasks_.look_after_ring();
  }
  // Read after the stamp: a poll that began since then has run for no time at all.
  const std::uint64_t task = whom.task_of_poll(stamp);
  if (task == 0) return;
  look_at_forks(whom, before.poll.age(now));
  if (patience_.count() != 0) judge(whom, task, before, now);
}

/// Returns true if a thread without a role runs a task in a poll that was not reported yet. Ends of polls are
/// reported in any case.
bool watchdog::look_outside(base::time_point now) noexcept {
  next_line_outside_ = base::never;
  if (outside() == nullptr) return false;
  bool any_runs = false;
  outside_.for_each([&](core::outside_poll& each) {
    const std::uint64_t stamp = each.stamp();
    sample* const before = sample_of(each);
    if (before != nullptr) look_at(each, stamp, *before, now);
    if (before != nullptr && before->poll.task() != 0) {
      next_line_outside_ = std::min(next_line_outside_, before->poll.next_line());
    } else if (core::outside_poll::is_running(stamp)) {
      any_runs = true;
    }
  });
  return any_runs;
}

/// Returns null if there is no memory: then there is no report.
watchdog::sample* watchdog::sample_of(const core::outside_poll& whom) noexcept {
  try {
    if (whom.number() >= samples_outside_.size()) samples_outside_.resize(whom.number() + 1U);
  } catch (const std::bad_alloc&) {  // NOT IN A MODEL: no memory
    return nullptr;
  }
  return &samples_outside_[whom.number()];
}

/// A reported poll is measured when its next line is due, and at its end. Until then it costs one comparison.
void watchdog::look_at(core::outside_poll& whom,
                       std::uint64_t stamp,
                       sample& before,
                       base::time_point now) noexcept {
  if (is_another(whom, stamp, before, now)) return;
  if (before.poll.task() != 0 && now < before.poll.next_line()) return;
  if (const std::uint64_t task = whom.task_of_poll(stamp)) judge(whom, task, before, now);
  if (before.poll.task() != 0) whom.mark_reported(stamp);
}

/// Returns true if this is not the poll of the last check. The next check compares with it.
template <class Runs>
bool watchdog::is_another(const Runs& whom,
                          std::uint64_t stamp,
                          sample& before,
                          base::time_point now) noexcept {
  if (stamp == before.poll.stamp() && !has_ended(whom, before)) return false;
  tell_end(before, now);
  before = {.poll = poll_watch(stamp, now)};
  return true;
}

/// Measures a poll that goes on since the last check, and reports it if a line is due.
template <class Runs>
void watchdog::judge(const Runs& whom, std::uint64_t task, sample& before, base::time_point now) noexcept {
  before.poll.measure(whom.thread_id(), now, 2 * period_);
  // Check again: a foreign thread may have ended, and then its time could not be measured.
  if (before.poll.is_due(now, patience_) && whom.task_of_poll(before.poll.stamp()) == task)
    report(whom, task, before, now);
}

/// Returns true if a poll with a due line has ended. Its thread runs the next task, rests, or goes on without
/// the role.
template <class Runs>
bool watchdog::has_ended(const Runs& whom, const sample& before) noexcept {
  return before.poll.task() != 0 && whom.task_of_poll(before.poll.stamp()) != before.poll.task();
}

/// While all workers are parked only the ends of their polls are checked.
void watchdog::look_for_ends(base::time_point now) noexcept {
  for (unsigned i = 0; i < tasks_.workers(); ++i) {
    const sched::worker& whom = tasks_.at(i);
    if (has_ended(whom, samples_[i]))
      static_cast<void>(is_another(whom, samples_[i].poll.stamp(), samples_[i], now));
  }
}

template <class Runs>
void watchdog::report(const Runs& whom, std::uint64_t task, sample& before, base::time_point now) noexcept {
  const bool is_first = before.poll.note_due(task, now);
  if ((is_first ? limit_ : repeats_).admits(now)) {  // NOT IN A MODEL: many reports
    print_thread(before.thread, whom);
    before.thread_id = whom.thread_id();
    say(before, is_first, now);
    before.is_told = true;
  }
  // relaxed: a sum for a report; one writer. Last: a thread that reads it may end the task.
  if (is_first) stalls_.fetch_add(1, base::order::relaxed);
}

void watchdog::say(sample& before, bool is_first, base::time_point now) noexcept {
  const description known = about(before.poll.task());
  std::memcpy(before.name, known.name, sizeof before.name);
  std::fprintf(stderr,
               "rota: %s %s task %" PRIu64 "%s for %lld ms%s (%lld ms of processor time%s)%s%s\n",
               before.thread,
               is_first ? "has run" : "still runs",
               before.poll.task(),
               before.name,
               in_ms(before.poll.age(now)),
               is_first ? " without a suspension" : "",
               in_ms(before.poll.computed()),
               before.poll.blocked() > before.poll.computed() ? "; it is blocked in a system call" : "",
               known.where,
               is_first ? "; move blocking work to spawn_blocking(), and yield() in long computations" : "");
}

/// Reports the end only if the beginning was reported: so there are no more of these lines than of the
/// others.
void watchdog::tell_end(sample& before, base::time_point now) noexcept {
  if (!before.is_told) return;
  before.poll.measure_end(before.thread_id, now);
  std::fprintf(stderr,
               "rota: %s has left task %" PRIu64 "%s after %lld ms (%lld ms of processor time)\n",
               before.thread,
               before.poll.task(),
               before.name,
               in_ms(before.poll.age(now)),
               in_ms(before.poll.computed()));
}

/// Appends the words and the place at `length`; returns the new length.
std::size_t watchdog::print_place(char (&into)[longest_where],
                                  std::size_t length,
                                  const char* words,
                                  const std::source_location& where) noexcept {
  if (where.line() == 0) return length;
  const int more = std::snprintf(into + length,
                                 sizeof into - length,
                                 "%s %.240s:%u",
                                 words,
                                 without_build_path(core::file_of(where)),
                                 static_cast<unsigned>(where.line()));
  return length + static_cast<std::size_t>(more);
}

/// Describes the task. It may end meanwhile: the lock of the registry keeps it alive until it is copied.
watchdog::description watchdog::about(std::uint64_t id) noexcept {
  description found;
  std::source_location spawned;
  std::source_location awaited;
  // It may move from the births into the registry meanwhile, never back.
  tasks_.newborn().for_each([&](const core::birth::seen& task) {
    if (task.id == id && !core::is_in_library(task.site)) spawned = task.site;
  });
  tasks_.tasks().for_each([&](const core::header& task) {
    if (task.id != id) return;
    if (*core::name_of(task) != '\0')
      std::snprintf(found.name, sizeof found.name, " '%.58s'", core::name_of(task));
    spawned = core::spawn_site_of(task);
    awaited = core::site_of(task);
  });
  const std::size_t length = print_place(found.where, 0, "; it was spawned at", spawned);
  static_cast<void>(print_place(found.where, length, "; it last awaited at", awaited));
  return found;
}

}  // namespace rota::detail
