#include <rota/fs/whole_file.hpp>

#include "fs/blocking.hpp"
#include "fs/information.hpp"
#include "fs/transfer.hpp"

#include <fcntl.h>
#include <algorithm>

namespace rota::fs {

namespace {

using detail::awaiting_task;
using detail::bad_argument;
using detail::descriptor;
using detail::has_zero;
using detail::number;
namespace sys = detail::sys;

/// Appends some more bytes to `into`, at least one; returns how many.
template <class Bytes>
number read_piece(int fd, Bytes& into, std::size_t room) {
  const std::size_t before = into.size();
  into.resize(before + room);
  const std::span<std::byte> free = std::as_writable_bytes(std::span(into)).subspan(before);
  const number got = sys::read_at(fd, free, sys::no_offset);
  into.resize(before + got.value_or(0));
  return got;
}

/// The reported size is only a guess: a file of /proc reports 0, and other files grow meanwhile.
template <class Bytes>
result<Bytes> read_all(const std::string& path, std::size_t most, const awaiting_task& by) {
  constexpr std::size_t least = 4096;
  constexpr std::size_t piece = std::size_t{1} << 20U;
  constexpr std::uint64_t most_reserved = std::uint64_t{1} << 30U;
  const result<descriptor> opened = detail::open_without_peer(path, O_RDONLY, 0, by);
  if (!opened.has_value()) return std::unexpected(opened.error());
  const result<file_info> info = detail::look_at(opened->get(), "", AT_EMPTY_PATH);
  if (!info.has_value()) return std::unexpected(info.error());
  if (info->is_file() && info->size > most) return std::unexpected(make_error_code(errc::too_long));
  Bytes all;
  // One more byte, to find the end. A file with holes may report more than there is memory for.
  all.reserve(static_cast<std::size_t>(std::min(info->size, most_reserved)) + 1);
  for (;;) {
    if (by.has_given_up()) return detail::given_up();
    const std::size_t reserved = all.capacity() - all.size();
    const number got = read_piece(opened->get(), all, std::clamp(reserved, least, piece));
    if (!got.has_value() && sys::would_block(got.error())) {
      const result<void> ready = detail::wait_blocking(opened->get(), detail::direction::in, by);
      if (!ready.has_value()) return std::unexpected(ready.error());
      continue;
    }
    if (!got.has_value()) return std::unexpected(got.error());
    if (*got == 0) return all;
    if (all.size() > most) return std::unexpected(make_error_code(errc::too_long));
  }
}

/// Returns true if there is nothing at `offset`, as far as that is known without waiting.
bool ends_at(int fd, std::uint64_t offset) noexcept {
  std::byte one{};
  const iovec place{&one, 1};
  return sys::read_cached(fd, &place, 1, offset) == std::size_t{0};
}

/// Reads a small, fully cached file in place: the way to a thread and back takes longer. Returns empty if it
/// must be read otherwise.
template <class Bytes>
task<Bytes> read_small(const std::string& path, std::size_t most) {
  constexpr std::size_t most_in_place = std::size_t{64} << 10U;
  std::uint64_t size = 0;
  const sys::result<int> opened = sys::open_cached(path.c_str(), size);
  if (!opened.has_value()) co_return Bytes();
  const descriptor file(*opened);
  if (size == 0 || size > std::min(most, most_in_place)) co_return Bytes();
  Bytes all;
  all.resize(static_cast<std::size_t>(size));
  const std::size_t got =
      co_await detail::read_in_memory(file.get(), std::as_writable_bytes(std::span(all)), 0);
  if (got != size || !ends_at(file.get(), size)) co_return Bytes();
  co_return all;
}

template <class Bytes>
task<result<Bytes>> read_it(std::string path, std::size_t most) {
  if (has_zero(path)) co_return bad_argument();
  Bytes small = co_await read_small<Bytes>(path, most);
  if (!small.empty()) co_return std::move(small);
  const auto all = [&](const awaiting_task& by) { return read_all<Bytes>(path, most, by); };
  co_return co_await detail::on_thread(all);
}

result<void> write_all(const std::string& path,
                       std::span<const std::byte> all,
                       int flags,
                       const awaiting_task& by) noexcept {
  result<descriptor> opened = detail::open_without_peer(path, O_WRONLY | O_CREAT | flags, 0666, by);
  if (!opened.has_value()) return std::unexpected(opened.error());
  const result<void> written = detail::write_blocking(opened->get(), all, by);
  const result<void> closed = sys::close_file(opened->release());
  return written.has_value() ? closed : written;
}

task<result<void>> write_it(std::string path, std::span<const std::byte> all, int flags) {
  if (has_zero(path)) co_return bad_argument();
  const auto write = [&](const awaiting_task& by) noexcept { return write_all(path, all, flags, by); };
  co_return co_await detail::on_thread(write);
}

task<result<void>> write_text(std::string path, std::string text, int flags) {
  auto work = write_it(std::move(path), std::as_bytes(std::span(text)), flags);
  co_return co_await std::move(work);
}

}  // namespace

task<result<std::vector<std::byte>>> read(std::string path, std::size_t most) {
  return read_it<std::vector<std::byte>>(std::move(path), most);
}
task<result<std::string>> read_to_string(std::string path, std::size_t most) {
  return read_it<std::string>(std::move(path), most);
}

task<result<void>> write(std::string path, std::span<const std::byte> all) {
  return write_it(std::move(path), all, O_TRUNC);
}
task<result<void>> write(std::string path, std::string text) {
  return write_text(std::move(path), std::move(text), O_TRUNC);
}
task<result<void>> append(std::string path, std::span<const std::byte> more) {
  return write_it(std::move(path), more, O_APPEND);
}
task<result<void>> append(std::string path, std::string text) {
  return write_text(std::move(path), std::move(text), O_APPEND);
}

}  // namespace rota::fs
