// What was allocated in this execution: each thing is freed once, and nothing of it is touched afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::testing::detail {

/// Objects and memory of one execution. Memory that is freed stays in quarantine until the execution ends, so
/// that no address is given out twice.
class heap {
 public:
  using release_function = void (*)(void*) noexcept;

  enum class verdict : std::uint8_t { fine, twice, unknown, wrong_size };

  struct block {
    const void* begin;
    std::size_t size;  // 0: an object, whose memory is somebody else's business
    const char* what;
    unsigned fibre;  // who allocated it
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

  /// The end of the execution: all memory goes back to where it came from, leaked memory too.
  void clear() noexcept;

 private:
  std::vector<block> live_;
  std::vector<block> freed_;
};

}  // namespace rota::testing::detail
