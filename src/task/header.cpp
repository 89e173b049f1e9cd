#include "task/header.hpp"

#include "base/tls_slot.hpp"
#include "task/harness.hpp"

#include <rota/detail/blocking_section.hpp>
#include <rota/detail/fork_group.hpp>
#include <rota/detail/spawn_on.hpp>

#include <bit>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

namespace rota::core {

namespace {

header& of(void* data) noexcept { return *static_cast<header*>(data); }

void wake_by_ref(void* data) noexcept {
  demand_unguarded();
  wake(of(data));
}

void wake_consuming(void* data) noexcept {
  demand_unguarded();
  // The reference is released only after schedule() has returned. The entry's own reference lets other
  // threads run, complete and free the task, and with the last task its scheduler, while this thread is still
  // inside of schedule().
  wake(of(data));
  release(of(data));
}

void* clone(void* data) noexcept {
  of(data).word.retain();
  return data;
}

void drop(void* data) noexcept {
  demand_unguarded();
  release(of(data));
}

constexpr waker_vtable task_waker{wake_consuming, wake_by_ref, clone, drop};

/// relaxed throughout: an id is only a name, and orders nothing.
base::atomic<std::uint64_t> id_blocks{0};
constexpr std::uint64_t ids_per_block = 1024;

}  // namespace

header& make_header(promise_base& root,
                    scheduler& by,
                    const result_vtable& type,
                    snapshot initial,
                    const header* parent) noexcept {
  header& made = make_header_without_type(root, by, initial, parent);
  // relaxed: only a group's children are looked up by other threads; make_task_of() stores for those.
  tag_of(made.frame_address()).result.store(&type, base::order::relaxed);
  return made;
}

header& make_header_without_type(promise_base& root,
                                 scheduler& by,
                                 snapshot initial,
                                 const header* parent) noexcept {
  void* const frame = root.handle().address();
  tag_of(frame).keep = 1;
  auto* const made = ::new (root.room()) header(by, initial, next_task_id());
  made->innermost.set(&root);
  // A child in place has had this root all the time, and thieves read it.
  if (root.root != made) root.root = made;
  root.parent = nullptr;
  if (parent != nullptr) {
    made->parent_id = parent->id;
    made->deadline.set(parent->deadline.get());
    note_watched(*made);
    made->locals = share(parent->locals);
  }
  return *made;
}

local_node* share(local_node* chain) noexcept {
  // relaxed: the caller's reference keeps the chain alive.
  if (chain != nullptr) chain->references.fetch_add(1, base::order::relaxed);
  return chain;
}

void unshare(local_node* chain) noexcept {
  // acq_rel: release: this owner's last use happens before the destruction. acquire: the thread that destroys
  // the node sees the last use of every other owner.
  while (chain != nullptr && chain->references.fetch_sub(1, base::order::acq_rel) == 1) {
    local_node* const outer = chain->outer;
    chain->destroy(chain);
    chain = outer;
  }
}

void disinherit(header& task) noexcept {
  task.deadline.set(base::never);
  note_watched(task);
  unshare(std::exchange(task.locals, nullptr));
}

void note_birth(header& task, std::source_location site) noexcept {
  const auto* const where = std::bit_cast<const void*>(site);
  task.label.set_site(where);
  const scheduler& by = *task.owner;
  if (by.births == nullptr) return;
  auto* const mine = static_cast<birth_range*>(base::this_thread_locals().births);
  if (mine != nullptr && mine->all == by.births) [[likely]] {
    task.birth = mine->note(task.id, where);
    if (task.birth != 0) return;
  }
  by.ops->born(*task.owner, task);
}

header& launch(promise_base& root,
               scheduler& by,
               const result_vtable& type,
               std::source_location site) noexcept {
  const header* const parent = current_task();
  if (by.ops->admit(by)) {
    header& made = make_header(root, by, type, spawned_word, parent);
    note_birth(made, site);
    by.ops->schedule(made);
    return made;
  }
  header& made = make_header(root, by, type, entered_word, parent);
  abandon(made, cancel_reason::shutdown);
  return made;
}

void free_task(header& task) noexcept {
  scheduler* const owner = task.owner;
  void* const frame = task.frame_address();
  // relaxed: the thread that drops the last reference comes after every thread that held one.
  if (cancel_hook* const hook = task.hook.load(base::order::relaxed)) hook->destroy(hook);
  task.label.free_name();
  task.~header();
  release_block(frame);
  owner->ops->freed(*owner);
}

void release(header& task) noexcept {
  if (task.word.release() == on_release::free) free_task(task);
}

waker make_waker(header& task) noexcept {
  task.word.retain();
  return {&task, &task_waker};
}

namespace {

/// The hooks that wait while this thread is inside of one. Lies on the stack of the outermost call.
struct hook_line {
  void push(cancel_hook& hook) noexcept {
    *last = &hook;
    last = &hook.next;
  }
  cancel_hook* pop() noexcept {
    cancel_hook* const popped = first;
    if (popped != nullptr) first = popped->next;
    if (first == nullptr) last = &first;
    return popped;
  }

