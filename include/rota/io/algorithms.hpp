// Algorithms that repeat reads or writes until a whole amount has been moved.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <rota/error.hpp>
#include <rota/io/concepts.hpp>
#include <rota/task.hpp>

namespace rota::io {

// Threads       As the reader or writer says.
// Ownership     They refer to the reader or writer, and to the bytes, until their co_await is done.
// Ordering      As the reader or writer says.
// Failure       Return the first error of an operation. Bytes that were moved before the error stay moved. If
//               cancelled or timed out, an unknown part of the bytes may have been read or written. A
//               buffered_reader or buffered_writer loses none of its buffered bytes.
// Cost          One frame, and what the reads and writes cost.
// Example       examples/duplex.cpp

namespace detail {

/// Grows a vector for reads. Its destructor cuts off the unused space, however the frame ends.
class ROTA_API growing {
 public:
  explicit growing(std::vector<std::byte>& into) noexcept : into_(&into), used_(into.size()) {}
  growing(const growing&) = delete;
  growing& operator=(const growing&) = delete;
  ~growing();

  /// Returns free space for at most `most` bytes, behind the bytes that are there. Throws `std::bad_alloc`.
  [[nodiscard]] std::span<std::byte> room(std::size_t most);
  void fill(std::size_t n) noexcept { used_ += n; }

 private:
  std::vector<std::byte>* into_;
  std::size_t used_;
};

}  // namespace detail

/// Fills `into`. Returns errc::end_of_stream if the stream ends before that.
template <reader R>
task<result<void>> read_exact(R& from, std::span<std::byte> into) {
  while (!into.empty()) {
    const result<std::size_t> got = co_await from.read(into);
    if (!got.has_value()) co_return std::unexpected(got.error());
    if (*got == 0) co_return std::unexpected(make_error_code(errc::end_of_stream));
    into = into.subspan(*got);
  }
  co_return result<void>();
}

/// Reads `count` bytes and discards them. Returns errc::end_of_stream if the stream ends before that.
template <reader R>
task<result<void>> skip(R& from, std::uint64_t count) {
  std::array<std::byte, 4096> unwanted;
  while (count != 0) {
    const std::size_t most = count < unwanted.size() ? static_cast<std::size_t>(count) : unwanted.size();
    const result<std::size_t> got = co_await from.read(std::span(unwanted).first(most));
    if (!got.has_value()) co_return std::unexpected(got.error());
    if (*got == 0) co_return std::unexpected(make_error_code(errc::end_of_stream));
    count -= *got;
  }
  co_return result<void>();
}

/// Writes all of `from`. Returns std::errc::io_error if the writer takes no bytes and returns no error.
template <writer W>
task<result<void>> write_all(W& to, std::span<const std::byte> from) {
  while (!from.empty()) {
    const result<std::size_t> put = co_await to.write(from);
    if (!put.has_value()) co_return std::unexpected(put.error());
    if (*put == 0) co_return detail::takes_nothing();
    from = from.subspan(*put);
  }
  co_return result<void>();
}
/// Writes a text without a terminating zero. The text must live until the co_await is done. An array of
/// characters has no known end: pass the part that counts.
template <writer W>
ROTA_DETAIL_WRAPPER task<result<void>> write_all(W& to, std::string_view text ROTA_DETAIL_KEPT) {
  return io::write_all(to, std::as_bytes(std::span(text)));
}
template <writer W, std::size_t N>
ROTA_DETAIL_WRAPPER task<result<void>> write_all(W& to, char (&buffer)[N]) = delete;
/// Writes a literal without its terminating zero. Zeros in the middle are sent.
template <writer W, std::size_t N>
ROTA_DETAIL_WRAPPER task<result<void>> write_all(W& to, const char (&text ROTA_DETAIL_KEPT)[N]) {
  return io::write_all(to, std::string_view(text, text[N - 1] == '\0' ? N - 1 : N));
}

/// Appends bytes to `into` until the stream ends, and returns how many. Returns errc::too_long if the stream
/// has more than `most` bytes: then `most` bytes have been appended, and one more byte has been read. However
/// it ends, the bytes that were read before are in `into`. Throws `std::bad_alloc`.
template <reader R>
task<result<std::size_t>> read_to_end(R& from, std::vector<std::byte>& into, std::size_t most) {
  detail::growing all(into);
  std::size_t sum = 0;
  std::array<std::byte, 1> beyond;
  for (;;) {
    const std::span<std::byte> room = sum < most ? all.room(most - sum) : std::span<std::byte>(beyond);
    const result<std::size_t> got = co_await from.read(room);
    if (!got.has_value()) co_return std::unexpected(got.error());
    if (*got == 0) co_return sum;
    if (sum == most) co_return std::unexpected(make_error_code(errc::too_long));
    all.fill(*got);
    sum += *got;
  }
}

}  // namespace rota::io
