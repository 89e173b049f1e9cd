// One transfer of bytes from or to a file.
#pragma once

#include "fs/system_call.hpp"

#include <rota/leaf.hpp>

#include <sys/uio.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rota::fs::detail {

/// Several buffers in the form of the system: the first 64 that are not empty.
class parts {
 public:
  static constexpr std::size_t most = 64;

  explicit parts(std::span<const std::span<std::byte>> from) noexcept { add(from); }
  explicit parts(std::span<const std::span<const std::byte>> from) noexcept { add(from); }
  explicit parts(std::span<std::byte> one) noexcept { add(std::span(&one, 1)); }

  [[nodiscard]] const iovec* data() const noexcept { return all_.data(); }
  [[nodiscard]] unsigned count() const noexcept { return count_; }
  /// Cuts the buffers to a total of `bytes`.
  void limit(std::size_t bytes) noexcept;

 private:
  template <class Bytes>
  void add(std::span<const std::span<Bytes>> from) noexcept {
    for (const std::span<Bytes>& each : from) {
      if (count_ == most) break;
      if (!each.empty()) all_[count_++] = {const_cast<std::byte*>(each.data()), each.size()};
    }
  }
  template <class Bytes>
  void add(std::span<std::span<Bytes>> from) noexcept {
    add(std::span<const std::span<Bytes>>(from));
  }

  std::array<iovec, most> all_;
  unsigned count_ = 0;
};

/// Whether a read may be tried in place. Never with O_DIRECT: it would wait for the disk.
enum class in_place : unsigned char { tried, never };

/// Reads cached data in place. Returns 0 if it is not cached, or if there is none.
[[nodiscard]] task<std::size_t> read_in_memory(int fd, std::span<std::byte> into, std::uint64_t offset);

// `offset`: sys::no_offset for a file without offsets.
[[nodiscard]] task<number> read_some(int fd, std::span<std::byte> into, std::uint64_t offset, in_place how);
[[nodiscard]] task<number> write_some(int fd, std::span<const std::byte> from, std::uint64_t offset);
[[nodiscard]] task<number> read_parts(int fd,
                                      std::span<const std::span<std::byte>> into,
                                      std::uint64_t offset,
                                      in_place how);
[[nodiscard]] task<number> write_parts(int fd,
                                       std::span<const std::span<const std::byte>> from,
                                       std::uint64_t offset);

}  // namespace rota::fs::detail
