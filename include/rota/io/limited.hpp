// A reader that ends after a given number of bytes, and a stream that counts its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <rota/io/concepts.hpp>
#include <rota/task.hpp>

namespace rota::io {

/// Reads the next `limit` bytes of `from`, and then reports the end: for a body of known length. The bytes
/// behind them stay in `from`.
///
/// Threads       As `from`.
/// Ownership     Refers to `from`, which must outlive it.
/// Failure       As `from`. If `from` ends too early, read() returns 0, too: then left() is not 0.
/// Cost          One frame for each read.
/// Example       examples/duplex.cpp
template <reader R>
class limited_reader {
 public:
  limited_reader(R& from, std::uint64_t limit) noexcept : from_(&from), left_(limit) {}

  task<result<std::size_t>> read(std::span<std::byte> into) {
    if (into.size() > left_) into = into.first(static_cast<std::size_t>(left_));
    if (into.empty()) co_return 0;
    const result<std::size_t> got = co_await from_->read(into);
    if (got.has_value()) left_ -= *got;
    co_return got;
  }
  /// Returns how many bytes are left until the end.
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }
  [[nodiscard]] R& inner() noexcept { return *from_; }

 private:
  R* from_;
  std::uint64_t left_;
};

/// A stream that counts the bytes that go through it.
///
/// Threads       As `inner`. The reading task calls bytes_read(), the writing task calls bytes_written(), or
///               any task after both have ended.
/// Ownership     Refers to `inner`, which must outlive it.
/// Failure       As `inner`.
/// Cost          One frame for each operation.
/// Example       examples/port_forward.cpp
template <stream S>
class counted {
 public:
  explicit counted(S& inner) noexcept : inner_(&inner) {}

  task<result<std::size_t>> read(std::span<std::byte> into) {
    const result<std::size_t> got = co_await inner_->read(into);
    if (got.has_value()) read_ += *got;
    co_return got;
  }
  task<result<std::size_t>> write(std::span<const std::byte> from) {
    const result<std::size_t> put = co_await inner_->write(from);
    if (put.has_value()) written_ += *put;
    co_return put;
  }
  decltype(auto) shutdown_write()
    requires half_closer<S>
  {
    return inner_->shutdown_write();
  }
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return read_; }
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return written_; }
  [[nodiscard]] S& inner() noexcept { return *inner_; }

 private:
  S* inner_;
  std::uint64_t read_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace rota::io
