// The buffers of a buffered reader and a buffered writer.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <rota/detail/config.hpp>

namespace rota::io::detail {

/// Uninitialized memory.
class raw_bytes {
 public:
  raw_bytes() noexcept = default;
  explicit raw_bytes(std::size_t size) : bytes_(new std::byte[size]), size_(size) {}
  raw_bytes(raw_bytes&& other) noexcept
      : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  raw_bytes& operator=(raw_bytes&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
  }
  raw_bytes(const raw_bytes&) = delete;
  raw_bytes& operator=(const raw_bytes&) = delete;
  ~raw_bytes() { delete[] bytes_; }

  [[nodiscard]] std::byte* data() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
};

/// Returns `capacity`. Throws `std::invalid_argument` unless it is 16..2^24. `what` names the owner in the
/// message.
ROTA_API std::size_t checked_capacity(const char* what, std::size_t capacity);

/// Bytes that were read and not consumed yet. Its memory is allocated with the first of them.
class ROTA_API read_buffer {
 public:
  static constexpr std::size_t npos = ~std::size_t{0};

  explicit read_buffer(std::size_t capacity) : capacity_(checked_capacity("io::buffered_reader", capacity)) {}
  read_buffer(read_buffer&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        first_(std::exchange(other.first_, 0)),
        end_(std::exchange(other.end_, 0)),
        capacity_(other.capacity_) {}
  read_buffer& operator=(read_buffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    first_ = std::exchange(other.first_, 0);
    end_ = std::exchange(other.end_, 0);
    capacity_ = other.capacity_;
    return *this;
  }
  read_buffer(const read_buffer&) = delete;
  read_buffer& operator=(const read_buffer&) = delete;
  ~read_buffer() = default;

  [[nodiscard]] std::span<const std::byte> content() const noexcept {
    return {bytes_.data() + first_, end_ - first_};
  }
  [[nodiscard]] std::size_t size() const noexcept { return end_ - first_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// Returns the first `n` bytes as text. They do not move until room() is called.
  [[nodiscard]] std::string_view text(std::size_t n) const noexcept;
  void consume(std::size_t n) noexcept;
  /// Copies as many bytes as fit into `into`, and consumes them.
  std::size_t take(std::span<std::byte> into) noexcept;
  /// Returns the free space behind the content, at least one byte. Grows if there is none. Throws
  /// `std::bad_alloc`.
  [[nodiscard]] std::span<std::byte> room();
  void fill(std::size_t n) noexcept { end_ += n; }
  /// Returns the position of the first `delimiter` at `from` or later, or npos.
  [[nodiscard]] std::size_t find(std::string_view delimiter, std::size_t from) const noexcept;

 private:
  raw_bytes bytes_;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  std::size_t capacity_;  // the size of the first allocation
};

/// Throws `std::invalid_argument` if the delimiter is empty.
ROTA_API void demand_delimiter(std::string_view delimiter);

/// Bytes that are to be written.
class ROTA_API write_buffer {
 public:
  explicit write_buffer(std::size_t capacity)
      : capacity_(checked_capacity("io::buffered_writer", capacity)) {}
  write_buffer(write_buffer&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        first_(std::exchange(other.first_, 0)),
        end_(std::exchange(other.end_, 0)),
        capacity_(other.capacity_),
        has_failed_(other.has_failed_) {}
  write_buffer& operator=(write_buffer&& other) noexcept {
    demand_written();
    bytes_ = std::move(other.bytes_);
    first_ = std::exchange(other.first_, 0);
    end_ = std::exchange(other.end_, 0);
    capacity_ = other.capacity_;
    has_failed_ = other.has_failed_;
    return *this;
  }
  write_buffer(const write_buffer&) = delete;
  write_buffer& operator=(const write_buffer&) = delete;
  ~write_buffer() { demand_written(); }

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::span<const std::byte> pending() const noexcept {
    return {bytes_.data() + first_, end_ - first_};
  }
  [[nodiscard]] bool is_empty() const noexcept { return first_ == end_; }
  [[nodiscard]] bool is_full() const noexcept { return end_ == capacity_; }
  /// Copies as many bytes as fit, and returns how many. Throws `std::bad_alloc`, the first time.
  std::size_t put(std::span<const std::byte> from);
  void sent(std::size_t n) noexcept;
  /// Notes an error: the destructor does not assert that all bytes were written.
  void fail() noexcept { has_failed_ = true; }

 private:
  void demand_written() const noexcept;

  raw_bytes bytes_;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  std::size_t capacity_;
  bool has_failed_ = false;
};

}  // namespace rota::io::detail
