// The datagram operations, for every kind of address.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <rota/detail/chrono.hpp>
#include <rota/detail/net_leaves.hpp>
#include <rota/detail/task_timer.hpp>

namespace rota::net {

class endpoint;
class unix_endpoint;
struct datagram;

namespace detail {

/// Receives one datagram. The part that does not fit into `into` is lost.
class ROTA_DETAIL_AWAIT_IT ROTA_API receive_leaf : public counting_leaf {
 public:
  receive_leaf(socket* s, std::span<std::byte> into, read_leaf::what_then then) noexcept
      : counting_leaf(s, false), into_(into), then_(then) {}
  ~receive_leaf() = default;
  [[nodiscard]] const char* what() const noexcept override { return "datagram receive"; }

 protected:
  /// Receives the sender's address as the system returned it.
  virtual void note_sender(const void* /*address*/, std::size_t /*size*/) noexcept {}

 private:
  attempt try_once() noexcept override;
  std::span<std::byte> into_;
  read_leaf::what_then then_;
};

/// Receives one datagram, and reports its sender.
template <class Endpoint>
class ROTA_DETAIL_AWAIT_IT ROTA_API receive_from_leaf final : public receive_leaf {
 public:
  receive_from_leaf(socket* s, std::span<std::byte> into, Endpoint& from, read_leaf::what_then then) noexcept
      : receive_leaf(s, into, then), from_(&from) {}

 private:
  void note_sender(const void* address, std::size_t size) noexcept override;
  Endpoint* from_;
};
extern template class receive_from_leaf<endpoint>;
extern template class receive_from_leaf<unix_endpoint>;

/// Sends one datagram to the peer.
class ROTA_DETAIL_AWAIT_IT ROTA_API send_leaf : public counting_leaf {
 public:
  send_leaf(socket* s, std::span<const std::byte> from) noexcept : counting_leaf(s, true), from_(from) {}
  ~send_leaf() = default;
  [[nodiscard]] const char* what() const noexcept override { return "datagram send"; }

 protected:
  /// Writes the receiver's address, at most 128 bytes, and returns its size. Returns 0 for the peer.
  virtual std::size_t write_receiver(void* /*address*/) const noexcept { return 0; }
  attempt try_once() noexcept override;

 private:
  std::span<const std::byte> from_;
};

/// Sends one datagram to a given address.
template <class Endpoint>
class ROTA_DETAIL_AWAIT_IT ROTA_API send_to_leaf final : public send_leaf {
 public:
  send_to_leaf(socket* s, std::span<const std::byte> from, const Endpoint& to) noexcept
      : send_leaf(s, from), to_(&to) {}

 private:
  std::size_t write_receiver(void* address) const noexcept override;
  const Endpoint* to_;
};
extern template class send_to_leaf<endpoint>;

/// The same for a unix socket. The system does not report when a receiver that is not the peer has space. So
/// it tries again after 1 ms, 2 ms, .. 64 ms.
class ROTA_DETAIL_AWAIT_IT ROTA_API unix_send_to_leaf final : public send_leaf {
 public:
  unix_send_to_leaf(socket* s, std::span<const std::byte> from, const unix_endpoint& to) noexcept
      : send_leaf(s, from), to_(&to) {}

 private:
  std::size_t write_receiver(void* address) const noexcept override;
  attempt try_once() noexcept override;
  [[nodiscard]] bool pause_is_over() noexcept override { return timer_.has_fired(); }
  void end_pause() noexcept override { timer_.disarm(); }
  const unix_endpoint* to_;
  std::chrono::milliseconds wait_{1};
  timing::task_timer timer_;
};

class ROTA_DETAIL_AWAIT_IT ROTA_API receive_batch_leaf final : public counting_leaf {
 public:
  receive_batch_leaf(socket* s, std::span<datagram> into) noexcept : counting_leaf(s, false), into_(into) {}
  [[nodiscard]] const char* what() const noexcept override { return "datagram receive"; }

 private:
  attempt try_once() noexcept override;
  std::span<datagram> into_;
};

class ROTA_DETAIL_AWAIT_IT ROTA_API send_batch_leaf final : public counting_leaf {
 public:
  send_batch_leaf(socket* s, std::span<const datagram> from) noexcept : counting_leaf(s, true), from_(from) {}
  [[nodiscard]] const char* what() const noexcept override { return "datagram send"; }

 private:
  attempt try_once() noexcept override;
  std::span<const datagram> from_;
};

/// Receive and send without waiting.
[[nodiscard]] ROTA_API result<std::size_t> try_receive(const socket_ref& s,
                                                       std::span<std::byte> into) noexcept;
[[nodiscard]] ROTA_API result<std::size_t> try_send(const socket_ref& s,
                                                    std::span<const std::byte> from) noexcept;

}  // namespace detail
}  // namespace rota::net
