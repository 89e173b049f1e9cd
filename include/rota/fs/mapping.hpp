// A file mapped into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <rota/fs/file.hpp>

namespace rota::fs {

struct mapping_options {
  enum class access : unsigned char {
    read,
    write,  // writes go to the file, which must be open for reading and writing
    copy,   // copy on write: writes are visible in this mapping only
  };
  access how = access::read;
  std::uint64_t offset = 0;             // any; need not be page-aligned
  std::optional<std::size_t> length{};  // nullopt: to the end of the file
};

enum class advice : unsigned char {
  normal,
  sequential,
  random,
  will_need,  // the system starts to read the pages
  dont_need,  // the system may drop the pages; with access::copy the writes are lost
};

/// A file, or a part of one, mapped into memory. Its destructor unmaps it.
///
/// Threads       Any, as for memory. Two threads or processes that write the same byte race, as on any
///               memory.
/// Ownership     Owns the pages, not the file; the file may be closed.
/// Ordering      As memory. Writes to the file by other means are visible here.
/// Failure       of(): std::errc::invalid_argument: the length is 0, or the rest of the file is empty;
///               std::errc::result_out_of_range: the range ends beyond the current end of the file; EACCES:
///               the file is not open for this access; ENODEV: the file cannot be mapped; ENOMEM. If the file
///               is truncated afterwards, an access beyond its end raises SIGBUS; so does a disk error. For
///               files that others may change, file::read_at() is the better choice. A page that is not in
///               memory blocks the thread that touches it.
/// Cost          of(): a closure in the blocking pool. sync(): another.
/// Example       examples/files.cpp
class ROTA_API mapping {
 public:
  mapping() noexcept = default;
  mapping(mapping&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        ahead_(std::exchange(other.ahead_, 0)),
        writable_(std::exchange(other.writable_, false)) {}
  mapping& operator=(mapping&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(size_, other.size_);
    std::swap(ahead_, other.ahead_);
    std::swap(writable_, other.writable_);
    return *this;
  }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  ~mapping();

  static task<result<mapping>> of(const file& f);
  static task<result<mapping>> of(const file& f, mapping_options how);

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {at_, size_}; }
  /// Returns an empty span if the file was mapped for reading only.
  [[nodiscard]] std::span<std::byte> writable() noexcept {
    return writable_ ? std::span<std::byte>(at_, size_) : std::span<std::byte>();
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }

  /// Tells the system how the pages of `count` bytes from `first` on will be used. Fails with
  /// std::errc::result_out_of_range.
  result<void> advise(advice what) noexcept { return advise(what, 0, size_); }
  result<void> advise(advice what, std::size_t first, std::size_t count) noexcept;
  /// Flushes writes to the disk. Does nothing for access::read and access::copy.
  ROTA_DETAIL_WRAPPER task<result<void>> sync() { return sync(0, size_); }
  task<result<void>> sync(std::size_t first, std::size_t count);

 private:
  [[nodiscard]] std::span<std::byte> pages_of(std::size_t first, std::size_t count) const noexcept;

  std::byte* at_ = nullptr;
  std::size_t size_ = 0;
  std::size_t ahead_ = 0;  // bytes of the first page before the mapped range
  bool writable_ = false;
};

}  // namespace rota::fs
