// A task with stand-ins for frames, result and queue, around a real state word; the ledger of its life.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

#include <rota/testing/explore.hpp>
#include "base/frame_allocator.hpp"
#include "base/futex.hpp"
#include "model/exploring.hpp"
#include "task/state.hpp"

namespace rota::core {

using model::at_random;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::choose;
using testing::execution;

/// The task: its word is real, its frames are a cell that only the running thread may touch.
struct subject {
  explicit subject(snapshot initial) : word(initial) {}

  state word;
  base::cell<int> frames;         // the running thread's
  base::cell<int> owners;         // 1 while a thread runs it
  base::cell<bool> in_place;      // the running thread is the joiner's, and has held it since it began
  base::cell<int> outcome;        // written before complete; read by the joiner, or destroyed
  base::atomic<unsigned> events;  // the leaf waits for these
  int suspensions_left = 0;
  int yields_left = 0;
};

/// A task, the queue that holds its entry, and the ledger.
class world {
 public:
  explicit world(unsigned more_references, snapshot initial = spawned_word) {
    task_ = ::new (base::allocate_frame(sizeof(subject))) subject(initial);
    if (more_references > 0) task_->word.force_references(more_references);
    // relaxed. The threads have not started.
    entries_.store(initial.has(queued) ? 1 : 0, base::order::relaxed);
  }

  world(const world&) = delete;
  world& operator=(const world&) = delete;
  virtual ~world() = default;

  [[nodiscard]] subject& task() noexcept { return *task_; }

  // --- references and the queue

  void release() {
    if (task_->word.release() == on_release::free) free();
  }
  void enqueue() {
    // acq_rel. A queue hands over what was done before the push; a second entry would show here.
    check(entries_.fetch_add(1, base::order::acq_rel) == 0, "at most one entry");
    base::futex_wake(&entries_, 1);
  }
  /// Waits for the entry and takes it.
  void take_entry() {
    for (;;) {
      // relaxed. A guess; the exchange below decides.
      if (entries_.load(base::order::relaxed) == 0) {
        static_cast<void>(base::futex_wait(entries_, 0, base::never));
        continue;
      }
      std::uint32_t one = 1;
      // acq_rel: pairs with enqueue(). failure: relaxed: another thread was faster.
      if (entries_.compare_exchange_strong(one, 0, base::order::acq_rel, base::order::relaxed)) return;
    }
  }
  /// As take_entry(), if there is one.
  bool try_take_entry() {
    std::uint32_t one = 1;
    // acq_rel. Pairs with enqueue(). failure: relaxed. There is none.
    return entries_.compare_exchange_strong(one, 0, base::order::acq_rel, base::order::relaxed);
  }

  // --- what the threads do

  void wake_by_ref() {
    if (task_->word.wake() == on_wake::submit) enqueue();
  }
  void wake_consuming() {
    wake_by_ref();
    release();
  }
  on_cancel cancel() {
    const on_cancel done = task_->word.cancel();
    if (done == on_cancel::submit) enqueue();
    return done;
  }
  void force_end() {
    if (task_->word.force_end() == on_cancel::submit) enqueue();
  }
  void override_shields() {
    if (task_->word.override_shield() == on_wake::submit) enqueue();
  }

  void run_entry() {
    take_entry();
    pop();
  }
  void pop() {
    switch (task_->word.pop()) {
      case on_pop::run: return run();
      case on_pop::free: return free();
      case on_pop::nothing: return;
    }
  }
  /// What overflow does: drops entries of tasks that are not scheduled, moves the others.
  void move_entry() {
    if (!try_take_entry()) return;
    switch (task_->word.drop_entry()) {
      case on_drop_entry::keep: return enqueue();
      case on_drop_entry::free: return free();
      case on_drop_entry::dropped: return;
    }
  }
  /// `in_place`: like a task that awaits it; else like a thread that blocks for it.
  bool claim(bool in_place) {
    if (task_->word.claim() == on_claim::refused) return false;
    task_->in_place.set(in_place);
    run();
    return true;
  }

