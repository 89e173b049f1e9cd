// What the sockets of net/ share: a reference-counted descriptor, and operations that wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <rota/io/result.hpp>
#include <rota/leaf.hpp>

namespace rota::driver {
enum class direction : std::uint8_t;
}

namespace rota::net {

using io::result;

namespace detail {
class socket;
}

// All of its classes are part of the library's interface.
namespace ROTA_API detail {

/// A counted reference to a socket, for example of a half of a stream. The last reference closes the socket.
class socket_ref {
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
  /// Returns the descriptor, or -1 if there is none.
  [[nodiscard]] int descriptor() const noexcept;
  /// Gives up the descriptor, which is no longer watched. The reference is empty then.
  /// std::errc::device_or_resource_busy if there are other references.
  [[nodiscard]] result<int> release() noexcept;
  /// Wakes the waiting tasks, and shuts the descriptor down. It is closed with the last reference. Does
  /// nothing if the reference is empty.
  void close() const noexcept;

 private:
  socket* socket_ = nullptr;
};

/// A descriptor that is not watched yet.
class owned_descriptor {
 public:
  explicit owned_descriptor(int fd) noexcept : fd_(fd) {}
  owned_descriptor(owned_descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  owned_descriptor& operator=(owned_descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  owned_descriptor(const owned_descriptor&) = delete;
  owned_descriptor& operator=(const owned_descriptor&) = delete;
  ~owned_descriptor();
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// One operation on a socket: it tries, waits until the driver says that it may succeed, and tries again.
class socket_leaf : public leaf {
 public:
  static constexpr bool may_lose = true;

  [[nodiscard]] bool is_ready() noexcept override;
  cancel_progress try_cancel(cancel_reason reason) noexcept override;

 protected:
  socket_leaf(socket* s, bool for_writing) noexcept : socket_(s), for_writing_(for_writing) {}
  ~socket_leaf() = default;
  bool start() override;

  /// `paused` means that the leaf does not wait for the descriptor, and has arranged for its own wake.
  enum class [[nodiscard]] attempt : unsigned char { done, would_block, paused };
  /// Tries once, and keeps the result.
  virtual attempt try_once() noexcept = 0;
  /// Sets the error `why` as the result.
  virtual void fail(std::error_code why) noexcept = 0;
  /// Clears the result. Called when a finished leaf is awaited again.
  virtual void begin_anew() noexcept {}
  /// Returns true if the finished operation has moved data. If it returns false, the try may have met the end
  /// of the socket.
  [[nodiscard]] virtual bool has_moved() const noexcept = 0;
  /// Returns true for a read that takes all bytes that are there, if they fit, and calls note_read().
  [[nodiscard]] virtual bool reads_all() const noexcept { return false; }
  /// Returns true if a paused leaf may try again.
  [[nodiscard]] virtual bool pause_is_over() noexcept { return true; }
  /// Ends the pause. Called when a paused leaf is cancelled.
  virtual void end_pause() noexcept {}
  [[nodiscard]] int descriptor() const noexcept;
  /// For an operation of several system calls, after one of them. Returns true if the turn ends here because
  /// its budget is used up.
  [[nodiscard]] bool gives_turn_up() noexcept;
  /// `drained` means that the read got less than the buffer holds.
  void note_read(bool drained) noexcept;

 private:
  [[nodiscard]] driver::direction direction() const noexcept;
  bool end(std::error_code why) noexcept;
  [[nodiscard]] bool wait_or_try() noexcept;
  [[nodiscard]] bool try_or_wait() noexcept;
  socket* socket_;
  bool for_writing_;
  bool untried_ = false;        // the turn was given up before the first try
  bool waits_untried_ = false;  // it waits without a try, since the read before it has drained the socket
  bool paused_ = false;
  bool done_ = false;
};

/// An operation that counts bytes, or datagrams.
class counting_leaf : public socket_leaf {
 public:
  [[nodiscard]] result<std::size_t> await_resume() noexcept { return std::move(result_); }

 protected:
  using socket_leaf::socket_leaf;
  ~counting_leaf() = default;
  void fail(std::error_code why) noexcept final { result_ = std::unexpected(why); }
  void begin_anew() noexcept final { result_ = 0; }
  [[nodiscard]] bool has_moved() const noexcept final { return result_.has_value() && *result_ != 0; }

  result<std::size_t> result_{0};
};

class ROTA_DETAIL_AWAIT_IT read_leaf final : public counting_leaf {
 public:
  enum class what_then : unsigned char { taken, stays };

  read_leaf(socket* s, std::span<std::byte> into, what_then then = what_then::taken) noexcept
      : counting_leaf(s, false), into_(into), then_(then) {}
  [[nodiscard]] const char* what() const noexcept override { return "socket read"; }

 private:
  attempt try_once() noexcept override;
  [[nodiscard]] bool reads_all() const noexcept override {
    return then_ == what_then::taken && !into_.empty();
  }
  std::span<std::byte> into_;
  what_then then_;
};

class ROTA_DETAIL_AWAIT_IT read_v_leaf final : public counting_leaf {
 public:
  read_v_leaf(socket* s, std::span<const std::span<std::byte>> into) noexcept
      : counting_leaf(s, false), into_(into) {}
  [[nodiscard]] const char* what() const noexcept override { return "socket read"; }

 private:
  attempt try_once() noexcept override;
  [[nodiscard]] bool reads_all() const noexcept override;
  std::span<const std::span<std::byte>> into_;
};

class ROTA_DETAIL_AWAIT_IT write_leaf final : public counting_leaf {
 public:
  write_leaf(socket* s, std::span<const std::byte> from, bool all) noexcept
      : counting_leaf(s, true), from_(from), all_(all) {}
  [[nodiscard]] const char* what() const noexcept override { return "socket write"; }

 private:
  attempt try_once() noexcept override;
  std::span<const std::byte> from_;
  bool all_;
};

class ROTA_DETAIL_AWAIT_IT write_v_leaf final : public counting_leaf {
 public:
  write_v_leaf(socket* s, std::span<const std::span<const std::byte>> from, bool all) noexcept
      : counting_leaf(s, true), from_(from), all_(all) {}
  [[nodiscard]] const char* what() const noexcept override { return "socket write"; }

 private:
  attempt try_once() noexcept override;
  void advance(std::size_t n) noexcept;
  std::span<const std::span<const std::byte>> from_;  // a part of the first one may have been sent
  std::size_t sent_of_first_ = 0;
  bool all_;
};

class ROTA_DETAIL_AWAIT_IT send_file_leaf final : public counting_leaf {
 public:
  send_file_leaf(socket* s, int file, std::int64_t offset, std::size_t size) noexcept
      : counting_leaf(s, true), file_(file), offset_(offset), left_(size) {}
  [[nodiscard]] const char* what() const noexcept override { return "socket send_file"; }

 private:
  attempt try_once() noexcept override;
  int file_;
  std::int64_t offset_;
  std::size_t left_;
};

/// Waits until a read, or a write, would not wait.
class ROTA_DETAIL_AWAIT_IT ready_leaf final : public socket_leaf {
 public:
  ready_leaf(socket* s, bool for_writing) noexcept : socket_leaf(s, for_writing), for_writing_(for_writing) {}
  result<void> await_resume() noexcept { return std::move(result_); }
  [[nodiscard]] const char* what() const noexcept override { return "socket readiness"; }

 private:
  attempt try_once() noexcept override;
  void fail(std::error_code why) noexcept override { result_ = std::unexpected(why); }
  void begin_anew() noexcept override { result_ = {}; }
  [[nodiscard]] bool has_moved() const noexcept override { return false; }
  bool for_writing_;
  result<void> result_;
};

}  // namespace ROTA_API detail
}  // namespace rota::net
