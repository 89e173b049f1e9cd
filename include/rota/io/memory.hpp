// A reader over bytes in memory, and a writer that discards its bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <rota/detail/config.hpp>
#include <rota/io/result.hpp>
#include <rota/leaf.hpp>

namespace rota::io {

namespace detail {

/// An operation that waits only for the next turn of the task. It moves its bytes when it is resumed, so a
/// cancelled operation has moved none.
class memory_leaf : public leaf {
 public:
  [[nodiscard]] bool is_ready() noexcept override { return true; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  [[nodiscard]] const char* what() const noexcept override { return "memory"; }

 protected:
  memory_leaf() = default;
  ~memory_leaf() = default;
};

class ROTA_DETAIL_AWAIT_IT span_read final : public memory_leaf {
 public:
  span_read(std::span<const std::byte>& left, std::span<std::byte> into) noexcept
      : left_(&left), into_(into) {}
  [[nodiscard]] result<std::size_t> await_resume() noexcept {
    const std::size_t count = std::min(into_.size(), left_->size());
    std::ranges::copy(left_->first(count), into_.begin());
    *left_ = left_->subspan(count);
    charge(count);
    return count;
  }

 private:
  std::span<const std::byte>* left_;
  std::span<std::byte> into_;
};

class ROTA_DETAIL_AWAIT_IT null_write final : public memory_leaf {
 public:
  null_write(std::uint64_t& written, std::size_t count) noexcept : written_(&written), count_(count) {}
  [[nodiscard]] result<std::size_t> await_resume() noexcept {
    *written_ += count_;
    return count_;
  }

 private:
  std::uint64_t* written_;
  std::size_t count_;
};

}  // namespace detail

/// Reads the caller's bytes, and then reports the end. For tests, and to pass bytes in memory to code that
/// takes a reader. An io::reader.
///
/// Threads       One task at a time.
/// Ownership     Refers to the bytes, which must outlive it. The object that read() returns must not outlive
///               the reader. The caller's buffer must live until the co_await is done.
/// Failure       None. A read that is cancelled has read nothing.
/// Cost          One copy for each read; no allocation. A read waits only for the next turn of the task. A
///               turn ends after 128 reads, or 2 MiB.
/// Example       span_reader body("hello"); co_await io::copy(body, connection);
class span_reader {
 public:
  explicit span_reader(std::span<const std::byte> bytes ROTA_DETAIL_KEPT) noexcept : left_(bytes) {}
  /// Reads a text without a terminating zero. An array of characters has no known end: pass the part that
  /// counts.
  explicit span_reader(std::string_view text ROTA_DETAIL_KEPT) noexcept
      : left_(std::as_bytes(std::span(text))) {}
  template <std::size_t N>
  explicit span_reader(char (&buffer)[N]) = delete;
  /// Reads a literal without its terminating zero. Zeros in the middle are read.
  template <std::size_t N>
  explicit span_reader(const char (&text ROTA_DETAIL_KEPT)[N]) noexcept
      : span_reader(std::string_view(text, text[N - 1] == '\0' ? N - 1 : N)) {}

  /// Reads some bytes, at most `into.size()`; co_await it. Returns 0 if all were read, or if `into` is empty.
  detail::span_read read(std::span<std::byte> into) noexcept { return detail::span_read(left_, into); }
  /// Returns the bytes that have not been read.
  [[nodiscard]] std::span<const std::byte> left() const noexcept { return left_; }

 private:
  std::span<const std::byte> left_;
};

/// Takes every byte, counts it, and discards it. An io::writer.
///
/// Threads       One task at a time.
/// Ownership     The object that write() returns must not outlive the writer.
/// Failure       None. A write that is cancelled has counted nothing.
/// Cost          No copy, no allocation. A write waits only for the next turn of the task. A turn ends after
///               128 writes.
/// Example       null_writer nowhere; co_await io::copy(body, nowhere);  // reads the body to its end
class null_writer {
 public:
  /// Takes all bytes; co_await it.
  detail::null_write write(std::span<const std::byte> from) noexcept {
    return detail::null_write(written_, from.size());
  }
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return written_; }

 private:
  std::uint64_t written_ = 0;
};

}  // namespace rota::io