  /// One check of the leaf, and what follows. The task ends when both events have come, or as cancelled.
  virtual void run() {
    subject& t = *task_;
    take_over();
    if (t.word.load().cancel_due()) return finish(true);
    // acquire. Pairs with happen().
    if (t.events.load(base::order::acquire) == events_awaited) return finish(false);
    if (t.yields_left > 0 && choose(2) == 1) {
      --t.yields_left;
      return suspend(&state::yield);
    }
    suspend(&state::suspend);
  }

  void take_over() {
    check(task_->owners.get() == 0, "one running owner at a time");
    task_->owners.set(1);
    task_->frames.set(task_->frames.get() + 1);
  }

  /// The leaf's event. Then the wake.
  void happen() {
    // release. Pairs with the acquire in run(): as a primitive's lock would order it.
    task_->events.fetch_add(1, base::order::release);
  }

  /// Claims, or waits until the completer wakes; then drops the handle.
  void join() {
    const bool ran = claim(true);
    if (!ran || !task_->word.load().is(lifecycle::complete)) wait_for_end();
    check(task_->word.load().is(lifecycle::complete), "a joiner returns after the end");
    check(task_->outcome.get() == 1, "and sees the outcome");
    drop_handle();
  }
  void wait_for_wake() {
    // acquire. Pairs with finish().
    while (joined_.load(base::order::acquire) == 0)
      static_cast<void>(base::futex_wait(joined_, 0, base::never));
  }
  void drop_handle() {
    if (!task_->word.is_last_reference() && task_->word.drop_handle() == on_drop_handle::nothing) return;
    destroy_outcome();
    release();
  }

  // --- afterwards

  void check_end() {
    check(freed_ == 1, "freed once");
    check(finishes_ == 1, "completed once");
    check(outcomes_destroyed_ == 1, "the outcome is destroyed once");
    // relaxed. The threads have ended.
    check(entries_.load(base::order::relaxed) == 0, "no entry is left");
  }
  [[nodiscard]] bool ended_cancelled() const { return ended_cancelled_; }
  void expect_events(unsigned count) { events_awaited = count; }

  void suspend(on_suspend (state::*how)() noexcept) {
    task_->owners.set(0);
    task_->in_place.set(false);
    // No access to the task is allowed after `parked`.
    if ((task_->word.*how)() == on_suspend::resubmit) enqueue();
  }

  void finish(bool cancelled) {
    subject& t = *task_;
    t.owners.set(0);
    t.outcome.set(1);
    ended_cancelled_ = cancelled;
    ++finishes_;
    const bool in_place = t.in_place.get() && !t.word.load().has(join_interest);
    const on_finish duty = in_place ? t.word.finish_in_place() : t.word.finish();
    if (duty.wake_joiner) {
      // release. Pairs with wait_for_end().
      joined_.store(1, base::order::release);
      base::futex_wake(&joined_, 1);
    }
    if (duty.destroy_result) destroy_outcome();
    if (!in_place) release();
  }

 private:
  void wait_for_end() {
    if (task_->word.join_register() == on_register::registered) wait_for_wake();
  }

  void destroy_outcome() {
    check(task_->outcome.get() == 1, "only a published outcome is destroyed");
    task_->outcome.set(2);
    ++outcomes_destroyed_;
  }

  void free() {
    ++freed_;
    task_->~subject();
    base::free_frame(task_, sizeof(subject));
  }

  subject* task_;
  base::atomic<std::uint32_t> entries_{0};
  base::atomic<std::uint32_t> joined_{0};
  unsigned events_awaited = 2;
  bool ended_cancelled_ = false;
  int finishes_ = 0;
  int outcomes_destroyed_ = 0;
  int freed_ = 0;
};

}  // namespace rota::core
