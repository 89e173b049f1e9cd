// The allocations of an execution: each is freed once, and must not be used afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::testing::detail {

/// Objects and memory of one execution. Freed memory stays in quarantine until the execution ends, so no
/// address is reused.
class heap {
 public:
  using release_function = void (*)(void*) noexcept;

  enum class verdict : std::uint8_t { fine, twice, unknown, wrong_size };

  struct block {
    const void* begin;
    std::size_t size;  // 0: an object; its memory is managed elsewhere
    const char* what;
    unsigned fibre;  // the thread that allocated it
    release_function release;
  };

  heap() = default;
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;
  ~heap() { clear(); }

  void add(const block& b);
  [[nodiscard]] verdict remove(const void* address, std::size_t size);

  [[nodiscard]] bool is_quarantined(const void* address) const noexcept;
  [[nodiscard]] const std::vector<block>& live() const noexcept { return live_; }

  /// Called at the end of the execution: releases all memory, including leaked memory.
  void clear() noexcept;

 private:
  std::vector<block> live_;
  std::vector<block> freed_;
};

}  // namespace rota::testing::detail
