#include "last_lines.hpp"

#include <rota/error.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tail {

namespace {

constexpr std::size_t piece = 64 * 1024;

}  // namespace

rota::task<rota::fs::result<std::uint64_t>> start_of_last_lines(const rota::fs::file& in,
                                                                std::uint64_t size,
                                                                std::size_t count) {
  if (count == 0) co_return size;
  std::vector<std::byte> buffer(piece);
  std::size_t ends = 0;
  for (std::uint64_t end = size; end != 0;) {
    const std::uint64_t begin = end - std::min<std::uint64_t>(end, piece);
    const std::span<std::byte> some = std::span(buffer).first(static_cast<std::size_t>(end - begin));
    const rota::fs::result<void> got = co_await in.read_exact_at(some, begin);
    if (!got.has_value() && got.error() == rota::errc::end_of_stream) co_return 0;
    if (!got.has_value()) co_return std::unexpected(got.error());
    for (std::size_t i = some.size(); i != 0; --i) {
      const std::uint64_t at = begin + i;  // the position behind the byte
      if (some[i - 1] == std::byte{'\n'} && at != size && ++ends == count) co_return at;
    }
    end = begin;
  }
  co_return 0;
}

}  // namespace tail
