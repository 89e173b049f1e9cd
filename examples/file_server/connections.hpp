// The connections that are open: counted, found when the server drains, and waited for.
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

/// One open connection. `idle`: it waits for the first byte of a request.
struct connection {
  rota::join_handle<void> task{};
  std::atomic<bool> idle{false};
  bool known = false;  // started() has been here
  bool gone = false;   // leave() has
};

// PROTOCOL: a connection of the list
//   A session runs as soon as it is spawned, and may be over before its spawner has the handle: started() and leave() come
//   in any order. The second of the two takes the connection out. All but `idle` is guarded by `mutex_`.

/// Threads    Any, at the same time.
class connections {
 public:
  using place = std::list<connection>::iterator;

  explicit connections(std::uint32_t most) noexcept : most_(most) {}

  /// Nothing: there are `most` already.
  [[nodiscard]] std::optional<place> enter();
  /// Both once for each that entered; it is open until both have been called.
  void started(place where, rota::join_handle<void> task);
  void leave(place where) noexcept;

  /// From now on idle connections end. Those that become idle later see it by is_draining().
  void drain();
  /// From now on all connections end, wherever they are.
  void end();
  [[nodiscard]] bool is_draining() const noexcept { return draining_.load(); }
  [[nodiscard]] std::uint32_t open() const noexcept { return open_.load(std::memory_order::relaxed); }

  /// Waits until none is open.
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
  /// Taken out under the lock, destroyed and woken without it.
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
