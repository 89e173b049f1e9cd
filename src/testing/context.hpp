// A separate stack, and the switch to it.
#pragma once

#include <cstddef>

namespace rota::testing::detail {

/// The machine's own stack, or that of a fibre. Every switch is reported to the sanitizers.
class context {
 public:
  using entry_function = void (*)();

  context() noexcept = default;
  context(const context&) = delete;
  context& operator=(const context&) = delete;
  ~context();

  /// Makes the next switch to this context call `entry`. The old contents of the stack are abandoned, unless
  /// the previous `entry` had come to its end. Maps the stack at the first call; throws std::bad_alloc.
  void prepare(entry_function entry);

  /// Called by `entry` when only its last switch away and its return are left.
  void come_to_end() noexcept { at_end_ = true; }
  /// Withdraws come_to_end(): the last switch away was not the end of `entry`.
  void give_up() noexcept { at_end_ = false; }

  /// Leaves `from` and continues `to`. Returns at the next switch to `from`.
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
  [[maybe_unused]] void* fake_stack_ = nullptr;  // of ASan
  context* left_ = nullptr;                      // the context that last switched to this one
  [[maybe_unused]] void* tsan_fibre_ = nullptr;
  [[maybe_unused]] bool owns_tsan_fibre_ = false;
};

}  // namespace rota::testing::detail
