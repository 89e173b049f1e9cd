#include "simulated/machine.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace rota::simulated {

constinit machine* active = nullptr;

namespace {

constexpr base::time_point first_moment{std::chrono::hours(1)};
constexpr std::int64_t no_deadline = std::numeric_limits<std::int64_t>::max();
constexpr std::uintptr_t line_bytes = 64;

std::int64_t in_nanoseconds(base::time_point t) noexcept {
  return t == base::never ? no_deadline : std::chrono::nanoseconds(t - first_moment).count();
}

}  // namespace

machine::machine(costs what) : costs_(what) {}
machine::~machine() = default;

void machine::fail(const char* what) {
  static_cast<void>(std::fprintf(stderr, "rota::simulated: %s\n", what));
  std::abort();
}

base::time_point machine::now() const noexcept {
  return first_moment + base::nanoseconds(threads_[current_]->clock);
}

// ---- threads ---------------------------------------------------------------------------------------------

base::nanoseconds machine::run(std::function<void()> body) {
  if (active != nullptr) fail("one machine at a time");
  if (!threads_.empty()) fail("a machine runs once");
  active = this;
  exceptions_ = reinterpret_cast<testing::detail::exception_state*>(abi::__cxa_get_globals());
  current_ = add_thread(std::move(body), 0);
  ready_.clear();
  testing::detail::context::switch_between(host_, me().stack);
  active = nullptr;
  return base::nanoseconds(threads_.front()->clock);
}

unsigned machine::add_thread(std::function<void()> job, std::int64_t at) {
  if (threads_.size() == most_threads) fail("more threads than a simulation has processors");
  const auto index = static_cast<unsigned>(threads_.size());
  threads_.push_back(std::make_unique<thread>());
  thread& made = *threads_.back();
  made.job = std::move(job);
  made.stack.prepare(&machine::run_thread);
  make_ready(index, at);
  return index;
}

void machine::run_thread() {
  machine& m = *active;
  m.me().job();
  m.me().ended = true;
  m.me().stack.come_to_end();
  // The end of the first thread ends the run: a thread that it has not joined sleeps for ever.
  if (m.current_ == 0) return testing::detail::context::switch_between(m.me().stack, m.host_);
  for (const unsigned joiner : m.me().joiners) m.make_ready(joiner, m.me().clock + m.costs_.wake_latency);
  m.leave_to_the_earliest();
}

void machine::make_ready(unsigned index, std::int64_t at) {
  thread& t = *threads_[index];
  t.clock = std::max(t.clock, at);
  ready_.emplace(t.clock, index);
}

/// Runs the earliest other thread. Returns when this thread is ready again and the earliest.
void machine::leave_to_the_earliest() {
  const bool sleeps_longer =
      ready_.empty() || (!timed_.empty() && timed_.begin()->first < ready_.begin()->first);
  if (sleeps_longer) {
    if (timed_.empty()) fail("a deadlock: no thread can run");
    const auto [deadline, index] = *timed_.begin();
    timed_.erase(timed_.begin());
    thread& late = *threads_[index];
    std::erase(sleepers_[std::exchange(late.sleeps_on, nullptr)], index);
    late.timed_out = true;
    make_ready(index, deadline + costs_.wake_latency);
    return leave_to_the_earliest();
  }
  const unsigned next = ready_.begin()->second;
  ready_.erase(ready_.begin());
  switch_to(next);
}

void machine::switch_to(unsigned next) {
  if (next == current_) return;
  thread& from = me();
  from.exceptions = std::exchange(*exceptions_, threads_[next]->exceptions);
  current_ = next;
  testing::detail::context::switch_between(from.stack, threads_[next]->stack);
}

void machine::let_others_catch_up() {
  const std::int64_t mine = me().clock;
  const bool am_first =
      (ready_.empty() || ready_.begin()->first >= mine) && (timed_.empty() || timed_.begin()->first >= mine);
  if (am_first) return;
  ready_.emplace(mine, current_);
  leave_to_the_earliest();
}

void machine::spend(std::int64_t nanoseconds) {
  me().clock += nanoseconds;
  let_others_catch_up();
}

unsigned machine::start_thread(const char* /*name*/, void (*entry)(void*) noexcept, void* argument) {
  let_others_catch_up();
  return add_thread([entry, argument] { entry(argument); }, me().clock + costs_.thread_start);
}

void machine::join_thread(unsigned index) {
  let_others_catch_up();
  thread& other = *threads_[index];
  if (other.ended) return;
  other.joiners.push_back(current_);
  leave_to_the_earliest();
}

// ---- words -----------------------------------------------------------------------------------------------

void machine::operate(const void* address, use how) {
  let_others_catch_up();
  thread& self = me();
  line& there = lines_[reinterpret_cast<std::uintptr_t>(address) / line_bytes];
  const bool is_mine = there.with.test(current_) && (how == use::read || there.with.count() == 1);
  self.clock += costs_.operation + (how == use::modify ? costs_.modification : 0);
  if (!is_mine) {
    self.clock = std::max(self.clock, there.free_at) + costs_.transfer;
    there.free_at = self.clock;
  }
  if (how != use::read) there.with.reset();
  there.with.set(current_);
  // The operation itself follows before anything else: it happens at the moment when the thread requested the
  // line.
}

// ---- waits -----------------------------------------------------------------------------------------------

void machine::lock(const void* word) {
  operate(word, use::modify);
  held_lock& l = locks_[word];
  if (!std::exchange(l.held, true)) return;
  l.waiters.push_back(current_);
  leave_to_the_earliest();  // the unlocking thread hands the lock over
}

bool machine::try_lock(const void* word) {
  operate(word, use::modify);
  return !std::exchange(locks_[word].held, true);
}

void machine::unlock(const void* word) {
  operate(word, use::modify);
  held_lock& l = locks_[word];
  if (l.waiters.empty()) {
    l.held = false;
    return;
  }
  const unsigned next = l.waiters.front();
  l.waiters.pop_front();
  make_ready(next, me().clock + costs_.transfer);  // critical sections are short: the waiter spins
}

machine::wake_reason machine::futex_wait(const std::uint32_t* word,
                                         std::uint32_t expected,
                                         base::time_point deadline) {
  operate(word, use::read);
  if (*word != expected) return wake_reason::changed;
  thread& self = me();
  self.clock += costs_.sleep;
  self.timed_out = false;
  self.sleeps_on = word;
  sleepers_[word].push_back(current_);
  const std::int64_t until = in_nanoseconds(deadline);
  if (until != no_deadline) timed_.emplace(until, current_);
  leave_to_the_earliest();
  return self.timed_out ? wake_reason::timed_out : wake_reason::woken;
}

int machine::futex_wake(const void* word, int count) {
  spend(costs_.wake);
  const auto found = sleepers_.find(word);
  if (found == sleepers_.end()) return 0;
  int woken = 0;
  while (woken < count && !found->second.empty()) {
    const unsigned index = found->second.front();
    found->second.pop_front();
    threads_[index]->sleeps_on = nullptr;
    std::erase_if(timed_, [index](const auto& each) { return each.second == index; });
    make_ready(index, me().clock + costs_.wake_latency);
    ++woken;
  }
  return woken;
}

}  // namespace rota::simulated
