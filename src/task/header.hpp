// What a task is to everybody but its own coroutine.
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

/// Somebody who must hear of a task's cancellation at once, on the thread that asks for it.
struct cancel_hook {
  // Possibly twice, from two threads: by who cancels, and by set_cancel_hook().
  void (*cancelled)(cancel_hook& self) noexcept;
  void (*destroy)(cancel_hook* self) noexcept;  // with the task's memory

  // Of who cancels first. A hook may cancel another task, whose hook comes after it and not inside of it.
  base::atomic<bool> taken{false};
  cancel_hook* next = nullptr;
  header* of = nullptr;
};

/// A place in the registry's lists. Guarded by the lock of the shard.
struct list_links {
  list_links* list_previous = nullptr;
  list_links* list_next = nullptr;
};

/// A place in the list of a family's children. Guarded by the lock of the family.
struct sibling_links {
  base::cell<sibling_links*> before;
  base::cell<sibling_links*> after;
};

/// A time that its task sets, and any thread may read: a child asks until when its parent's shields hold.
class effective_deadline {
 public:
  [[nodiscard]] base::time_point get() const noexcept {
    // relaxed. A time alone; what a deadline has caused is ordered by passed_deadlines.hpp.
    return base::time_point(base::nanoseconds(ticks_.load(base::order::relaxed)));
  }
  void set(base::time_point at) noexcept {
    // relaxed. As above.
    ticks_.store(at.time_since_epoch().count(), base::order::relaxed);
  }

 private:
  base::atomic<base::nanoseconds::rep> ticks_{base::never.time_since_epoch().count()};
};

/// What reports call a task: its name, and the place where it was spawned. One word, since few tasks have a name.
///
/// Without a name: the spawn site, as the one pointer that a std::source_location is. With one: the address of a block from malloc with
/// the lowest bit set; the block has that pointer, and behind it the name. The owner writes it, once the task is in the registry
/// under its lock; so does a report read it.
class task_label {
 public:
  /// The block for a name of `length` characters; null: no memory. Not from the frame allocator: it lives as long as the name.
  [[nodiscard]] static void* make_block(std::size_t length) noexcept;
  [[nodiscard]] static char* text_of(void* block) noexcept {
    return static_cast<char*>(block) + sizeof(std::uintptr_t);
  }

  /// Before the task is scheduled.
  void set_site(const void* site) noexcept { word_ = reinterpret_cast<std::uintptr_t>(site); }
  /// Takes the name in `block`; frees the one before.
  void set_name(void* block) noexcept;
  /// At the task's end.
  void free_name() noexcept;

  /// Null: the task has no name.
  [[nodiscard]] const char* name() const noexcept { return has_name() ? text_of(block()) : nullptr; }
  /// A std::source_location, as its one pointer; null: not known.
  [[nodiscard]] const void* site() const noexcept {
    return has_name() ? *static_cast<const void**>(block()) : reinterpret_cast<const void*>(word_);
  }

 private:
  static constexpr std::uintptr_t named = 1;
  [[nodiscard]] bool has_name() const noexcept { return (word_ & named) != 0; }
  [[nodiscard]] void* block() const noexcept { return reinterpret_cast<void*>(word_ & ~named); }

  std::uintptr_t word_ = 0;
};

/// Lies in the room in front of the root's frame; see promise.hpp for the picture.
///
/// Who touches what: `activation` and everything marked "owner": the thread that runs the task. `join_slot`: the handle's
/// owner until it registered, then the completer. `next`: whoever holds the injector's lock. The atomics: anybody.
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

  // Written by the owner: the task that this one joined last. Reports compare it, and never look at what it points to.
  base::atomic<header*> join_target;
  // Owner. The task that awaits this one, which therefore runs here.
  header* awaited_by = nullptr;

  // Who must hear of the end; see family.hpp.
  base::atomic<family*> bond;

  const std::uint64_t id;
  std::uint64_t parent_id = 0;
  // The earliest that holds around the place where the task is now. Inherited by the tasks that this one spawns, as `locals` is.
  effective_deadline deadline;

  // For reports, read while the task runs.
  base::atomic<const char*> waits_for;

  // Set once, by the task itself; whoever cancels looks at it after the word's transition.
  base::atomic<cancel_hook*> hook;

  task_label label;  // the registry's, under its lock

  [[nodiscard]] const result_vtable& result() noexcept {
    // relaxed. Who has the header has it from whoever built it, or later.
    return *tag_of(frame_address()).result.load(base::order::relaxed);
  }
  [[nodiscard]] void* frame_address() noexcept { return frame_of_room(this); }
};

