// io::copy from a file to a file.
#include <rota/fs/file.hpp>

#include "base/sys/files.hpp"
#include "fs/ranges.hpp"
#include "fs/system_call.hpp"

#include <rota/io/copy.hpp>

#include <algorithm>

namespace rota::fs {

namespace sys = detail::sys;
using detail::number;

// The copying thread advances both cursors with the bytes: they are right even if the task is cancelled.
task<result<std::uint64_t>> file::take_from(file& from, io::copy_options how) {
  std::uint64_t done = 0;
  bool can_share = has_offsets_ && from.has_offsets_ && !appends_;
  while (can_share && done < how.limit) {
    const auto most = std::min<std::uint64_t>(how.limit - done, detail::copied_at_a_time);
    const auto copy = [&]() noexcept {
      return sys::copy_range(from.fd_.get(), from.position_, fd_.get(), position_, most);
    };
    const number got = co_await detail::on_thread(copy);
    if (!got.has_value() && !detail::needs_reading(got.error())) co_return std::unexpected(got.error());
    // Only a read finds the end: files of /proc return bytes, but have size 0.
    can_share = got.value_or(0) != 0;
    done += got.value_or(0);
  }
  how.limit -= done;
  const auto rest = co_await io::detail::copy_by_buffer(from, *this, how);
  if (!rest.has_value()) co_return std::unexpected(rest.error());
  co_return done + *rest;
}

}  // namespace rota::fs
