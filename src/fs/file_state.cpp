// Operations on a file other than reads and writes.
#include <rota/fs/file.hpp>

#include "base/sys/files.hpp"
#include "base/sys/paths.hpp"
#include "fs/information.hpp"

#include <fcntl.h>

namespace rota::fs {

namespace {

using detail::bad_argument;
using detail::ended;
using detail::most_offset;
using detail::number;
using detail::system_call;
namespace sys = detail::sys;

task<result<void>> sync_it(int fd, bool data_only) {
  const auto prepare = [&](sys::ring_request& r) noexcept { sys::prepare_sync(r, fd, data_only); };
  const auto make = [&]() noexcept { return sys::sync_file(fd, data_only); };
  const system_call call("file sync", sys::ring_call::sync, prepare, make);
  const number done = co_await perform(call);
  co_return ended(done);
}

/// This frame owns the descriptor: it is closed in any case.
task<result<void>> close_it(detail::descriptor owned) {
  const auto close = [&]() noexcept { return sys::close_file(owned.release()); };
  co_return co_await detail::on_thread(close);
}

}  // namespace

task<result<void>> file::sync_all() { co_return co_await sync_it(fd_.get(), false); }

task<result<void>> file::sync_data() { co_return co_await sync_it(fd_.get(), true); }

task<result<file_info>> file::metadata() const {
  co_return co_await detail::information(fd_.get(), std::string(), AT_EMPTY_PATH);
}

task<result<void>> file::set_len(std::uint64_t size) {
  if (size > most_offset) co_return bad_argument();
  const auto cut = [&]() noexcept { return sys::set_length(fd_.get(), size); };
  co_return co_await detail::on_thread(cut);
}

task<result<void>> file::preallocate(std::uint64_t offset, std::uint64_t size) {
  if (size == 0 || size > most_offset || offset > most_offset - size) co_return bad_argument();
  const int fd = fd_.get();
  const auto prepare = [&](sys::ring_request& r) noexcept { sys::prepare_allocate(r, fd, 0, offset, size); };
  const auto make = [&]() noexcept { return sys::allocate(fd, 0, offset, size); };
  const system_call call("file preallocate", sys::ring_call::allocate, prepare, make);
  const number done = co_await perform(call);
  co_return ended(done);
}

task<result<void>> file::set_permissions(unsigned mode) {
  if (mode > detail::most_mode) co_return bad_argument();
  const auto set = [&]() noexcept { return sys::set_mode(fd_.get(), mode); };
  co_return co_await detail::on_thread(set);
}

task<result<void>> file::close() && {
  if (!fd_) return close_it(detail::descriptor());
  return close_it(std::move(fd_));
}

}  // namespace rota::fs
