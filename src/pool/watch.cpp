// The watch of a source: begin, stop and wait.
#include "pool/watch.hpp"

#include "pool/absence.hpp"
#include "pool/demand.hpp"

#include <rota/detail/deadline.hpp>
#include <rota/error.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace rota::pool {

namespace detail {

namespace {

/// Counts a waiting thread as long as this object exists.
class counted_waiter {
 public:
  counted_waiter(base::mutex& lock, unsigned& count) noexcept : lock_(lock), count_(count) {
    const base::lock_guard guard(lock_);
    ++count_;
  }
  counted_waiter(const counted_waiter&) = delete;
  counted_waiter& operator=(const counted_waiter&) = delete;
  ~counted_waiter() {
    const base::lock_guard guard(lock_);
    --count_;
  }

 private:
  base::mutex& lock_;
  unsigned& count_;
};

}  // namespace

watch_body::~watch_body() = default;
void watch_body::run(source_node& /*item*/) { ROTA_FATAL("the body of a watch gives a task", 0); }
task<void> watch_body::begin(source_node& /*item*/) { ROTA_FATAL("the body of a watch gives no task", 0); }

// ---- from the first item to the last ----------------------------------------------------------------------

watch_core::watch_core(pool_core& pool, source_core& from, watch_body& body, const watch_options& options)
    : options_(options),
      pool_(pool),
      from_(from),
      group_(options.works.group.empty() ? nullptr : &pool.circles.at(options.works.group)),
      holder_(pool.draw_holder("watch_source")),
      body_(&body) {
  flight_.previous = flight_.next_flying = &flight_;
  from.retain();
}

watch_core::~watch_core() {
  delete body_;
  from_.release();
  pool_.drop(holder_);
}

bool watch_core::is_own_process() const noexcept { return pool_.is_own_process(); }

void watch_core::release() noexcept {
  // acq_rel: this owner's last use happens before the deletion. The last uses of all other owners happen
  // before it, too.
  if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
}

void watch_core::begin() {
  demand(options_.works.name.empty() && !options_.works.id && options_.works.after.empty(),
         "watch_options::works: `name`, `id` and `after` are of one work, and must be empty");
  pool_core::check(options_.works, true);
  pool_.enlist(*this);
  const bool is_first = attach();
  if (!is_first) pool_.strike_off(*this);
  demand(is_first, "watch_source: the source is watched already");
  for (unsigned left = most(); left != 0; --left) {
    source_node* const item = take();
    if (item == nullptr || !start(*item)) return;
  }
}

/// Makes this the watch of the source. Returns false if the source has another watch. If there is an item to
/// take, this watch is counted as busy before; see V6.
bool watch_core::attach() noexcept {
  busy_hold counted;
  for (;;) {
    {
      const base::lock_guard guard(from_.lock);
      if (from_.watched_by != nullptr) return false;
      // The pool may have ended meanwhile.
      if (asked_ != request::none) return true;
      if (from_.waiting.size() == 0 || counted.is_of(this)) {
        from_.watched_by = this;
        retain();
        if (from_.waiting.size() != 0) counted.hand_over();
        return true;
      }
      retain();
    }
    counted.take(*this);
  }
}

bool watch_core::hold() noexcept {
  if (!pool_.hold_open()) return false;
  if (group_ != nullptr) pool_.circles.hold(*group_);
  return true;
}

void watch_core::let_go() noexcept {
  if (group_ != nullptr) pool_.circles.let_go(*group_);
  pool_.let_go_of_hold();
}

/// Under the lock. Returns true if this was the watch of the source: then the source's reference belongs to
/// the caller, and the pool still has the watch in its list.
bool watch_core::detach() noexcept {
  if (from_.watched_by != this) return false;
  from_.watched_by = nullptr;
  return true;
}

void watch_core::ask(request how) noexcept {
  bool was_watching = false;
  duty then;
  {
    const base::lock_guard guard(from_.lock);
    if (asked_ < how) asked_ = how;
    was_watching = detach();
    then = look();
  }
  pool_.strike_off(*this);
  keeper::cancel(later_);
  if (how != request::pool_has_ended) visit(how);
  carry_out(then);
  if (was_watching) release();
}

/// Applies a request to all works in the list, also to works that enter the list meanwhile.
void watch_core::visit(request how) noexcept {
  flight_node place;
  {
    const base::lock_guard guard(from_.lock);
    link_behind(flight_, place);
  }
  while (work_core* const w = next_work(place)) {
    apply(*w, how);
    pool_.drop(*w);
  }
}

/// Returns the next work behind `place`, with a reference, and moves `place` behind it. At the end of the
/// list, removes `place` and returns null.
work_core* watch_core::next_work(flight_node& place) noexcept {
  const base::lock_guard guard(from_.lock);
  flight_node* at = place.next_flying;
  unlink(place);
  for (; at != &flight_; at = at->next_flying) {
    work_core* const w = at->is_item ? static_cast<source_node*>(at)->work : nullptr;
    if (w == nullptr) continue;
    link_behind(*at, place);
    w->retain();
    return w;
  }
  return nullptr;
}

void watch_core::apply(work_core& w, request how) noexcept {
  switch (how) {
    case request::none:
    case request::pool_has_ended: return;
    case request::stop: static_cast<void>(pool_.cancel(w, 0)); return;
    case request::stop_running: static_cast<void>(pool_.stop(w, 0)); return;
    case request::force: static_cast<void>(pool_.stop(w, force_asked)); return;
  }
}

// ---- waiting ----------------------------------------------------------------------------------------------

void watch_core::call_waiters() noexcept {
  // release: pairs with the acquire in until_quiet(). A thread that reads the new count then sees what was
  // changed.
  quiet_.fetch_add(1, base::order::release);
  base::futex_wake(&quiet_, 1 << 20);
}

/// Adds a watch to the pool's list, for the pool's end.
void pool_core::enlist(watch_core& one) {
  demand_own_process("watch_source");
  const base::lock_guard guard(lock_);
  // relaxed: the thread that ends the pool reads the list under the lock afterwards.
  if (closing_.load(base::order::relaxed)) throw error(errc::shut_down, "watch_source");
  one.next_of_pool = watches_;
  if (watches_ != nullptr) watches_->previous_of_pool = &one;
  watches_ = &one;
  one.is_enlisted = true;
}

/// Removes a watch from the pool's list. It may have been removed before.
void pool_core::strike_off(watch_core& one) noexcept {
  const base::lock_guard guard(lock_);
  if (!std::exchange(one.is_enlisted, false)) return;
  (one.previous_of_pool == nullptr ? watches_ : one.previous_of_pool->next_of_pool) = one.next_of_pool;
  if (one.next_of_pool != nullptr) one.next_of_pool->previous_of_pool = one.previous_of_pool;
}

bool watch_core::runs_here() const noexcept {
  const work_core* const me = work_here();
  return me != nullptr && me->extras != nullptr && me->extras->item != nullptr &&
         me->extras->item->watched_by == this;
}

bool watch_core::wait(base::time_point deadline) {
  pool_.demand_own_process("watch::wait");
  if (runs_here()) throw error(errc::would_deadlock, "a work waits for the watch that it belongs to");
  const blocked_on said(quiet_);
  return until_quiet(deadline, &said);
}

void watch_core::wait_out() noexcept {
  if (runs_here()) ROTA_FATAL("a watch ends inside of one of its own works", work_here()->id);
  static_cast<void>(until_quiet(base::never, nullptr));
}

void watch_core::end_body() noexcept {
  watch_body* unused = nullptr;
  {
    const base::lock_guard guard(from_.lock);
    if (left_behind_ == 0) unused = std::exchange(body_, nullptr);
  }
  delete unused;
}

/// `said`: for a work, so that a force stop ends this wait.
bool watch_core::until_quiet(base::time_point deadline, const blocked_on* said) {
  const counted_waiter mine(from_.lock, waiters_);
  std::optional<absence> away;
  for (;;) {
    // acquire: read before the check; pairs with the release in call_waiters().
    const std::uint32_t seen = quiet_.load(base::order::acquire);
    {
      const base::lock_guard guard(from_.lock);
      if (is_quiet()) return true;
    }
    if (said != nullptr) said->demand_no_force();
    if (!away.has_value()) {
      away.emplace();
      continue;  // emplace() may have taken a while
    }
    const base::time_point until = pool_.sleep_until(deadline);
    if (base::futex_wait(quiet_, seen, until) == base::wait_result::timed_out && until == deadline) {
      const base::lock_guard guard(from_.lock);
      return is_quiet();
    }
  }
}

bool watch_core::is_watching() noexcept {
  const base::lock_guard guard(from_.lock);
  return asked_ == request::none;
}

watch_stats watch_core::count() noexcept {
  const base::lock_guard guard(from_.lock);
  watch_stats now = totals_;
  now.in_works = in_works_;
  return now;
}

}  // namespace detail

