// The operations of all streams.
#include <rota/detail/net_stream.hpp>

#include "net/options.hpp"
#include "net/socket.hpp"

#include <rota/error.hpp>
#include <rota/time.hpp>

#include <poll.h>
#include <array>
#include <chrono>
#include <utility>

namespace rota::net {

namespace sys = base::sys;

namespace detail {

namespace {

/// The most parts of one call.
constexpr std::size_t most_parts = 64;

/// Parts in the system's form, without the empty ones.
class parts {
 public:
  void add(const std::byte* bytes, std::size_t size) noexcept {
    if (size == 0 || count_ == most_parts) return;
    of_[count_++] = {const_cast<std::byte*>(bytes), size};
    size_ += size;
  }
  [[nodiscard]] const iovec* get() const noexcept { return of_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool is_full() const noexcept { return count_ == most_parts; }

 private:
  iovec of_[most_parts];
  std::size_t count_ = 0;
  std::size_t size_ = 0;
};

std::unexpected<std::error_code> closed() noexcept { return std::unexpected(make_error_code(errc::closed)); }

result<std::size_t> try_to_read(const socket_ref& s, std::span<std::byte> into) noexcept {
  if (s && s.get()->is_closed()) return closed();
  if (into.empty()) return 0;
  // Clears the mark, so that the next read tries first.
  if (s) static_cast<void>(s.get()->take_drained());
  return sys::receive(s.descriptor(), into.data(), into.size());
}

result<std::size_t> try_to_write(const socket_ref& s, std::span<const std::byte> from) noexcept {
  if (s && s.get()->is_closed()) return closed();
  if (from.empty()) return 0;
  return sys::send(s.descriptor(), from.data(), from.size());
}

}  // namespace

socket_leaf::attempt read_leaf::try_once() noexcept {
  // An empty read returns 0 here: the system call would return EAGAIN for a socket with nothing to receive.
  if (into_.empty()) return attempt::done;
  const bool peeks = then_ == what_then::stays;
  result_ = peeks ? sys::peek(descriptor(), into_.data(), into_.size())
                  : sys::receive(descriptor(), into_.data(), into_.size());
  charge(result_.value_or(0));
  if (!peeks && result_.has_value()) note_read(*result_ < into_.size());
  return sys::would_block(result_) ? attempt::would_block : attempt::done;
}

bool read_v_leaf::reads_all() const noexcept {
  for (const std::span<std::byte> each : into_) {
    if (!each.empty()) return true;
  }
  return false;
}

socket_leaf::attempt read_v_leaf::try_once() noexcept {
  parts all;
  for (const std::span<std::byte> each : into_) all.add(each.data(), each.size());
  if (all.count() == 0) return attempt::done;
  result_ = sys::receive_vector(descriptor(), all.get(), all.count());
  charge(result_.value_or(0));
  if (result_.has_value()) note_read(*result_ < all.size());
  return sys::would_block(result_) ? attempt::would_block : attempt::done;
}

socket_leaf::attempt write_leaf::try_once() noexcept {
  // A large write fills the socket and is tried again; result_ counts the bytes that were sent.
  while (!from_.empty()) {
    const result<std::size_t> sent = sys::send(descriptor(), from_.data(), from_.size());
    if (!sent.has_value()) {
      if (sys::would_block(sent.error())) return attempt::would_block;
      result_ = sent;
      return attempt::done;
    }
    charge(*sent);
    *result_ += *sent;
    from_ = from_.subspan(*sent);
    if (!all_) break;
    if (!from_.empty() && gives_turn_up()) return attempt::paused;
  }
  return attempt::done;
}

void write_v_leaf::advance(std::size_t n) noexcept {
  sent_of_first_ += n;
  while (!from_.empty() && sent_of_first_ >= from_.front().size()) {
    sent_of_first_ -= from_.front().size();
    from_ = from_.subspan(1);
  }
}

socket_leaf::attempt write_v_leaf::try_once() noexcept {
  for (;;) {
    advance(0);  // skips empty parts
    parts some;
    for (std::size_t i = 0; i < from_.size() && !some.is_full(); ++i) {
      const std::span<const std::byte> left = from_[i].subspan(i == 0 ? sent_of_first_ : 0);
      some.add(left.data(), left.size());
    }
    if (some.count() == 0) return attempt::done;
    const result<std::size_t> sent = sys::send_vector(descriptor(), some.get(), some.count());
    if (!sent.has_value()) {
      if (sys::would_block(sent.error())) return attempt::would_block;
      result_ = sent;
      return attempt::done;
    }
    charge(*sent);
    *result_ += *sent;
    advance(*sent);
    if (!all_ || from_.empty()) return attempt::done;
    if (gives_turn_up()) return attempt::paused;
  }
}

socket_leaf::attempt send_file_leaf::try_once() noexcept {
  // The kernel may send less than it is asked for although the socket is not full. Each call is limited, so
  // that other tasks get their turns.
  constexpr std::size_t most_at_once = std::size_t{1} << 20U;
  while (left_ != 0) {
    const result<std::size_t> sent =
        sys::send_file(descriptor(), file_, offset_, left_ < most_at_once ? left_ : most_at_once);
    if (!sent.has_value()) {
      if (sys::would_block(sent.error())) return attempt::would_block;
      result_ = sent;
      return attempt::done;
    }
    if (*sent == 0) break;  // the file has become shorter
    charge(*sent);
    *result_ += *sent;
    offset_ += static_cast<std::int64_t>(*sent);
    left_ -= *sent;
    if (left_ != 0 && gives_turn_up()) return attempt::paused;
  }
  return attempt::done;
}

socket_leaf::attempt ready_leaf::try_once() noexcept {
  // An event reports only a change: a socket that was ready all the time has none. So the system is asked.
  const result<bool> ready = sys::is_ready_now(descriptor(), for_writing_ ? POLLOUT : POLLIN | POLLRDHUP);
  if (ready.has_value() && !*ready) return attempt::would_block;
  if (!ready.has_value()) result_ = std::unexpected(ready.error());
  return attempt::done;
}

result<std::size_t> reading_socket::try_read(std::span<std::byte> into) noexcept {
  return try_to_read(socket_, into);
}

result<std::size_t> writing_socket::try_write(std::span<const std::byte> from) noexcept {
  return try_to_write(socket_, from);
}

result<void> writing_socket::shutdown_write() noexcept {
  return sys::shutdown(socket_.descriptor(), SHUT_WR);
}

result<std::size_t> stream_socket::try_read(std::span<std::byte> into) noexcept {
  return try_to_read(socket_, into);
}

result<std::size_t> stream_socket::try_write(std::span<const std::byte> from) noexcept {
  return try_to_write(socket_, from);
}

namespace {

/// Reads and discards until the peer has finished.
task<result<void>> discard_all(socket_ref from) {
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const result<std::size_t> got = co_await read_leaf(from.get(), buffer);
    if (!got.has_value()) co_return std::unexpected(got.error());
    if (*got == 0) co_return result<void>();
  }
}

task<result<finish_outcome>> finish_socket(socket_ref s, std::chrono::nanoseconds limit) {
  if (!s) co_return std::unexpected(std::make_error_code(std::errc::bad_file_descriptor));
  if (!s.get()->may_wait()) co_return std::unexpected(make_error_code(errc::forked));
  if (s.get()->is_closed()) co_return closed();
  result<void> end = sys::shutdown(s.descriptor(), SHUT_WR);
  if (end.has_value()) {
    auto discarding = discard_all(s);
    end = co_await timeout(limit, std::move(discarding));
  }
  const bool is_late = !end.has_value() && end.error() == errc::timed_out;
  s.close();
  if (is_late) co_return finish_outcome::limit_reached;
  if (!end.has_value()) co_return std::unexpected(end.error());
  co_return finish_outcome::end_of_stream;
}

}  // namespace

task<result<finish_outcome>> stream_socket::finish(std::chrono::nanoseconds limit) {
  return finish_socket(socket_, limit);
}

bool stream_socket::is_of_this_process() const noexcept { return socket_ && socket_.get()->may_wait(); }

void stream_socket::discard_received() noexcept {
  if (!is_of_this_process()) return;
  // Also for a socket that close() has shut down: its descriptor is still open.
  static_cast<void>(socket_.get()->take_drained());
  constexpr unsigned most_reads = 256;
  std::array<std::byte, 4096> buffer;
  for (unsigned i = 0; i < most_reads; ++i) {
    if (sys::receive(socket_.descriptor(), buffer.data(), buffer.size()).value_or(0) == 0) return;
  }
}

result<void> stream_socket::shutdown(shutdown_how how) noexcept {
  switch (how) {
    case shutdown_how::read: return sys::shutdown(native_handle(), SHUT_RD);
    case shutdown_how::write: return sys::shutdown(native_handle(), SHUT_WR);
    case shutdown_how::both: break;
  }
  return sys::shutdown(native_handle(), SHUT_RDWR);
}

std::error_code stream_socket::take_error() noexcept {
  const result<void> error = sys::socket_error(native_handle());
  return error.has_value() ? std::error_code() : error.error();
}

result<void> stream_socket::set_receive_buffer(int bytes) noexcept {
  return set_buffer(native_handle(), SO_RCVBUF, bytes);
}
result<void> stream_socket::set_send_buffer(int bytes) noexcept {
  return set_buffer(native_handle(), SO_SNDBUF, bytes);
}
result<int> stream_socket::receive_buffer() const noexcept { return buffer(native_handle(), SO_RCVBUF); }
result<int> stream_socket::send_buffer() const noexcept { return buffer(native_handle(), SO_SNDBUF); }

}  // namespace detail
}  // namespace rota::net
