// A stack of its own, and the switch to it.
#pragma once

#include <cstddef>

namespace rota::testing::detail {

/// The machine's own stack, or a fibre's. The sanitizers are told of every switch.
class context {
 public:
  using entry_function = void (*)();

  context() noexcept = default;
  context(const context&) = delete;
  context& operator=(const context&) = delete;
  ~context();

  /// The next switch to this context calls `entry`. What was on the stack is given up, unless `entry` had
  /// come to its end. The stack is mapped at the first call; throws std::bad_alloc.
  void prepare(entry_function entry);

  /// Said by `entry`, when nothing is left for it to do but to switch away once more and to return.
  void come_to_end() noexcept { at_end_ = true; }
  /// The opposite: the last switch away was not `entry`'s end after all.
  void give_up() noexcept { at_end_ = false; }

  /// Leaves `from` and goes on with `to`. Returns when somebody switches to `from`.
  static void switch_between(context& from, context& to) noexcept;

 private:
  static void enter();
  void map_stack();
  void clear_stack() noexcept;
  void arrive() noexcept;

  void* stack_pointer_ = nullptr;
  std::byte* mapping_ = nullptr;  // guard page, then the stack
  entry_function entry_ = nullptr;
  bool at_end_ = false;
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
  [[maybe_unused]] void* fake_stack_ = nullptr;  // ASan's
  context* left_ = nullptr;                      // the context that switched to this one last
  [[maybe_unused]] void* tsan_fibre_ = nullptr;
  [[maybe_unused]] bool owns_tsan_fibre_ = false;
};

}  // namespace rota::testing::detail
