// A file as memory.
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
    write,  // what is written into the memory is written into the file; it must be open to read and write
    copy,   // what is written is seen here alone
  };
  access how = access::read;
  std::uint64_t offset = 0;             // any
  std::optional<std::size_t> length{};  // nothing: to the end
};

enum class advice : unsigned char {
  normal,
  sequential,
  random,
  will_need,  // the system begins to read it
  dont_need,  // it may let go of it; of `copy`: what was written is gone
};

/// Some of a file, or all, as memory; unmapped by its destructor.
///
/// Threads       Any: as memory. Two that write the same byte race, as with any memory; so does another process.
/// Ownership     Owns the pages, and not the file, which may be closed.
/// Ordering      As memory; what is written into the file by other means is seen here.
/// Failure       of(): std::errc::invalid_argument: a length of 0, or an empty rest; std::errc::result_out_of_range: it goes beyond the end of the file, as
///               it is now; EACCES: the file is not open so; ENODEV: it cannot be mapped; ENOMEM. Whoever cuts the file afterwards makes of each access
///               beyond its end a SIGBUS, and an error of the disk is one, too: for files that others may change, file::read_at() is the better way.
///               A page that is not in memory blocks the thread that touches it.
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
  /// Empty, if it was mapped to be read.
  [[nodiscard]] std::span<std::byte> writable() noexcept {
    return writable_ ? std::span<std::byte>(at_, size_) : std::span<std::byte>();
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }

  /// How it will be used; of `count` bytes from `first` on, and what else is in their pages. std::errc::result_out_of_range.
  result<void> advise(advice what) noexcept { return advise(what, 0, size_); }
  result<void> advise(advice what, std::size_t first, std::size_t count) noexcept;
  /// What was written is on the disk. Of what was mapped to be read, or copied, there is nothing.
  ROTA_DETAIL_WRAPPER task<result<void>> sync() { return sync(0, size_); }
  task<result<void>> sync(std::size_t first, std::size_t count);

 private:
  [[nodiscard]] std::span<std::byte> pages_of(std::size_t first, std::size_t count) const noexcept;

  std::byte* at_ = nullptr;
  std::size_t size_ = 0;
  std::size_t ahead_ = 0;  // bytes of the first page before it
  bool writable_ = false;
};

}  // namespace rota::fs
