// All of it: what one read or write does a part of.
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
// Failure       The first error of an operation; what was moved before it stays moved. Cancelled, or late: a part has been read, or written, and
//               nobody knows how much; a buffered_reader or buffered_writer forgets nothing.
// Cost          One frame, and what the reads and writes cost.
// Example       examples/duplex.cpp

namespace detail {

/// What is only room goes, however the frame ends.
class ROTA_API growing {
 public:
  explicit growing(std::vector<std::byte>& into) noexcept : into_(&into), used_(into.size()) {}
  growing(const growing&) = delete;
  growing& operator=(const growing&) = delete;
  ~growing();

  /// Room for at most `most` bytes, behind those that are there. Throws `std::bad_alloc`.
  [[nodiscard]] std::span<std::byte> room(std::size_t most);
  void fill(std::size_t n) noexcept { used_ += n; }

 private:
  std::vector<std::byte>* into_;
  std::size_t used_;
};

}  // namespace detail

/// Fills `into`. errc::end_of_stream: there was less.
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

/// Reads `count` bytes, and keeps none. errc::end_of_stream: there were fewer.
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

/// All of `from`. std::errc::io_error: the writer took nothing and told no error.
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
/// A text, which must live until the co_await is done; without a zero at its end. What is in an array of characters ends nowhere: name the
/// part that counts.
template <writer W>
ROTA_DETAIL_WRAPPER task<result<void>> write_all(W& to, std::string_view text ROTA_DETAIL_KEPT) {
  return io::write_all(to, std::as_bytes(std::span(text)));
}
template <writer W, std::size_t N>
ROTA_DETAIL_WRAPPER task<result<void>> write_all(W& to, char (&buffer)[N]) = delete;
/// The same of a literal, without the zero at its end; zeros in the middle are sent.
template <writer W, std::size_t N>
ROTA_DETAIL_WRAPPER task<result<void>> write_all(W& to, const char (&text ROTA_DETAIL_KEPT)[N]) {
  return io::write_all(to, std::string_view(text, text[N - 1] == '\0' ? N - 1 : N));
}

/// Appends what comes until the end, and says how much. errc::too_long: it is more than `most`, so many have been appended, and one more byte has
/// been read. Whatever it ends by, what was read before is in `into`. Throws `std::bad_alloc`.
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
