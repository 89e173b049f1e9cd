// What task_local needs to know of a task.
#pragma once

#include <cstdint>

#include <rota/detail/base.hpp>

namespace rota::core {

struct header;

/// A value of a task_local, in a chain that children share. Immutable except for its count.
struct local_node {
  base::atomic<std::uint32_t> references{1};
  local_node* outer = nullptr;  // owned: holds one reference
  const void* key = nullptr;
  void (*destroy)(local_node* self) noexcept = nullptr;  // destroys only this node
};
/// Adds an owner to a chain and returns it; null stays null.
local_node* share(local_node* chain) noexcept;
/// Removes an owner from a chain, without recursion.
void unshare(local_node* chain) noexcept;

/// Returns the innermost node of the running task with this key; null if there is none.
[[nodiscard]] ROTA_API const local_node* find_local(const void* key) noexcept;

/// Returns the innermost node of the task that runs on this thread; for a child in place, of the task around
/// it. Requires a task.
[[nodiscard]] ROTA_API const local_node* locals_around() noexcept;

/// Puts a node in front of the running task's chain while this object lives. Bindings of a task end in the
/// reverse order.
class ROTA_API local_binding {
 public:
  local_binding(const local_binding&) = delete;
  local_binding& operator=(const local_binding&) = delete;

 protected:
  /// Throws `errc::no_runtime` outside of a task.
  local_binding();
  ~local_binding();

  void bind(local_node& node) noexcept;

 private:
  header* task_;
  local_node* node_ = nullptr;
};

}  // namespace rota::core
