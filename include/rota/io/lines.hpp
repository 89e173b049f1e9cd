// The lines of a stream, or its pieces between delimiters, as generators.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <rota/async_generator.hpp>
#include <rota/io/buffered_reader.hpp>

namespace rota::io {

/// Yields the pieces of `from` between delimiters. The last piece needs no delimiter. An error is the last
/// value. A piece is valid until the next next().
///
///   auto all = rota::io::lines(in);
///   for (;;) {
///     const auto each = co_await all.next();               // std::optional<result<std::string_view>>
///     if (!each) break;
///     if (!each->has_value()) co_return report(each->error());
///     use(**each);
///   }
///
/// Threads       One task at a time.
/// Ownership     Refers to `from`, and to `delimiter`, which must outlive it.
/// Failure       As buffered_reader::until_or_end(). A next() that is cancelled has consumed nothing of
///               `from`; the generator has ended then.
/// Cost          As buffered_reader::until_or_end(), and the generator's frame.
/// Example       examples/duplex.cpp
template <reader R>
async_generator<result<std::string_view>> split(buffered_reader<R>& from,
                                                std::string_view delimiter,
                                                std::size_t most) {
  for (;;) {
    const result<std::optional<std::string_view>> piece = co_await from.until_or_end(delimiter, most);
    if (!piece.has_value()) {
      co_yield result<std::string_view>(std::unexpected(piece.error()));
      co_return;
    }
    if (!piece->has_value()) co_return;
    co_yield result<std::string_view>(**piece);
  }
}

/// Yields the lines of `from`, as buffered_reader::line() returns them.
template <reader R>
async_generator<result<std::string_view>> lines(buffered_reader<R>& from, std::size_t most = 65536) {
  for (;;) {
    const result<std::optional<std::string_view>> line = co_await from.line(most);
    if (!line.has_value()) {
      co_yield result<std::string_view>(std::unexpected(line.error()));
      co_return;
    }
    if (!line->has_value()) co_return;
    co_yield result<std::string_view>(**line);
  }
}

}  // namespace rota::io
