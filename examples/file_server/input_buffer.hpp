// The received bytes of a connection that have not been used yet.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace file_server {

/// Starts small, doubles up to `most`, and never shrinks. If `most` is limits::head_bytes(), the parser has
/// decided about the first request at the latest when the buffer is full.
class input_buffer {
 public:
  static constexpr std::size_t first_size = 4096;

  explicit input_buffer(std::size_t most) noexcept : most_(most) {}

  /// Returns the space for the next bytes. Moves or enlarges the buffer if needed. Empty only if `most` bytes
  /// are held. Invalidates views into pending().
  [[nodiscard]] std::span<std::byte> space() {
    if (end_ == size_) make_room();
    return {bytes_.get() + end_, size_ - end_};
  }

  void commit(std::size_t received) noexcept { end_ += received; }

  [[nodiscard]] std::string_view pending() const noexcept {
    return {reinterpret_cast<const char*>(bytes_.get()) + begin_, end_ - begin_};
  }

  void consume(std::size_t used) noexcept {
    begin_ += used;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  [[nodiscard]] bool is_empty() const noexcept { return begin_ == end_; }

 private:
  void make_room() {
    const std::size_t held = end_ - begin_;
    if (held < size_ - size_ / 4) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, held);
    } else if (size_ < most_) {
      grow(held);
    } else if (begin_ != 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, held);
    }
    begin_ = 0;
    end_ = held;
  }

  void grow(std::size_t held) {
    const std::size_t doubled = size_ == 0 ? first_size : 2 * size_;
    const std::size_t size = doubled < most_ ? doubled : most_;
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(size);
    if (held != 0) std::memcpy(bytes.get(), bytes_.get() + begin_, held);
    bytes_ = std::move(bytes);
    size_ = size;
  }

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t most_;
  std::size_t size_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace file_server
