// A reader over bytes in memory, and a writer that keeps nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <rota/io/result.hpp>
#include <rota/task.hpp>

namespace rota::io {

/// Reads the caller's bytes, and then the end. For tests, and for what takes a reader and gets its bytes from memory. An io::reader.
///
/// Threads       One task at a time.
/// Ownership     Refers to the bytes, which must outlive it.
/// Failure       None. A read that is cancelled has read nothing.
/// Cost          One frame and one copy for each read. A read never waits.
/// Example       span_reader body("hello"); co_await io::copy(body, connection);
class span_reader {
 public:
  explicit span_reader(std::span<const std::byte> bytes ROTA_DETAIL_KEPT) noexcept : left_(bytes) {}
  explicit span_reader(std::string_view text ROTA_DETAIL_KEPT) noexcept
      : left_(std::as_bytes(std::span(text))) {}

  [[nodiscard]] task<result<std::size_t>> read(std::span<std::byte> into) {
    const std::size_t count = std::min(into.size(), left_.size());
    std::ranges::copy(left_.first(count), into.begin());
    left_ = left_.subspan(count);
    co_return count;
  }
  /// What has not been read.
  [[nodiscard]] std::span<const std::byte> left() const noexcept { return left_; }

 private:
  std::span<const std::byte> left_;
};

/// Takes every byte, counts it, and keeps none. An io::writer.
///
/// Threads       One task at a time.
/// Ownership     Nothing.
/// Failure       None. A write that is cancelled has counted nothing.
/// Cost          One frame for each write. A write never waits.
/// Example       null_writer nowhere; co_await io::copy(body, nowhere);  // reads the body to its end
class null_writer {
 public:
  [[nodiscard]] task<result<std::size_t>> write(std::span<const std::byte> from) {
    written_ += from.size();
    co_return from.size();
  }
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return written_; }

 private:
  std::uint64_t written_ = 0;
};

}  // namespace rota::io
