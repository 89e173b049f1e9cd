// What task_local needs to know of a task.
#pragma once

#include <cstdint>

#include <rota/detail/base.hpp>

namespace rota::core {

struct header;

/// A value of a task_local, in a chain that children share: immutable but for its count.
struct local_node {
  base::atomic<std::uint32_t> references{1};
  local_node* outer = nullptr;  // owned: one reference
  const void* key = nullptr;
  void (*destroy)(local_node* self) noexcept = nullptr;  // of this node alone
};
/// One more owner of a chain; null stays null.
local_node* share(local_node* chain) noexcept;
/// One owner less, without recursion.
void unshare(local_node* chain) noexcept;

/// The innermost node of the running task with this key; null if there is none.
[[nodiscard]] ROTA_API const local_node* find_local(const void* key) noexcept;

/// The innermost one of the task that runs on this thread: of a child in place the task around it. Not outside of tasks.
[[nodiscard]] ROTA_API const local_node* locals_around() noexcept;

/// A node in front of the running task's chain while this lives. Bindings of a task end in the reverse order.
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
