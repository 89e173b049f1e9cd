// The epoll driver: one epoll instance, one eventfd to interrupt it, and a slot for every descriptor.
#pragma once

#include "base/mutex.hpp"
#include "base/sys/events.hpp"
#include "driver/registration.hpp"
#include "task/ports.hpp"

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <system_error>

namespace rota::driver {

/// An event that wait() found. The thread that found it dispatches it, even if another thread waits
/// meanwhile.
using event = core::driver_event;

/// What a descriptor is watched for. Event and timer descriptors use `input` alone, since every read of them
/// is an edge for output.
enum class interest : std::uint8_t { both, input };

class epoll {
 public:
  static constexpr std::uint32_t chunk = 256;
  static constexpr std::uint32_t max_slots = 1U << 20U;

  epoll() = default;
  epoll(const epoll&) = delete;
  epoll& operator=(const epoll&) = delete;
  ~epoll();

  /// Opens the epoll instance. EMFILE and the like.
  [[nodiscard]] std::error_code open() noexcept;
  /// Makes wait() return when `fd` becomes readable, without an event for it. Lasts as long as this object.
  [[nodiscard]] std::error_code watch_for_others(int fd) noexcept;

  /// Blocks until there are events, interrupt() was called, or the deadline has come. One thread at a time.
  unsigned wait(base::time_point deadline, event* found, unsigned most) noexcept;
  void dispatch(const event* found, unsigned count) noexcept;
  void interrupt() noexcept;

  /// Watches `fd` until remove(). Throws nothing; ENOMEM, ENOSPC, EPERM (a regular file).
  [[nodiscard]] std::expected<std::uint32_t, std::error_code> add(int fd, interest what) noexcept;
  /// Stops watching. Call it before the descriptor is closed, and when no task waits for it any more.
  void remove(std::uint32_t slot) noexcept;
  /// Stops watching a descriptor that stays open.
  void remove_open(std::uint32_t slot, int fd) noexcept;
  [[nodiscard]] registration& at(std::uint32_t slot) noexcept;

  /// Returns the number of descriptors that are watched now.
  [[nodiscard]] std::uint32_t watched() const noexcept {
    // relaxed: a counter for reports.
    return watched_.load(base::order::relaxed);
  }

 private:
  static constexpr std::uint64_t key_of_others = ~std::uint64_t{0};  // the highest bit is in no other key
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  using slots = std::array<registration, chunk>;

  [[nodiscard]] std::uint32_t take_slot() noexcept;
  void give_slot(std::uint32_t slot) noexcept;

  int epoll_ = -1;
  int event_fd_ = -1;
  base::atomic<std::uint32_t> watched_{0};

  base::mutex mutex_;  // guards the free list and the growth of the table
  std::uint32_t free_ = none;
  std::uint32_t used_ = 0;
  // Chunks are published by a release store and never move: dispatch() reads them without the lock.
  std::array<base::atomic<slots*>, max_slots / chunk>* table_ = nullptr;
};

}  // namespace rota::driver
