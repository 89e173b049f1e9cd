// The consequences of the end of a job.
#include "base/tls_slot.hpp"
#include "pool/coroutine_part.hpp"
#include "pool/pool_core.hpp"
#include "pool/watch.hpp"
#include "task/unhandled.hpp"
#include "task/unreported.hpp"

#include <rota/error.hpp>
#include <rota/pool/errors.hpp>
#include <rota/pool/this_work.hpp>

#include <exception>
#include <string>
#include <utility>

namespace rota::pool {

namespace {

std::string why_it_did_not_run(work_id root, const std::string& root_text) {
  const std::string known = root_text.empty() ? "work " + std::to_string(root.value) : root_text;
  return "a work that it comes after did not end well (" + known + ")";
}

}  // namespace

dependency_failed::dependency_failed(work_id root) : dependency_failed(root, std::string()) {}
dependency_failed::dependency_failed(work_id root, const std::string& root_text)
    : error(errc::cancelled, why_it_did_not_run(root, root_text).c_str()), root_(root) {}
dependency_failed::~dependency_failed() = default;
cycle_error::~cycle_error() = default;

namespace detail {

struct end_access {
  static void refer(work_end& end, work_core& w) noexcept { end.work_ = &w; }
};

work_end pool_core::end_of(work_core& w, work_status how) const noexcept {
  work_end end;
  end_access::refer(end, w);
  end.id = {w.id};
  end.status = how;
  if (how != work_status::succeeded && how != work_status::failed) end.reason = reason_of(w);
  if (how == work_status::failed) end.exception = w.type->exception(w.body);
  if (may_be_in_groups(w)) end.group = w.pool->circles.name_of(w);
  if (const work_extras* const e = w.extras; e != nullptr) {
    end.name = e->name;
    end.ended = base::now();
    if (how == work_status::abandoned) return end;  // the runner writes the other fields
    end.attempt = e->attempt;
    end.queued = w.queued_at;
    end.started = w.began_at;
    end.run_time = e->run_time;
  }
  return end;
}

/// Reports an attempt that is not the last.
void pool_core::tell_of_attempt(work_core& w) noexcept {
  work_end end = end_of(w, work_status::failed);
  end.will_retry = true;
  events.tell(error_from::work_ended, end.id, [&](observer& each) { each.work_ended(end); });
  events.report(error_from::work, end.id, end.exception);
  call_back(w, end);
}

/// Returns true if there is a callback.
bool pool_core::call_back(work_core& w, const work_end& end) noexcept {
  const bool own = w.extras != nullptr && w.extras->options.callback;
  if (!own && !options.default_callback) return false;
  const foreign_call around;
  try {
    (own ? w.extras->options.callback : options.default_callback)(end);
  } catch (...) {
    events.report(
        own ? error_from::callback : error_from::default_callback, end.id, std::current_exception());
  }
  return true;
}

/// Returns true if an observer or a callback was told of a failure.
bool pool_core::tell(work_core& w, work_status how) noexcept {
  if (!events.any() && !options.default_callback && (w.extras == nullptr || !w.extras->options.callback))
    return false;
  const work_end end = end_of(w, how);
  switch (how) {
    case work_status::succeeded:
    case work_status::failed:
      events.tell(error_from::work_ended, end.id, [&](observer& each) { each.work_ended(end); });
      break;
    case work_status::stopped:
    case work_status::force_stopped:
      events.tell(error_from::work_stopped, end.id, [&](observer& each) { each.work_stopped(end); });
      break;
    case work_status::cancelled:
      events.tell(error_from::work_cancelled, end.id, [&](observer& each) { each.work_cancelled(end); });
      break;
    case work_status::discarded:
      events.tell(error_from::work_discarded, end.id, [&](observer& each) { each.work_discarded(end); });
      break;
    case work_status::abandoned:
      events.tell(error_from::work_abandoned, end.id, [&](observer& each) { each.work_abandoned(end); });
      break;
    default: break;
  }
  const bool told = how == work_status::failed && events.report(error_from::work, end.id, end.exception);
  return call_back(w, end) || told;
}

/// Returns false for a job that failed because a predecessor failed: only that predecessor is reported.
bool pool_core::is_failure_of_its_own(const work_core& w, work_status how) noexcept {
  // relaxed: written before the job's word became final.
  return how == work_status::failed &&
         (w.extras == nullptr || w.extras->failed_after.load(base::order::relaxed) == 0);
}

/// Returns true if the inherited deadline has ended the attempts of the job. Also returns true if the pool is
/// ending and the job failed with a cancellation.
bool pool_core::is_cut_off(const work_core& w) const noexcept {
  if (w.extras != nullptr && w.extras->was_cut_off) return true;
  // relaxed: a hint: what the pool's end cancels may be awaited by a job that has not been cancelled yet.
  return closing_.load(base::order::relaxed) && core::is_cancellation(w.type->exception(w.body));
}

void pool_core::finish(work_core& w) noexcept {
  work_core* failed = nullptr;
  finish_one(w, failed);
  finish_failed(failed);
}

/// Ends the jobs of the list one after the other, without recursion, however long the chain is.
void pool_core::finish_failed(work_core* failed) noexcept {
  while (failed != nullptr) {
    work_core& w = *failed;
    failed = w.link;
    // relaxed: set before the job was claimed to fail.
    const work_id root{w.extras->failed_after.load(base::order::relaxed)};
    w.type->set_exception(w.body, failed_because_of(root));
    word seen{};
    static_cast<void>(w.apply<rule::end>(seen, work_status::failed));
    finish_one(w, failed);
    drop(w);
  }
}

/// Destroys the function. If the job did not succeed, the program has not forgotten a task that the function
/// holds: no report is made of it.
void pool_core::drop_function(work_core& w, work_status how) noexcept {
  if (how == work_status::succeeded) return w.type->destroy_function(w.body);
  const core::unreported dropped;
  w.type->destroy_function(w.body);
}

/// Jobs that end because this one did not end well are put in front of the list `failed`.
void pool_core::finish_one(work_core& w, work_core*& failed) noexcept {
  const word how = w.load();
  const work_status status = how.status();
  work_extras* const e = w.extras;
  if (e != nullptr) {
    keeper::cancel(e->timeout);
    keeper::cancel(e->backoff);
  }
  if (w.coroutine != nullptr) keeper::cancel(w.coroutine->limit);
  if (status != work_status::abandoned && !w.function_gone) drop_function(w, status);
  const bool told = tell(w, status);
  w.has_untold_failure = !told && is_failure_of_its_own(w, status) && !is_cut_off(w);
  count_one(ends_as(status));
  if (!how.has(begun)) count_one(total::unbegun);
  if (status != work_status::succeeded) remember(w, status);
  if (e != nullptr) {
    leave_names(w);
    give_place_on(w);
    // relaxed: see count_long().
    if (e->thread_more.exchange(work_extras::extra::over, base::order::relaxed) ==
        work_extras::extra::counted)
      threads.remove_extra();
  }
  // The watch starts the next item before this job leaves. A waiter for the group, or for the pool, also
  // waits for the watch while it has items.
  if (e != nullptr && e->item != nullptr) {
    // The item is tried again: this was not its last attempt.
    if (watch_core::hear_of_end(*e->item, how) == watch_core::item_end::comes_back)
      w.has_untold_failure = false;
  }
  if (e != nullptr && e->group != nullptr) circles.leave(*e->group, w);
  // acq_rel: a paused job counts while it may be resumed.
  if (how.has(held)) pauses_.fetch_sub(1, base::order::acq_rel);
  announce(w, how, failed);
  count_out();
}

/// Sets `over`, and wakes the waiters.
void pool_core::announce(work_core& w, word how, work_core*& failed) noexcept {
  word seen{};
  static_cast<void>(w.apply<rule::say_over>(seen));
  if (seen.has(force_asked)) disarm_grace(w);
  if (seen.has(slept_on)) base::futex_wake_upper(&w.state, 1 << 20);
  if (seen.has(listed)) release_waiting(w, how, failed);
}

namespace {

/// Reverses the list, so that waiters are woken in the order in which they came. No waiter is added any more.
void reverse_waiting(work_core& w) noexcept {
  const base::lock_guard guard(w.lock);
  waiting_node* back = nullptr;
  while (w.waiting != nullptr) {
    waiting_node* const next = std::exchange(w.waiting->next, back);
    back = std::exchange(w.waiting, next);
  }
  w.waiting = back;
}

}  // namespace

void pool_core::release_waiting(work_core& w, word how, work_core*& failed) noexcept {
  const std::uint64_t root = root_of_failure(w);
  reverse_waiting(w);
  for (;;) {
    waker wake;
    work_core* successor = nullptr;
    {
      // Each node is taken out under the lock, and not touched after it: the task may leave meanwhile and
      // destroy its node.
      const base::lock_guard guard(w.lock);
      waiting_node* const node = w.waiting;
      if (node == nullptr) return;
      w.waiting = node->next;
      node->is_in = false;
      wake = std::move(node->wake);
      successor = node->successor;
    }
    wake.wake();
    if (successor != nullptr) resolve(*successor, root, how, failed);
  }
}

std::uint64_t pool_core::root_of_failure(const work_core& w) noexcept {
  // relaxed: written before the job's word became final.
  const std::uint64_t before = w.extras == nullptr ? 0 : w.extras->failed_after.load(base::order::relaxed);
  return before == 0 ? w.id : before;
}

/// Called when a predecessor of `w` has ended. `root`: the predecessor, or the job because of which it
/// failed. Takes the edge's reference.
void pool_core::resolve(work_core& w, std::uint64_t root, word how, work_core*& failed) noexcept {
  work_extras& e = *w.extras;
  const bool was_stopped = how.is(work_status::stopped) || how.is(work_status::force_stopped);
  const bool well =
      how.is(work_status::succeeded) || (was_stopped && e.options.if_stopped == stopped_counts::as_success);
  if (!well) {
    std::uint64_t none = 0;
    // relaxed: published by the claim below, which one of the failed predecessors wins. failure: relaxed:
    // another one was first.
    static_cast<void>(
        e.failed_after.compare_exchange_strong(none, root, base::order::relaxed, base::order::relaxed));
    word seen{};
    if (w.apply<rule::claim_to_fail>(seen)) {
      w.retain();
      w.link = failed;
      failed = &w;
    }
  }
  // acq_rel: the last predecessor sees what all others did.
  if (e.missing.fetch_sub(1, base::order::acq_rel) == 1) {
    // relaxed: ordered by the count.
    if (e.failed_after.load(base::order::relaxed) == 0) {
      place(w);
    } else {
      drop(w);
    }
  }
  drop(w);
}

/// Gives the job's place in its group to parked jobs. The job is over, or leaves for another attempt. A job
/// that was taken back while it was parked had no place.
void pool_core::give_place_on(work_core& w) noexcept {
  if (w.extras == nullptr || w.extras->group == nullptr) return;
  group_core& g = *w.extras->group;
  if (circles.yield(g, w)) drop(w);
  while (work_core* const next = circles.next_parked(g)) place(*next);
}

// ---- records ----------------------------------------------------------------------------------------------

std::uint64_t pool_core::sum(total what) noexcept {
  const auto place = static_cast<std::size_t>(what);
  // relaxed: a sum for a report.
  std::uint64_t all = outside_[place].load(base::order::relaxed);
  const base::lock_guard guard(lock_);
  for (const desk* each = desks_; each != nullptr; each = each->next_made) all += each->sums[place].read();
  return all;
}

/// Records the end for successors that come when the job's slot is used again. Called before the job is over:
/// no other thread fetches its exception yet.
void pool_core::remember(work_core& w, work_status how) noexcept {
  const std::uint64_t root = root_of_failure(w);
  if (how == work_status::failed) list_failure(w, root);
  failure_parts parts = root == w.id ? parts_of_failure(w, how) : failure_parts();
  const base::lock_guard guard(lock_);
  failures_.note(w.id, {.how = how, .root = root});
  if (root == w.id) texts_.note(root, std::move(parts));
}

/// Lists the failure. Without memory it is not listed.
void pool_core::list_failure(work_core& w, std::uint64_t root) noexcept {
  try {
    failed_work one = note_of_failure(w, root);
    const base::lock_guard guard(lock_);
    failed_.add(std::move(one));
  } catch (...) {
    return;
  }
}

/// Returns the exception of a job that did not run. The root was recorded before its successors learn of its
/// end.
std::exception_ptr pool_core::failed_because_of(work_id root) noexcept {
  try {
    std::string text;
    {
      const base::lock_guard guard(lock_);
      text = texts_.find(root.value);
    }
    return std::make_exception_ptr(dependency_failed(root, text));
  } catch (...) {
    return std::current_exception();  // std::bad_alloc
  }
}

/// Called when nothing is outstanding. `before`: the former count, with its bits.
void pool_core::note_idle(std::uint64_t before) noexcept {
  note_lifecycle(ended_batches_);
  if ((before & waited_bit) != 0) wake_idle_waiters();
}

void pool_core::wake_idle_waiters() noexcept {
  // acq_rel: before the epoch is raised. A waiter of which the bit is cleared here has read the epoch before
  // that raise, so its futex wait returns, and it checks again. A bit that is set later stays.
  outstanding_.fetch_and(~waited_bit, base::order::acq_rel);
  // release: pairs with the acquire load in until_idle().
  idle_epoch_.fetch_add(1, base::order::release);
  base::futex_wake(&idle_epoch_, 1 << 20);
  wake_idle_tasks();
}

// ---- memory -----------------------------------------------------------------------------------------------

/// Drops a reference. After the last one the slot is used again.
void pool_core::drop(work_core& w) noexcept {
  if (w.drop_reference()) recycle(w);
}

/// Reports an exception of a detached task.
void pool_core::note_lost(const unhandled_exception& about, const std::exception_ptr& thrown) noexcept {
  // relaxed: a hint: what the pool's end cancels may be awaited by a job that has not been cancelled yet.
  if (closing_.load(base::order::relaxed) && core::is_cancellation(thrown)) return;
  lost.give(about, thrown);
}

/// Reports the exception of a failed job of which the result is destroyed: no thread can fetch it any more.
void pool_core::report_unseen(work_core& w) noexcept {
  if (w.load().has(fetched)) return;
  lost.give({.id = {},
             .name = w.extras == nullptr ? std::string_view() : std::string_view(w.extras->name),
             .what = "",
             .file = nullptr,
             .line = 0,
             .from = unhandled_from::pool_job,
             .number = w.id},
            w.type->exception(w.body));
}

void pool_core::recycle(work_core& w) noexcept {
  if (w.body != nullptr) {
    if (w.has_untold_failure) [[unlikely]]
      report_unseen(w);
    if (!w.body_gone) w.type->destroy_result(w.body);
    if (w.body != w.room) base::free_frame(w.body, w.type->bytes);
    w.body = nullptr;
    w.type = nullptr;
  }
  w.body_gone = false;
  w.function_gone = false;
  w.has_untold_failure = false;
  w.priority = 0;
  delete std::exchange(w.extras, nullptr);
  if (w.coroutine != nullptr) end_coroutine(std::exchange(w.coroutine, nullptr));
  if (w.hook != nullptr) w.hook->destroy(std::exchange(w.hook, nullptr));
  // relaxed: no reference is left.
  if (word{w.state.load(base::order::relaxed)}.has(listed)) groups::forget_memberships(w);
  desk* const own = own_desk();
  // The last access: with the last slot of a pool that has ended the pool's memory is freed.
  if (memory.put(w, own == nullptr ? nullptr : &own->stock)) delete this;
}

}  // namespace detail

}  // namespace rota::pool
