#include <rota/detail/io_buffers.hpp>
#include <rota/this_task.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

namespace rota::io::detail {

std::size_t checked_capacity(const char* what, std::size_t capacity) {
  constexpr std::size_t least = 16;
  constexpr std::size_t most = std::size_t{1} << 24U;
  if (capacity >= least && capacity <= most) return capacity;
  throw std::invalid_argument(std::string(what) + ": capacity is " + std::to_string(capacity) + ": must be " +
                              std::to_string(least) + ".." + std::to_string(most));
}

void demand_delimiter(std::string_view delimiter) {
  if (delimiter.empty()) throw std::invalid_argument("io::buffered_reader: the delimiter is empty");
}

// ---- reading

std::string_view read_buffer::text(std::size_t n) const noexcept {
  ROTA_ASSERT(n <= size());
  return {reinterpret_cast<const char*>(bytes_.data() + first_), n};
}

void read_buffer::consume(std::size_t n) noexcept {
  ROTA_ASSERT(n <= size());
  first_ += n;
}

std::size_t read_buffer::take(std::span<std::byte> into) noexcept {
  const std::size_t n = std::min(into.size(), size());
  if (n != 0) std::memcpy(into.data(), bytes_.data() + first_, n);
  consume(n);
  return n;
}

std::span<std::byte> read_buffer::room() {
  if (first_ == end_) first_ = end_ = 0;
  if (end_ == bytes_.size() && first_ != 0) {
    std::memmove(bytes_.data(), bytes_.data() + first_, size());
    end_ -= first_;
    first_ = 0;
  }
  if (end_ == bytes_.size()) {
    raw_bytes larger(std::max(capacity_, 2 * bytes_.size()));
    if (end_ != 0) std::memcpy(larger.data(), bytes_.data(), end_);
    bytes_ = std::move(larger);
  }
  return {bytes_.data() + end_, bytes_.size() - end_};
}

std::size_t read_buffer::find(std::string_view delimiter, std::size_t from) const noexcept {
  const std::size_t at = text(size()).find(delimiter, from);
  return at == std::string_view::npos ? npos : at;
}

// ---- writing

std::size_t write_buffer::put(std::span<const std::byte> from) {
  if (bytes_.data() == nullptr) bytes_ = raw_bytes(capacity_);
  const std::size_t n = std::min(from.size(), capacity_ - end_);
  if (n != 0) std::memcpy(bytes_.data() + end_, from.data(), n);
  end_ += n;
  return n;
}

void write_buffer::sent(std::size_t n) noexcept {
  ROTA_ASSERT(n <= end_ - first_);
  first_ += n;
  if (first_ == end_) first_ = end_ = 0;
}

void write_buffer::demand_written() const noexcept {
  ROTA_ASSERT((first_ == end_ || has_failed_ || this_task::unwinding() || std::uncaught_exceptions() != 0) &&
              "a buffered_writer goes with what was not flushed");
}

}  // namespace rota::io::detail