  cancel_hook* first = nullptr;
  cancel_hook** last = &first;
};

/// Calls the hook, unless it was called before. The caller keeps the task alive until this has returned.
void deliver(header& task, cancel_hook& hook) noexcept {
  // relaxed: only one caller may get false, and set_cancel_hook() has published the hook.
  if (hook.taken.exchange(true, base::order::relaxed)) return;
  task.word.retain();
  hook.of = &task;
  base::thread_locals& here = base::this_thread_locals();
  if (here.hooks != nullptr) {
    // This thread is inside of another hook: a chain of tasks that cancel each other takes no more stack than
    // one task does.
    static_cast<hook_line*>(here.hooks)->push(hook);
    return;
  }
  hook_line line;
  here.hooks = &line;
  for (cancel_hook* now = &hook; now != nullptr;) {
    header& owner = *now->of;
    demand_unguarded();
    now->cancelled(*now);
    release(owner);  // and perhaps the hook with it
    now = line.pop();
  }
  here.hooks = nullptr;
}

}  // namespace

namespace {

void announce(header& task, cancel_reason reason) noexcept {
  announce_cancel(task);
  cancel_reason none = cancel_reason::none;
  // relaxed: the first reason stands; the word's transition that follows publishes it. failure: relaxed: the
  // first canceller has published its reason, or is about to.
  task.reason.compare_exchange_strong(none, reason, base::order::relaxed, base::order::relaxed);
}

/// Does what the cancelling transition requires. Returns false if the task had ended.
bool act_on(header& task, on_cancel duty) noexcept {
  if (duty == on_cancel::too_late) return false;
  if (duty == on_cancel::submit) task.owner->ops->schedule(task);
  // relaxed: see note_forks().
  if (fork_context* const where = task.forks.load(base::order::relaxed)) where->waiting.call();
  // acquire: pairs with the release in set_cancel_hook(), which has the argument.
  if (cancel_hook* const hook = task.hook.load(base::order::acquire)) deliver(task, *hook);
  return true;
}

}  // namespace

bool cancel(header& task, cancel_reason reason) noexcept {
  announce(task, reason);
  return act_on(task, task.word.cancel());
}

void force_end(header& task) noexcept {
  announce(task, cancel_reason::shutdown);
  static_cast<void>(act_on(task, task.word.force_end()));
}

// Store buffering between two threads: T1 stores the hook and then writes the word; T2 writes the word and
// then reads the hook. The word's changes have one total order, so at least one thread sees the store of the
// other.
void set_cancel_hook(header& task, cancel_hook& hook) noexcept {
  // release: pairs with the acquire in act_on(): the hook is built.
  task.hook.store(&hook, base::order::release);
  // Redundant except for the write: the task checks its leaf once more.
  wake(task);
  if (task.word.load().has(cancelled)) hook.cancelled(hook);
}

// As set_cancel_hook(): the store of `where` comes before a write of the word. The context lives as long as
// its worker.
void note_forks(header& task, fork_context& where) noexcept {
  // relaxed: only the owner writes it.
  if (task.forks.load(base::order::relaxed) == &where) return;
  // relaxed: a cancellation that changes the word after wake() reads this value.
  task.forks.store(&where, base::order::relaxed);
  wake(task);
}

void override_shields(header& task) noexcept {
  if (task.word.override_shield() == on_wake::submit) task.owner->ops->schedule(task);
}

ending ending_of(header& task) noexcept {
  return {task.result().exception(&task), task.result().cancelled(&task)};
}

family* break_bond(header& task) noexcept {
  // acquire: null stays null, and most tasks never have another value. If a family has let go of the task,
  // the null is from its exchange below, and this load pairs with that: the family touches the task no more,
  // and this thread may free it.
  if (task.bond.load(base::order::acquire) == nullptr) return nullptr;
  // acq_rel: release: a thread that finds null comes after this thread's last use. acquire: if this thread
  // finds null, it comes after the other thread's last use.
  return task.bond.exchange(nullptr, base::order::acq_rel);
}

void drop_handle(header& task) noexcept {
  // No other reference is left: most awaited tasks end here, without a write.
  if (!task.word.is_last_reference() && task.word.drop_handle() == on_drop_handle::nothing) return;
  // The task is complete, so this thread is the last one that may read the result.
  ending how = ending_of(task);
  task.result().destroy(&task);
  if (family* const around = break_bond(task)) {
    around->dropped(task, how);
  } else if (how.thrown != nullptr) {
    task.owner->ops->unhandled(*task.owner, task, std::move(how.thrown));
  }
  release(task);
}

std::source_location site_of(const header& task) noexcept {
  // relaxed: only for reports, and what it points to is constant.
  const void* const site = task.where.load(base::order::relaxed);
  return std::bit_cast<std::source_location>(site);
}

std::source_location spawn_site_of(const header& task) noexcept {
  const auto where = std::bit_cast<std::source_location>(task.label.site());
  return is_in_library(where) ? std::source_location() : where;
}

void* task_label::make_block(std::size_t length) noexcept {
  return std::malloc(sizeof(std::uintptr_t) + length + 1);
}

void task_label::set_name(void* block) noexcept {
  ::new (block) const void*(site());
  free_name();
  word_ = reinterpret_cast<std::uintptr_t>(block) | named;
}

void task_label::free_name() noexcept {
  if (has_name()) std::free(block());
}

const char* file_of(const std::source_location& where) noexcept {
  constexpr std::string_view headers = "include/rota/";
  const std::string_view file = where.file_name();
  const std::size_t at = file.rfind(headers);
  const bool is_folder = at != std::string_view::npos && (at == 0 || file[at - 1] == '/');
  return is_folder ? file.data() + at + headers.find("rota/") : file.data();
}

bool is_in_library(const std::source_location& where) noexcept { return file_of(where) != where.file_name(); }

std::source_location site_around(const promise_base& frame, std::source_location own) noexcept {
  const promise_base* inside = &frame;
  // The loop ends at the root: a frame has one parent, and is made after it.
  while (inside->parent != nullptr) {
    inside = inside->parent;
    if (inside->kept_site() != nullptr) return std::bit_cast<std::source_location>(inside->kept_site());
  }
  // No further: the frames around a group belong to another task, or are being made one at this moment.
  const std::source_location around =
      inside->group == nullptr ? std::source_location() : inside->group->site();
  return around.line() != 0 ? around : own;
}

std::uint64_t next_task_id() noexcept {
  base::thread_locals& locals = base::this_thread_locals();
  if (locals.next_id == locals.last_id) {
    // relaxed: only uniqueness is required.
    locals.next_id = 1 + id_blocks.fetch_add(1, base::order::relaxed) * ids_per_block;
    locals.last_id = locals.next_id + ids_per_block;
  }
  return locals.next_id++;
}

header* current_task() noexcept {
  const fork_context* const forks = forks_of_thread();
  if (forks != nullptr && forks->running != nullptr) promote(*forks->running);
  return task_around();
}

namespace {

const blocking_section* innermost_section() noexcept {
  return static_cast<const blocking_section*>(base::this_thread_locals().in_place);
}

}  // namespace

header* task_in_sight() noexcept {
  header* const running = current_task();
  if (running != nullptr) return running;
  const blocking_section* around = innermost_section();
  while (around != nullptr && around->task() == nullptr) around = around->outer();
  return around != nullptr ? static_cast<header*>(around->task()) : nullptr;
}

bool any_task_here(bool (*is)(const header& task, const void* of) noexcept, const void* of) noexcept {
  const header* const running = current_task();
  if (running != nullptr && is(*running, of)) return true;
  const blocking_section* around = innermost_section();
  for (; around != nullptr; around = around->outer()) {
    if (around->task() != nullptr && is(*static_cast<const header*>(around->task()), of)) return true;
  }
  return false;
}

bool is_closure(const header& task) noexcept {
  scheduler& tasks = scheduler_for_children(task);
  return &tasks != task.owner && tasks.ops->blocking(tasks) == task.owner;
}

}  // namespace rota::core
