// The header: a task as seen by everything except its own coroutine.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"
#include "base/tls_slot.hpp"
#include "task/births.hpp"
#include "task/ports.hpp"
#include "task/state.hpp"

#include <rota/detail/activation.hpp>
#include <rota/detail/family.hpp>
#include <rota/detail/locals.hpp>
#include <rota/detail/promise.hpp>
#include <rota/waker.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <utility>

namespace rota::core {

struct header;

/// A hook that is told of a task's cancellation at once, on the cancelling thread.
struct cancel_hook {
  // May be called twice, from two threads: by the canceller, and by set_cancel_hook().
  void (*cancelled)(cancel_hook& self) noexcept;
  void (*destroy)(cancel_hook* self) noexcept;  // called when the task's memory is freed

  // Set by the canceller that is first. A hook may cancel another task: the hook of that task is called after
  // it, not inside of it.
  base::atomic<bool> taken{false};
  cancel_hook* next = nullptr;
  header* of = nullptr;
};

/// A node of the registry's lists. Guarded by the lock of the shard.
struct list_links {
  list_links* list_previous = nullptr;
  list_links* list_next = nullptr;
};

/// A node of the list of a family's children. Guarded by the lock of the family.
struct sibling_links {
  base::cell<sibling_links*> before;
  base::cell<sibling_links*> after;
};

/// A time that its task sets and that any thread may read: a child asks how long its parent's shields hold.
class effective_deadline {
 public:
  [[nodiscard]] base::time_point get() const noexcept {
    // relaxed: only the time itself is read. passed_deadlines.hpp orders the effects of a deadline.
    return base::time_point(base::nanoseconds(ticks_.load(base::order::relaxed)));
  }
  void set(base::time_point at) noexcept {
    // relaxed: same reason as in get().
    ticks_.store(at.time_since_epoch().count(), base::order::relaxed);
  }

 private:
  base::atomic<base::nanoseconds::rep> ticks_{base::never.time_since_epoch().count()};
};

/// What reports call a task: its name, and the place where it was spawned. One word, since few tasks have a
/// name.
///
/// Without a name: the spawn site, as the one pointer that a std::source_location is. With a name: the
/// address of a block from malloc with the lowest bit set. The block has that pointer, followed by the name.
/// The owner writes the word; when the task is in the registry, the owner writes it under the registry's
/// lock, and a report reads it under that lock.
class task_label {
 public:
  /// Returns the block for a name of `length` characters; null if there is no memory. It is not from the
  /// frame allocator, because it lives as long as the name.
  [[nodiscard]] static void* make_block(std::size_t length) noexcept;
  [[nodiscard]] static char* text_of(void* block) noexcept {
    return static_cast<char*>(block) + sizeof(std::uintptr_t);
  }

  /// Sets the spawn site. Called before the task is scheduled.
  void set_site(const void* site) noexcept { word_ = reinterpret_cast<std::uintptr_t>(site); }
  /// Takes the name in `block`, and frees the name before it.
  void set_name(void* block) noexcept;
  /// Frees the name at the task's end.
  void free_name() noexcept;

  /// Returns the name; null if the task has none.
  [[nodiscard]] const char* name() const noexcept { return has_name() ? text_of(block()) : nullptr; }
  /// Returns the spawn site, a std::source_location as its one pointer; null if it is not known.
  [[nodiscard]] const void* site() const noexcept {
    return has_name() ? *static_cast<const void**>(block()) : reinterpret_cast<const void*>(word_);
  }

 private:
  static constexpr std::uintptr_t named = 1;
  [[nodiscard]] bool has_name() const noexcept { return (word_ & named) != 0; }
  [[nodiscard]] void* block() const noexcept { return reinterpret_cast<void*>(word_ & ~named); }

  std::uintptr_t word_ = 0;
};

/// The plain part of a task. Lies in the memory in front of the root's frame; promise.hpp has the picture.
///
/// Access: `activation` and the fields marked "owner": only the thread that runs the task. `join_slot`: the
/// handle's owner until it has registered, then the completer. `next`: the holder of the injector's lock. The
/// atomics: any thread.
struct header : activation, list_links, sibling_links {
  header(scheduler& by, snapshot initial, std::uint64_t new_id) noexcept
      : word(initial), owner(&by), id(new_id) {}
  header(const header&) = delete;
  header& operator=(const header&) = delete;
  ~header() = default;

  state word;
  base::cell<header*> next;  // in the injector
  scheduler* owner;
  waker join_slot;