static_assert(sizeof(header) <= header_room, "promise.hpp reserves less than a header needs");
static_assert(alignof(header) <= 16);

/// Of a task's root frame.
[[nodiscard]] inline header& header_at(promise_base& root) noexcept {
  return *std::launder(static_cast<header*>(root.room()));
}
/// Null: that frame has no header yet.
[[nodiscard]] inline header* task_made_of(promise_base& root, base::order order) noexcept {
  return tag_of(frame_of_room(root.room())).result.load(order) != nullptr ? &header_at(root) : nullptr;
}

[[nodiscard]] inline header& header_of(activation& task) noexcept { return static_cast<header&>(task); }

/// Builds the header of a task in front of its frame. The frame is the header's from now on.
/// `parent`: whose deadline and locals it inherits; null: nobody's.
header& make_header(promise_base& root,
                    scheduler& by,
                    const result_vtable& type,
                    snapshot initial,
                    const header* parent) noexcept;
/// The same without the result's type: the caller stores that in the tag.
header& make_header_without_type(promise_base& root,
                                 scheduler& by,
                                 snapshot initial,
                                 const header* parent) noexcept;

/// What nobody has taken out of the outcome of a task yet. For whoever may look at the outcome.
[[nodiscard]] ending ending_of(header& task) noexcept;

/// Takes the task out of its family; null: it has none, or somebody else did.
[[nodiscard]] family* break_bond(header& task) noexcept;

/// Builds the header and hands the task to its scheduler: the caller holds the handle. A scheduler that takes no more
/// tasks gets none: it is cancelled at once, its arguments are destroyed, and it has never run.
header& launch(promise_base& root,
               scheduler& by,
               const result_vtable& type,
               std::source_location site) noexcept;

/// The running task lets go of the deadline and the locals of whoever spawned it.
void disinherit(header& task) noexcept;

/// The task that runs on this thread, or whose blocking section does; null if there is none.
[[nodiscard]] header* task_in_sight() noexcept;

/// Returns true if `is(task, of)` is true for the task that runs on this thread, or for one of those whose blocking sections it is
/// inside of: each of them goes on only when this thread comes back to it.
[[nodiscard]] bool any_task_here(bool (*is)(const header& task, const void* of) noexcept,
                                 const void* of) noexcept;

/// Returns true if `task`, which has not ended, is a closure of a runtime's spawn_blocking: its thread may block.
[[nodiscard]] bool is_closure(const header& task) noexcept;

/// Where the tasks that this one spawns belong.
[[nodiscard]] inline scheduler& scheduler_for_children(const header& task) noexcept {
  return task.owner->ops->children(*task.owner);
}

/// Drops one reference; frees the task with the last.
void release(header& task) noexcept;
void free_task(header& task) noexcept;

/// A waker that owns a reference.
[[nodiscard]] waker make_waker(header& task) noexcept;

/// Applies a wake whose reference the caller keeps.
inline void wake(header& task) noexcept {
  if (task.word.wake() == on_wake::submit) task.owner->ops->schedule(task);
}

