// Copies from a reader to a writer, and both ways between two streams.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <rota/detail/io_buffers.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/concepts.hpp>
#include <rota/scope.hpp>

namespace rota::io {

struct copy_options {
  std::uint64_t limit = ~std::uint64_t{0};  // the most bytes in each direction
  std::size_t buffer = 65536;               // 16..2^24 bytes
};

/// How many bytes copy_both() has moved.
struct copied {
  std::uint64_t there = 0;  // from the first to the second
  std::uint64_t back = 0;
};

namespace detail {

template <class W, class R>
concept takes_from = requires(W& to, R& from, copy_options o) {
  { to.take_from(from, o) } -> yields<result<std::uint64_t>>;
};

/// The buffer of a copy. Throws `std::invalid_argument`, `std::bad_alloc`.
class copy_buffer {
 public:
  explicit copy_buffer(std::size_t size) : bytes_(checked_capacity("io::copy", size)) {}
  [[nodiscard]] std::span<std::byte> first(std::uint64_t most) const noexcept {
    return {bytes_.data(), most < bytes_.size() ? static_cast<std::size_t>(most) : bytes_.size()};
  }

 private:
  raw_bytes bytes_;
};

template <reader R, writer W>
task<result<std::uint64_t>> copy_by_buffer(R& from, W& to, copy_options o) {
  const copy_buffer buffer(o.buffer);
  std::uint64_t done = 0;
  while (done < o.limit) {
    const std::span<std::byte> room = buffer.first(o.limit - done);
    const result<std::size_t> got = co_await from.read(room);
    if (!got.has_value()) co_return std::unexpected(got.error());
    if (*got == 0) break;
    const result<void> put = co_await io::write_all(to, room.first(*got));
    if (!put.has_value()) co_return std::unexpected(put.error());
    done += *got;
  }
  co_return done;
}

template <class S>
task<result<void>> pass_end(S& to) {
  result<void> passed;
  if constexpr (half_closer<S>) {
    using given = decltype(to.shutdown_write());
    if constexpr (std::is_void_v<given>) {
      to.shutdown_write();
    } else if constexpr (std::same_as<given, result<void>>) {
      passed = to.shutdown_write();
    } else if constexpr (std::is_void_v<core::await_result<given>>) {
      co_await to.shutdown_write();
    } else {
      passed = co_await to.shutdown_write();
    }
  }
  co_return passed;
}

}  // namespace detail

/// Copies from `from` to `to` until `from` ends, or until `o.limit` bytes have been copied. Returns how many
/// bytes were copied. Uses `to.take_from(from, o)` if that exists.
///
/// Threads       As reader and writer.
/// Ownership     Refers to both until its co_await is done.
/// Failure       Returns the first error of either. If cancelled, timed out or failed, a part may have been
///               written, and the bytes that were read last may be lost: close both. Throws
///               `std::invalid_argument` for `o.buffer`, `std::bad_alloc`.
/// Cost          Two frames and a buffer; a read and a write for each filled buffer.
/// Example       examples/port_forward.cpp
template <reader R, writer W>
task<result<std::uint64_t>> copy(R& from, W& to, copy_options o = {}) {
  if constexpr (detail::takes_from<W, R>) {
    co_return co_await to.take_from(from, o);
  } else {
    co_return co_await detail::copy_by_buffer(from, to, o);
  }
}

namespace detail {

/// Cancels both directions in its destructor, unless not_now() was called because a direction has ended
/// without an error.
class ends_both {
 public:
  explicit ends_both(scope& both) noexcept : both_(&both) {}
  ends_both(const ends_both&) = delete;
  ends_both& operator=(const ends_both&) = delete;
  ~ends_both() {
    if (both_ != nullptr) both_->cancel();
  }
  void not_now() noexcept { both_ = nullptr; }

 private:
  scope* both_;
};

/// Copies in one direction and passes the end on. An error or exception cancels the other direction, too.
template <reader R, writer W>
task<result<std::uint64_t>> copy_and_pass_end(R& from, W& to, copy_options o, scope& both) {
  ends_both unless_done(both);
  result<std::uint64_t> done = co_await io::copy(from, to, o);
  if (done.has_value()) {
    const result<void> passed = co_await pass_end(to);
    if (!passed.has_value()) done = std::unexpected(passed.error());
  }
  if (done.has_value()) unless_done.not_now();
  co_return done;
}

/// Returns the error of an outcome. Rethrows its exception. Ignores a direction that was cancelled.
[[nodiscard]] inline std::optional<std::error_code> error_in(outcome<result<std::uint64_t>>& end,
                                                             std::uint64_t& sum) {
  if (end.is_cancelled()) return std::nullopt;
  const result<std::uint64_t> got = std::move(end).value();
  if (!got.has_value()) return got.error();
  sum = *got;
  return std::nullopt;
}

}  // namespace detail

/// Copies from `a` to `b` and from `b` to `a` at the same time, until both have ended. The end of one stream
/// is passed on by shutdown_write() of the other one, if that is a half_closer. The other direction goes on.
///
///   const auto moved = co_await rota::io::copy_both(client, server);
///
/// Threads       As the streams: one task reads a stream while another task writes it.
/// Ownership     Refers to both until its co_await is done.
/// Failure       The first direction that fails ends the other one. An error is returned, and a part may have
///               been written in either direction. The same holds after a cancellation. Throws as copy(). To
///               learn how much was moved in these cases, use counted.
/// Cost          Two tasks, each as copy().
/// Example       examples/port_forward.cpp
template <stream A, stream B>
task<result<copied>> copy_both(A& a, B& b, copy_options o = {}) {
  copied sum;
  std::optional<std::error_code> error;
  co_await with_scope([&](scope& both) -> task<void> {
    join_handle<result<std::uint64_t>> there = both.spawn(detail::copy_and_pass_end(a, b, o, both));
    join_handle<result<std::uint64_t>> back = both.spawn(detail::copy_and_pass_end(b, a, o, both));
    outcome<result<std::uint64_t>> first = co_await there.result();
    outcome<result<std::uint64_t>> second = co_await back.result();
    error = detail::error_in(first, sum.there);
    const std::optional<std::error_code> other = detail::error_in(second, sum.back);
    if (!error.has_value()) error = other;
  });
  if (error.has_value()) co_return std::unexpected(*error);
  co_return sum;
}

}  // namespace rota::io
