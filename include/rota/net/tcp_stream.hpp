// A TCP connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <rota/io/result.hpp>
#include <rota/leaf.hpp>
#include <rota/net/endpoint.hpp>
#include <rota/task.hpp>

namespace rota::net {

using io::result;

enum class shutdown_how : unsigned char { read, write, both };

namespace detail {

class socket;

/// Shares a socket between the halves of a stream; the last one closes it.
class ROTA_API socket_ref {
 public:
  socket_ref() noexcept = default;
  explicit socket_ref(socket* s) noexcept : socket_(s) {}  // takes over a reference
  socket_ref(const socket_ref& other) noexcept;
  socket_ref(socket_ref&& other) noexcept : socket_(std::exchange(other.socket_, nullptr)) {}
  socket_ref& operator=(socket_ref other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~socket_ref();
  [[nodiscard]] socket* get() const noexcept { return socket_; }
  [[nodiscard]] explicit operator bool() const noexcept { return socket_ != nullptr; }

 private:
  socket* socket_ = nullptr;
};

/// One operation on a socket: tries it, waits until the driver says that it may succeed, tries again.
class ROTA_API socket_leaf : public leaf {
 public:
  static constexpr bool may_lose = true;

  [[nodiscard]] bool is_ready() noexcept override;
  cancel_progress try_cancel(cancel_reason reason) noexcept override;

 protected:
  socket_leaf(socket* s, bool for_writing) noexcept : socket_(s), for_writing_(for_writing) {}
  ~socket_leaf() = default;
  bool start() override;

  enum class [[nodiscard]] attempt : unsigned char { done, would_block };
  /// One try; keeps its result.
  virtual attempt try_once() noexcept = 0;
  [[nodiscard]] int descriptor() const noexcept;

 private:
  [[nodiscard]] bool try_or_wait() noexcept;
  socket* socket_;
  bool for_writing_;
  bool untried_ = false;  // the turn was given up first
  bool done_ = false;
};

class ROTA_API read_leaf final : public socket_leaf {
 public:
  read_leaf(socket* s, std::span<std::byte> into) noexcept : socket_leaf(s, false), into_(into) {}
  result<std::size_t> await_resume() noexcept { return std::move(result_); }
  [[nodiscard]] const char* what() const noexcept override { return "socket read"; }

 private:
  attempt try_once() noexcept override;
  std::span<std::byte> into_;
  result<std::size_t> result_{0};
};

class ROTA_API write_leaf final : public socket_leaf {
 public:
  write_leaf(socket* s, std::span<const std::byte> from, bool all) noexcept
      : socket_leaf(s, true), from_(from), all_(all) {}
  result<std::size_t> await_resume() noexcept { return std::move(result_); }
  [[nodiscard]] const char* what() const noexcept override { return "socket write"; }

 private:
  attempt try_once() noexcept override;
  std::span<const std::byte> from_;
  bool all_;
  result<std::size_t> result_{0};
};

class ROTA_API send_file_leaf final : public socket_leaf {
 public:
  send_file_leaf(socket* s, int file, std::int64_t offset, std::size_t size) noexcept
      : socket_leaf(s, true), file_(file), offset_(offset), left_(size) {}
  result<std::size_t> await_resume() noexcept { return std::move(result_); }
  [[nodiscard]] const char* what() const noexcept override { return "socket send_file"; }

 private:
  attempt try_once() noexcept override;
  int file_;
  std::int64_t offset_;
  std::size_t left_;
  result<std::size_t> result_{0};
};

}  // namespace detail

/// A connected TCP socket, closed by its destructor.
///
/// Threads       One task at a time in each direction: one may read while another one writes (see `split`). Belongs to the
///               runtime in whose task it was made.
/// Ownership     Owns the descriptor. The buffer given to an operation must live until its co_await is done,
///               and does, if it belongs to the awaiting frame or to one further out.
/// Ordering      Bytes arrive in the order in which they were written.
/// Failure       std::error_code of the system. A peer that has gone is EPIPE or ECONNRESET, never a signal. Cancelled, an
///               operation has no effect, except that `write_all` may have sent a part.
/// Cost          One system call for each operation that need not wait, two for one that must. No allocation.
/// Example       examples/echo.cpp
class ROTA_API tcp_stream {
 public:
  /// Connects, within a task. ECONNREFUSED, ETIMEDOUT, ...
  [[nodiscard]] static task<result<tcp_stream>> connect(endpoint to);

  tcp_stream(tcp_stream&&) noexcept = default;
  tcp_stream& operator=(tcp_stream&&) noexcept = default;
  ~tcp_stream() = default;

  /// Some bytes, at most `into.size()`; 0: the peer has finished (or `into` is empty).
  [[nodiscard]] detail::read_leaf read(std::span<std::byte> into) noexcept {
    return detail::read_leaf(socket_.get(), into);
  }
  /// Some bytes; how many.
  [[nodiscard]] detail::write_leaf write(std::span<const std::byte> from) noexcept {
    return detail::write_leaf(socket_.get(), from, false);
  }
  /// All of them. After an error an unknown part has been sent.
  [[nodiscard]] detail::write_leaf write_all(std::span<const std::byte> from) noexcept {
    return detail::write_leaf(socket_.get(), from, true);
  }
  /// `size` bytes of an open file, from `offset`, without copying them through this process. Fewer: the file ended.
  [[nodiscard]] detail::send_file_leaf send_file(int file, std::int64_t offset, std::size_t size) noexcept {
    return detail::send_file_leaf(socket_.get(), file, offset, size);
  }

  /// Says that this side has finished: the peer reads 0.
  result<void> shutdown(shutdown_how how) noexcept;
  result<void> set_nodelay(bool on) noexcept;
  /// Holds small writes back until it is turned off, or 200 ms have passed (TCP_CORK).
  result<void> set_cork(bool on) noexcept;
  /// Closing resets the connection at once, and the peer sees ECONNRESET (SO_LINGER 0).
  result<void> reset_on_close() noexcept;
  [[nodiscard]] result<endpoint> local_endpoint() const noexcept;
  [[nodiscard]] result<endpoint> peer_endpoint() const noexcept;
  [[nodiscard]] int native_handle() const noexcept;

  class read_half;
  class write_half;
  /// Two owners of one connection, for two tasks. It is closed when both have gone; dropping the write half does not
  /// tell the peer: call its shutdown().
  [[nodiscard]] std::pair<read_half, write_half> split() &&;

 private:
  friend class tcp_listener;
  explicit tcp_stream(detail::socket_ref s) noexcept : socket_(std::move(s)) {}
  detail::socket_ref socket_;
};

class ROTA_API tcp_stream::read_half {
 public:
  [[nodiscard]] detail::read_leaf read(std::span<std::byte> into) noexcept {
    return detail::read_leaf(socket_.get(), into);
  }

 private:
  friend class tcp_stream;
  explicit read_half(detail::socket_ref s) noexcept : socket_(std::move(s)) {}
  detail::socket_ref socket_;
};

class ROTA_API tcp_stream::write_half {
 public:
  [[nodiscard]] detail::write_leaf write(std::span<const std::byte> from) noexcept {
    return detail::write_leaf(socket_.get(), from, false);
  }
  [[nodiscard]] detail::write_leaf write_all(std::span<const std::byte> from) noexcept {
    return detail::write_leaf(socket_.get(), from, true);
  }
  result<void> shutdown() noexcept;

 private:
  friend class tcp_stream;
  explicit write_half(detail::socket_ref s) noexcept : socket_(std::move(s)) {}
  detail::socket_ref socket_;
};

}  // namespace rota::net