// PROTOCOL: one cancellation of several tasks
//   A scope, a when_*, a set and a shutdown cancel their tasks one after the other. The bad interleaving:
//     1. T1 and T2 are children of a scope; T2 awaits T1, or receives from a channel that T1 sends into.
//     2. The scope is cancelled: T1 is, and ends before the scope has come to T2.
//     3. T2 goes on with the end of T1, although the same cause is on its way to it.
//   A canceller of several tasks announces the cancellation to each of them, and only then cancels the first one. A task that has seen an
//   end (leaf::is_discardable), and finds that its cancellation was announced, does not go on at step 3. It suspends until it is cancelled,
//   which wakes it. It has no effects before. So no task sees an effect before the cancellation was announced to it.
//   An announcement is a relaxed store, and is never taken back. The canceller holds the family's lock, or a reference to each task;
//   a shutdown holds the lock of the registry's shard, or is the thread that enrols the task or has taken it out of a queue.
inline void announce_cancel(header& task) noexcept {
  // relaxed. The cancellation of the first task comes later in the same thread, by a read-modify-write of its word.
  task.announced.store(true, base::order::relaxed);
}

/// False: the task had ended.
bool cancel(header& task, cancel_reason reason) noexcept;
/// The same for a shutdown that waits no longer: the shields that are up do not hold it off.
void force_end(header& task) noexcept;

/// Of the running task, after its regions or its deadline have changed, or it has enrolled.
inline void note_watched(header& task) noexcept {
  task.watched =
      task.regions != nullptr || task.deadline.get() != base::never || task.shard == header::not_enrolled;
}

/// The running task makes `hook` known: once, and for good. A cancellation that came before is reported to it here.
void set_cancel_hook(header& task, cancel_hook& hook) noexcept;

/// The running task is about to fork on this thread: a cancellation calls there from now on.
void note_forks(header& task, fork_context& where) noexcept;

/// The running task raises a shield, or pauses its unwinding under one. Returns false if it has too many.
[[nodiscard]] bool raise_shield(header& task) noexcept;
[[nodiscard]] bool pause_unwind(header& task) noexcept;

/// Stops the shields of a task, if it has any, from holding its cancellation off.
void override_shields(header& task) noexcept;

/// The running task, or one that ends without having run: it is no longer among the births.
inline void forget_birth(header& task) noexcept {
  if (task.birth != 0) task.owner->births[std::exchange(task.birth, 0U) - 1].clear();
}

/// The running task: reports find it from now on, and so does a shutdown. Before it suspends, and before it raises a shield: a shutdown that has
/// begun, and is not just announced, reaches it here, and does not override that shield later.
inline void enroll_once(header& task) noexcept {
  if (task.shard != header::not_enrolled) return;
  task.owner->ops->enroll(*task.owner, task);
  forget_birth(task);
  note_watched(task);
}

/// A new task, before it is scheduled: reports find it from now on.
void note_birth(header& task, std::source_location site) noexcept;

/// Gives the handle up: whoever comes last, it or the task's end, destroys the result.
void drop_handle(header& task) noexcept;

/// The co_await that a task came to last, for reports; line 0: to none.
[[nodiscard]] std::source_location site_of(const header& task) noexcept;
/// Returns true if `where` is a line of one of rota's headers.
[[nodiscard]] bool is_in_library(const std::source_location& where) noexcept;
/// Where the program spawned it; line 0: not known. Of a task in the registry under the lock of its shard, or by its owner.
[[nodiscard]] std::source_location spawn_site_of(const header& task) noexcept;
/// Under the same condition. Empty: it has no name.
[[nodiscard]] inline const char* name_of(const header& task) noexcept {
  const char* const name = task.label.name();
  return name == nullptr ? "" : name;
}
/// Its file as reports have it: one of rota's headers from "rota/" on, without the folder that it was found in. A file of the program
/// stays as the compiler was given it.
[[nodiscard]] const char* file_of(const std::source_location& where) noexcept;

/// The next task id; they are given to threads in blocks.
[[nodiscard]] std::uint64_t next_task_id() noexcept;

/// The task that this thread runs; null outside. A child that runs in its parent's place becomes a task by it.
[[nodiscard]] header* current_task() noexcept;
/// The same for reports: of a child in place the task around it.
[[nodiscard]] inline header* task_around() noexcept {
  return static_cast<header*>(base::this_thread_locals().task);
}

/// Where tasks may fork on this thread; null: nowhere.
[[nodiscard]] inline fork_context* forks_of_thread() noexcept {
  return static_cast<fork_context*>(base::this_thread_locals().forks);
}

}  // namespace rota::core