  // Written by the owner: the task that this one joined last. Reports compare the pointer, and never follow
  // it.
  base::atomic<header*> join_target;
  // Owner. The task that awaits this one, which therefore runs on this thread.
  header* awaited_by = nullptr;

  // The family that receives the task's end; see family.hpp.
  base::atomic<family*> bond;

  const std::uint64_t id;
  std::uint64_t parent_id = 0;
  // The earliest deadline around the place where the task is now. Tasks that this one spawns inherit it, as
  // they inherit `locals`.
  effective_deadline deadline;

  // For reports, which read it while the task runs.
  base::atomic<const char*> waits_for;

  // Set once, by the task itself. A canceller reads it after the word's transition.
  base::atomic<cancel_hook*> hook;

  task_label label;  // of the registry, under its lock

  [[nodiscard]] const result_vtable& result() noexcept {
    // relaxed: the caller got the header from the thread that built it, or later.
    return *tag_of(frame_address()).result.load(base::order::relaxed);
  }
  [[nodiscard]] void* frame_address() noexcept { return frame_of_room(this); }
};

static_assert(sizeof(header) <= header_room, "promise.hpp reserves less than a header needs");
static_assert(alignof(header) <= 16);

/// Returns the header of a task's root frame.
[[nodiscard]] inline header& header_at(promise_base& root) noexcept {
  return *std::launder(static_cast<header*>(root.room()));
}
/// Returns the header; null if that frame has none yet.
[[nodiscard]] inline header* task_made_of(promise_base& root, base::order order) noexcept {
  return tag_of(frame_of_room(root.room())).result.load(order) != nullptr ? &header_at(root) : nullptr;
}

[[nodiscard]] inline header& header_of(activation& task) noexcept { return static_cast<header&>(task); }

/// Builds the header of a task in front of its frame. The header owns the frame from now on. `parent`: the
/// task of which it inherits deadline and locals; null: none.
header& make_header(promise_base& root,
                    scheduler& by,
                    const result_vtable& type,
                    snapshot initial,
                    const header* parent) noexcept;
/// As make_header(), without the result's type: the caller stores that in the tag.
header& make_header_without_type(promise_base& root,
                                 scheduler& by,
                                 snapshot initial,
                                 const header* parent) noexcept;

/// Returns what was not taken out of a task's outcome yet. For callers that may read the outcome.
[[nodiscard]] ending ending_of(header& task) noexcept;

/// Takes the task out of its family. Returns null if it has none, or if another thread did it first.
[[nodiscard]] family* break_bond(header& task) noexcept;

/// Builds the header and hands the task to its scheduler. The caller owns the handle. If the scheduler takes
/// no more tasks, the task is cancelled at once and never runs; its arguments are destroyed.
header& launch(promise_base& root,
               scheduler& by,
               const result_vtable& type,
               std::source_location site) noexcept;

/// Releases the deadline and the locals that the running task has inherited.
void disinherit(header& task) noexcept;

/// Returns the task that runs on this thread, or the task of its blocking section; null if there is none.
[[nodiscard]] header* task_in_sight() noexcept;

/// Returns true if `is(task, of)` is true for the task that runs on this thread, or for a task of a blocking
/// section around it. Each of those goes on only when this thread returns to it.
[[nodiscard]] bool any_task_here(bool (*is)(const header& task, const void* of) noexcept,
                                 const void* of) noexcept;

/// Returns true if `task`, which has not ended, is a closure of a runtime's spawn_blocking: its thread may
/// block.
[[nodiscard]] bool is_closure(const header& task) noexcept;

/// Returns the scheduler of the tasks that this one spawns.
[[nodiscard]] inline scheduler& scheduler_for_children(const header& task) noexcept {
  return task.owner->ops->children(*task.owner);
}

/// Drops one reference. Frees the task if it was the last.
void release(header& task) noexcept;
void free_task(header& task) noexcept;

/// Returns a waker that owns a reference.
[[nodiscard]] waker make_waker(header& task) noexcept;

/// Wakes the task. The caller keeps its reference.
inline void wake(header& task) noexcept {
  if (task.word.wake() == on_wake::submit) task.owner->ops->schedule(task);
}

// PROTOCOL: one cancellation of several tasks
//   A scope, a when_*, a set and a shutdown cancel their tasks one after the other. The bad interleaving:
//     1. T1 and T2 are children of a scope; T2 awaits T1, or receives from a channel that T1 sends into.
//     2. The scope is cancelled. T1 is cancelled, and ends before the canceller has reached T2.
//     3. T2 goes on with the end of T1, although its own cancellation has the same cause and is about to
//        arrive.
//
//   Why it cannot happen: a canceller of several tasks announces the cancellation to each of them, and only
//   then cancels the first one. At step 3 the task has seen an end (leaf::is_discardable) and finds that its
//   cancellation was announced. It does not go on. It suspends until its own cancellation wakes it, and has
//   no effects before. So no task sees an effect before the cancellation was announced to it.
//
//   An announcement is a relaxed store, and is never taken back. The canceller holds the family's lock, or a
//   reference to each task. A shutdown holds the lock of the registry's shard, or is the thread that enrols
//   the task or has taken it out of a queue.
inline void announce_cancel(header& task) noexcept {
  // relaxed: the same thread cancels the first task later, by a read-modify-write of the word of that task.
  task.announced.store(true, base::order::relaxed);
}

/// Requests cancellation of the task. Returns false if the task had ended.
bool cancel(header& task, cancel_reason reason) noexcept;
/// As cancel(), for a shutdown that waits no longer: the shields that are up do not hold it off.
void force_end(header& task) noexcept;

/// Updates `watched` of the running task. Called after its regions or its deadline have changed, or when it
/// has enrolled.
inline void note_watched(header& task) noexcept {
  task.watched =
      task.regions != nullptr || task.deadline.get() != base::never || task.shard == header::not_enrolled;
}

/// Sets the hook of the running task: once, and for good. If a cancellation came before, calls the hook here.
void set_cancel_hook(header& task, cancel_hook& hook) noexcept;

/// Notes that the running task is about to fork on this thread: a cancellation calls the deque of `where`
/// from now on.
void note_forks(header& task, fork_context& where) noexcept;

/// Raises a shield of the running task, or pauses its unwinding under one. Returns false if it has too many.
[[nodiscard]] bool raise_shield(header& task) noexcept;
[[nodiscard]] bool pause_unwind(header& task) noexcept;

/// Stops the shields of a task, if it has any, from holding its cancellation off.
void override_shields(header& task) noexcept;

/// Removes the task from the births. Called for the running task, or for one that ends without having run.
inline void forget_birth(header& task) noexcept {
  if (task.birth != 0) task.owner->births[std::exchange(task.birth, 0U) - 1].clear();
}

/// Enrols the running task: reports find it from now on, and so does a shutdown. Called before the task
/// suspends, and before it raises a shield. A shutdown that has begun, and is not only announced, reaches the
/// task here, and does not override that shield later.
inline void enroll_once(header& task) noexcept {
  if (task.shard != header::not_enrolled) return;
  task.owner->ops->enroll(*task.owner, task);
  forget_birth(task);
  note_watched(task);
}

/// Notes a new task, so that reports find it from now on. Called before it is scheduled.
void note_birth(header& task, std::source_location site) noexcept;

/// Gives the handle up. The later one of this call and the task's end destroys the result.
void drop_handle(header& task) noexcept;

/// Returns the co_await that the task reached last, for reports; line 0 if it reached none.
[[nodiscard]] std::source_location site_of(const header& task) noexcept;
/// Returns true if `where` is a line of one of rota's headers.
[[nodiscard]] bool is_in_library(const std::source_location& where) noexcept;
/// Returns the place where the program spawned it; line 0 if that is not known. For a task in the registry
/// the caller holds the lock of its shard; otherwise the owner calls it.
[[nodiscard]] std::source_location spawn_site_of(const header& task) noexcept;
/// Returns the name, under the same condition; empty if it has none.
[[nodiscard]] inline const char* name_of(const header& task) noexcept {
  const char* const name = task.label.name();
  return name == nullptr ? "" : name;
}
/// Returns its file as reports show it. A header of rota begins with "rota/", without the folder in which it
/// was found. A file of the program stays as the compiler was given it.
[[nodiscard]] const char* file_of(const std::source_location& where) noexcept;

/// Returns the next task id. Threads take ids in blocks.
[[nodiscard]] std::uint64_t next_task_id() noexcept;

/// Returns the task that this thread runs; null outside of a task. Promotes a child that runs in its parent's
/// place.
[[nodiscard]] header* current_task() noexcept;
/// Returns the task that this thread runs, for reports; for a child in place, the task around it.
[[nodiscard]] inline header* task_around() noexcept {
  return static_cast<header*>(base::this_thread_locals().task);
}

/// Returns the fork context of this thread; null if no task can fork here.
[[nodiscard]] inline fork_context* forks_of_thread() noexcept {
  return static_cast<fork_context*>(base::this_thread_locals().forks);
}

}  // namespace rota::core
