// The open connections: counted, cancelled at a drain, and waited for.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include <rota/join_handle.hpp>
#include <rota/leaf.hpp>

namespace file_server {

/// One open connection. `idle` is true while it waits for the first byte of a request.
struct connection {
  rota::join_handle<void> task{};
  std::atomic<bool> idle{false};
  bool known = false;  // started() was called
  bool gone = false;   // leave() was called
};

// PROTOCOL: a connection of the list
//   A session runs as soon as it is spawned, and may end before its spawner has the handle. So started() and
//   leave() come in any order. The second of the two removes the connection. All but `idle` is guarded by
//   `mutex_`.

/// Threads    Any, concurrently.
class connections {
 public:
  using place = std::list<connection>::iterator;

  explicit connections(std::uint32_t most) noexcept : most_(most) {}

  /// Returns nullopt if `most` connections are open.
  [[nodiscard]] std::optional<place> enter();
  /// Call both once for each entered connection. It stays open until both have been called.
  void started(place where, rota::join_handle<void> task);
  void leave(place where) noexcept;

  /// Cancels the idle connections. A connection that becomes idle later checks is_draining().
  void drain();
  /// Cancels all connections, whatever they do.
  void end();
  [[nodiscard]] bool is_draining() const noexcept { return draining_.load(); }
  [[nodiscard]] std::uint32_t open() const noexcept { return open_.load(std::memory_order::relaxed); }

  /// Waits until no connection is open.
  class none_leaf final : public rota::leaf {
   public:
    explicit none_leaf(connections& of) noexcept : of_(of) {}
    bool is_ready() noexcept override;
    rota::cancel_progress try_cancel(rota::cancel_reason reason) noexcept override;
    const char* what() const noexcept override { return "the last connection"; }
    static void await_resume() noexcept {}

   protected:
    bool start() override;

   private:
    connections& of_;
  };
  [[nodiscard]] none_leaf none() noexcept { return none_leaf(*this); }

 private:
  /// What was removed under the lock. It is destroyed, and its waker is woken, outside of the lock.
  struct removed {
    std::list<connection> node;
    rota::waker waiting;
  };
  [[nodiscard]] removed remove(place where) noexcept;

  const std::uint32_t most_;
  std::atomic<std::uint32_t> open_{0};
  std::atomic<bool> draining_{false};
  std::mutex mutex_;
  std::list<connection> list_;
  rota::waker waiting_;
  bool ending_ = false;
};

}  // namespace file_server
