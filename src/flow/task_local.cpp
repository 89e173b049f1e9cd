#include <rota/detail/locals.hpp>

#include "task/header.hpp"

#include <rota/error.hpp>

namespace rota::core {

const local_node* find_local(const void* key) noexcept {
  const header* const me = current_task();
  const local_node* at = me == nullptr ? nullptr : me->locals;
  while (at != nullptr && at->key != key) at = at->outer;
  return at;
}

const local_node* locals_around() noexcept { return task_around()->locals; }

local_binding::local_binding() : task_(current_task()) {
  if (task_ == nullptr) throw error(errc::no_runtime);
}

void local_binding::bind(local_node& node) noexcept {
  node_ = &node;
  // The task's own reference to the chain goes to the new node, and the node's first one to the task.
  node.outer = task_->locals;
  task_->locals = &node;
}

local_binding::~local_binding() {
  if (node_ == nullptr) return;
  if (task_->locals != node_) ROTA_FATAL("a task_local's binding outlived one that began later", task_->id);
  task_->locals = share(node_->outer);
  unshare(node_);
}

}  // namespace rota::core
