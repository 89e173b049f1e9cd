#include "task/registry.hpp"

namespace rota::core {

registry::registry(unsigned shards) : count_(shards), shards_(std::make_unique<shard[]>(shards)) {}

void registry::enroll(header& task, unsigned where) noexcept {
  ROTA_ASSERT(where < count_ && task.shard == header::not_enrolled);
  shard& here = shards_[where];
  const base::lock_guard lock(here.mutex);
  task.shard = static_cast<std::uint16_t>(where);
  here.append(task);
}

void registry::withdraw(header& task) noexcept {
  shard& here = shards_[task.shard];
  const base::lock_guard lock(here.mutex);
  here.remove(task);
  task.shard = header::not_enrolled;
}

void registry::rename(header& task, void* name) noexcept {
  if (task.shard == header::not_enrolled) {
    task.label.set_name(name);
    return;
  }
  shard& here = shards_[task.shard];
  const base::lock_guard lock(here.mutex);
  task.label.set_name(name);
}

void registry::shard::append(list_links& node) noexcept { insert_after(last, node); }

void registry::shard::insert_after(list_links* where, list_links& node) noexcept {
  node.list_previous = where;
  node.list_next = where == nullptr ? first : where->list_next;
  (where == nullptr ? first : where->list_next) = &node;
  (node.list_next == nullptr ? last : node.list_next->list_previous) = &node;
}

void registry::shard::remove(list_links& node) noexcept {
  (node.list_previous == nullptr ? first : node.list_previous->list_next) = node.list_next;
  (node.list_next == nullptr ? last : node.list_next->list_previous) = node.list_previous;
  node.list_previous = nullptr;
  node.list_next = nullptr;
}

void registry::begin_sweep(shard& in) noexcept {
  const base::lock_guard lock(in.mutex);
  in.insert_after(nullptr, in.cursor);
}

header* registry::next_in_sweep(shard& in) noexcept {
  const base::lock_guard lock(in.mutex);
  list_links* const found = in.cursor.list_next;
  in.remove(in.cursor);
  if (found == nullptr) return nullptr;
  in.insert_after(found, in.cursor);
  auto& task = static_cast<header&>(*found);
  // The task is in the list, so it has not ended, and its scheduler's reference keeps it alive.
  task.word.retain();
  return &task;
}

}  // namespace rota::core
