#include <rota/fs/file.hpp>

#include "base/sys/files.hpp"
#include "base/sys/paths.hpp"
#include "base/sys/processes.hpp"
#include "fs/information.hpp"
#include "fs/transfer.hpp"

#include <rota/error.hpp>
#include <rota/io/algorithms.hpp>

#include <fcntl.h>

namespace rota::fs {

namespace {

using detail::bad_argument;
using detail::most_offset;
using detail::number;
namespace sys = detail::sys;

constexpr int last_standard = 2;

detail::in_place tried_for(bool is_direct) noexcept {
  return is_direct ? detail::in_place::never : detail::in_place::tried;
}

}  // namespace

namespace detail {
void descriptor::close() noexcept { sys::close(std::exchange(fd_, -1)); }
}  // namespace detail

task<result<file>> file::open(std::string path) { return open_options().read().open(std::move(path)); }

task<result<file>> file::create(std::string path) {
  return open_options().write().create().truncate().open(std::move(path));
}

task<result<file>> file::create_new(std::string path) {
  return open_options().read().write().create_new().open(std::move(path));
}

/// Makes the file. After an error the descriptor still belongs to the caller.
result<file> file::make(int fd, int flags) noexcept {
  const auto offset = sys::offset_of(fd);
  const bool has_offsets = offset.has_value();
  if (!has_offsets && offset.error() != std::errc::invalid_seek) return std::unexpected(offset.error());
  return file(detail::descriptor(fd), flags, offset.value_or(0), has_offsets);
}

file::file(detail::descriptor fd, int flags, std::uint64_t position, bool has_offsets) noexcept
    : fd_(std::move(fd)),
      position_(position),
      has_offsets_(has_offsets),
      appends_((flags & O_APPEND) != 0),
      is_direct_((flags & O_DIRECT) != 0) {}

result<file> file::adopt(int fd) noexcept {
  const auto flags = sys::flags_of(fd);
  if (!flags.has_value()) return std::unexpected(flags.error());
  if (fd > last_standard) {
    const auto kept = sys::close_at_exec(fd);
    if (!kept.has_value()) return std::unexpected(kept.error());
  }
  return make(fd, *flags);
}

std::uint64_t file::read_offset() const noexcept { return has_offsets_ ? position_ : sys::no_offset; }

/// A file that appends gets an offset that the system ignores.
std::uint64_t file::write_offset() const noexcept { return appends_ && has_offsets_ ? 0 : read_offset(); }

/// The ring would interpret such an offset as that of a pipe.
std::error_code file::why_not_at(std::uint64_t offset, std::uint64_t size) const noexcept {
  if (size > most_offset || offset > most_offset - size)
    return std::make_error_code(std::errc::invalid_argument);
  return has_offsets_ ? std::error_code() : std::make_error_code(std::errc::invalid_seek);
}

std::error_code file::why_no_write_at(std::uint64_t offset, std::uint64_t size) const noexcept {
  return appends_ ? std::make_error_code(std::errc::invalid_argument) : why_not_at(offset, size);
}

task<result<std::size_t>> file::read(std::span<std::byte> into) {
  const number got = co_await detail::read_some(fd_.get(), into, read_offset(), tried_for(is_direct_));
  position_ += got.value_or(0);
  co_return got;
}

task<result<std::size_t>> file::read_v(std::span<const std::span<std::byte>> into) {
  const number got = co_await detail::read_parts(fd_.get(), into, read_offset(), tried_for(is_direct_));
  position_ += got.value_or(0);
  co_return got;
}

task<result<std::size_t>> file::write(std::span<const std::byte> from) {
  const number put = co_await detail::write_some(fd_.get(), from, write_offset());
  if (!appends_) position_ += put.value_or(0);
  co_return put;
}

task<result<std::size_t>> file::write_v(std::span<const std::span<const std::byte>> from) {
  const number put = co_await detail::write_parts(fd_.get(), from, write_offset());
  if (!appends_) position_ += put.value_or(0);
  co_return put;
}

task<result<std::size_t>> file::read_at(std::span<std::byte> into, std::uint64_t offset) const {
  const std::error_code refused = why_not_at(offset, 0);
  if (refused) co_return std::unexpected(refused);
  co_return co_await detail::read_some(fd_.get(), into, offset, tried_for(is_direct_));
}

task<result<std::size_t>> file::read_v_at(std::span<const std::span<std::byte>> into,
                                          std::uint64_t offset) const {
  const std::error_code refused = why_not_at(offset, 0);
  if (refused) co_return std::unexpected(refused);
  co_return co_await detail::read_parts(fd_.get(), into, offset, tried_for(is_direct_));
}

task<result<std::size_t>> file::write_at(std::span<const std::byte> from, std::uint64_t offset) {
  const std::error_code refused = why_no_write_at(offset, 0);
  if (refused) co_return std::unexpected(refused);
  co_return co_await detail::write_some(fd_.get(), from, offset);
}

task<result<std::size_t>> file::write_v_at(std::span<const std::span<const std::byte>> from,
                                           std::uint64_t offset) {
  const std::error_code refused = why_no_write_at(offset, 0);
  if (refused) co_return std::unexpected(refused);
  co_return co_await detail::write_parts(fd_.get(), from, offset);
}

task<result<void>> file::read_exact_at(std::span<std::byte> into, std::uint64_t offset) const {
  const std::error_code refused = why_not_at(offset, into.size());
  if (refused) co_return std::unexpected(refused);
  while (!into.empty()) {
    const number got = co_await detail::read_some(fd_.get(), into, offset, tried_for(is_direct_));
    if (!got.has_value()) co_return std::unexpected(got.error());
    if (*got == 0) co_return std::unexpected(make_error_code(errc::end_of_stream));
    into = into.subspan(*got);
    offset += *got;
  }
  co_return result<void>();
}

task<result<void>> file::write_all_at(std::span<const std::byte> from, std::uint64_t offset) {
  const std::error_code refused = why_no_write_at(offset, from.size());
  if (refused) co_return std::unexpected(refused);
  while (!from.empty()) {
    const number put = co_await detail::write_some(fd_.get(), from, offset);
    if (!put.has_value()) co_return std::unexpected(put.error());
    if (*put == 0) co_return io::detail::takes_nothing();
    from = from.subspan(*put);
    offset += *put;
  }
  co_return result<void>();
}

result<void> file::seek_to(std::uint64_t offset) noexcept {
  if (!fd_) return std::unexpected(std::make_error_code(std::errc::bad_file_descriptor));
  if (!has_offsets_) return std::unexpected(std::make_error_code(std::errc::invalid_seek));
  if (offset > most_offset) return bad_argument();
  position_ = offset;
  return {};
}

task<result<std::uint64_t>> file::seek(std::int64_t offset, seek_from whence) {
  std::uint64_t base = whence == seek_from::current ? position_ : 0;
  if (whence == seek_from::end) {
    const result<file_info> now = co_await metadata();
    if (!now.has_value()) co_return std::unexpected(now.error());
    base = now->size;
  }
  // Both are below 2^63, so their sum is below 2^64.
  const std::uint64_t distance =
      offset < 0 ? 0 - static_cast<std::uint64_t>(offset) : static_cast<std::uint64_t>(offset);
  if (offset < 0 && distance > base) co_return bad_argument();
  const result<void> moved = seek_to(offset < 0 ? base - distance : base + distance);
  if (!moved.has_value()) co_return std::unexpected(moved.error());
  co_return position_;
}

}  // namespace rota::fs
