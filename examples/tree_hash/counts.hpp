// Counters of the progress.
#pragma once

#include <atomic>
#include <cstdint>

namespace tree_hash {

/// A copy of the counters. They are read one after the other while they grow, so they need not fit together.
struct tally {
  std::uint64_t files_done = 0;
  std::uint64_t files_found = 0;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_found = 0;
  friend bool operator==(const tally&, const tally&) = default;
};

/// Counters that all threads update. When all files have been read, the done counters equal the found
/// counters.
class counts {
 public:
  void found(std::uint64_t size) noexcept {
    add(files_found_, 1);
    add(bytes_found_, size);
  }
  void read(std::uint64_t bytes) noexcept { add(bytes_done_, bytes); }
  /// A file that was found with `size` bytes turned out to have `bytes`.
  void finished(std::uint64_t size, std::uint64_t bytes) noexcept {
    add(bytes_found_, bytes - size);
    add(files_done_, 1);
  }
  /// A file that was found with `size` could not be read beyond `bytes`. It does not count.
  void failed(std::uint64_t size, std::uint64_t bytes) noexcept {
    add(bytes_done_, 0 - bytes);
    add(bytes_found_, 0 - size);
    add(files_found_, std::uint64_t{0} - 1);
  }

  [[nodiscard]] tally now() const noexcept {
    return {.files_done = files_done_.load(),
            .files_found = files_found_.load(),
            .bytes_done = bytes_done_.load(),
            .bytes_found = bytes_found_.load()};
  }

 private:
  static void add(std::atomic<std::uint64_t>& to, std::uint64_t n) noexcept {
    to.fetch_add(n, std::memory_order::relaxed);
  }

  std::atomic<std::uint64_t> files_done_{0};
  std::atomic<std::uint64_t> files_found_{0};
  std::atomic<std::uint64_t> bytes_done_{0};
  std::atomic<std::uint64_t> bytes_found_{0};
};

}  // namespace tree_hash