watch::watch(thread_pool& pool,
             detail::source_core& from,
             detail::watch_body* body,
             const watch_options& options) {
  std::unique_ptr<detail::watch_body> owned(body);
  // Before the name of a group is looked up under a lock.
  pool.core_->demand_own_process("watch_source");
  core_ = new detail::watch_core(*pool.core_, from, *body, options);
  static_cast<void>(owned.release());
  try {
    core_->begin();
  } catch (...) {
    core_->release();
    throw;
  }
}

watch::~watch() {
  if (core_ == nullptr || !core_->is_own_process()) return;
  core_->ask(detail::watch_core::request::stop);
  core_->wait_out();
  core_->end_body();
  core_->release();
}

void watch::stop() const noexcept {
  if (core_ != nullptr) core_->ask(detail::watch_core::request::stop);
}
void watch::stop_running() const noexcept {
  if (core_ != nullptr) core_->ask(detail::watch_core::request::stop_running);
}
void watch::force_stop() const noexcept {
  if (core_ != nullptr) core_->ask(detail::watch_core::request::force);
}
bool watch::is_watching() const noexcept { return core_ != nullptr && core_->is_watching(); }
bool watch::wait_within(std::chrono::nanoseconds limit) const {
  return core_ == nullptr || core_->wait(rota::detail::saturating_deadline(base::now(), limit));
}
watch_stats watch::stats() const noexcept { return core_ == nullptr ? watch_stats{} : core_->count(); }

}  // namespace rota::pool
