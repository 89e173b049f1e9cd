#include <rota/fs/file.hpp>

#include "base/sys/files.hpp"
#include "fs/blocking.hpp"
#include "fs/system_call.hpp"

#include <fcntl.h>
#include <linux/openat2.h>

namespace rota::fs {

namespace {

using detail::number;
namespace sys = detail::sys;

/// Flags that functions of open_options set.
constexpr int said_otherwise = O_ACCMODE | O_APPEND | O_CREAT | O_EXCL | O_TRUNC;

}  // namespace

open_options& open_options::read() noexcept {
  reads_ = true;
  return *this;
}
open_options& open_options::write() noexcept {
  writes_ = true;
  return *this;
}
open_options& open_options::append() noexcept {
  appends_ = true;
  return *this;
}
open_options& open_options::create() noexcept {
  creates_ = true;
  return *this;
}
open_options& open_options::create_new() noexcept {
  creates_new_ = true;
  return *this;
}
open_options& open_options::truncate() noexcept {
  truncates_ = true;
  return *this;
}
open_options& open_options::mode(unsigned permissions) noexcept {
  mode_ = permissions;
  return *this;
}
open_options& open_options::custom_flags(int flags) noexcept {
  custom_ = flags;
  return *this;
}

result<int> open_options::flags() const noexcept {
  const bool changes = writes_ || appends_;
  if (!changes && (!reads_ || creates_ || creates_new_ || truncates_)) return detail::bad_argument();
  if (appends_ && truncates_) return detail::bad_argument();
  if (mode_ > detail::most_mode || (custom_ & said_otherwise) != 0) return detail::bad_argument();
  int all = custom_ | O_CLOEXEC;
  if (!changes) {
    all |= O_RDONLY;
  } else {
    all |= reads_ ? O_RDWR : O_WRONLY;
  }
  if (appends_) all |= O_APPEND;
  if (truncates_) all |= O_TRUNC;
  if (creates_new_) return all | O_CREAT | O_EXCL;
  return creates_ ? all | O_CREAT : all;
}

task<result<file>> open_options::open(std::string path) const { return open_as(*this, std::move(path)); }

/// If a ring can open at once, it opens with O_NONBLOCK: then the peer of a FIFO has not been waited for.
task<result<file>> open_options::wait_for_peer(file opened, int flags) {
  if (opened.has_offsets_ || (flags & O_ACCMODE) != O_RDONLY) co_return std::move(opened);
  const auto wait = [&](const detail::awaiting_task& by) noexcept {
    return detail::wait_for_writer(opened.native_handle(), by);
  };
  const result<void> there = co_await detail::on_thread(wait);
  if (!there.has_value()) co_return std::unexpected(there.error());
  co_return std::move(opened);
}

task<result<file>> open_options::open_as(open_options how, std::string path) {
  const result<int> wanted = how.flags();
  if (!wanted.has_value()) co_return std::unexpected(wanted.error());
  if (detail::has_zero(path)) co_return detail::bad_argument();
  // openat2 refuses a mode unless it may create a file.
  const bool makes = (*wanted & O_CREAT) != 0 || (*wanted & O_TMPFILE) == O_TMPFILE;
  open_how for_ring{};
  for_ring.flags = static_cast<std::uint64_t>(*wanted);
  for_ring.mode = makes ? how.mode_ : 0U;
  detail::descriptor opened;  // opened by a thread
  bool by_thread = false;
  const auto prepare = [&](sys::ring_request& r) noexcept {
    sys::prepare_open(r, AT_FDCWD, path.c_str(), &for_ring);
  };
  const auto make = [&](const detail::awaiting_task& by) noexcept -> result<void> {
    by_thread = true;
    auto made = detail::open_with_peer(path, *wanted, how.mode_, by);
    if (!made.has_value()) return std::unexpected(made.error());
    opened = std::move(*made);
    return {};
  };
  const detail::system_call call("file open", sys::ring_call::open, prepare, make);
  number fd = co_await perform(call);
  const bool waits = !by_thread && (*wanted & (O_NONBLOCK | O_PATH)) == 0;
  if (waits && !fd.has_value() && fd.error() == std::errc::no_such_device_or_address) {
    // Perhaps a FIFO without a reader: see wait_for_peer().
    const result<void> made = co_await detail::on_thread(make);
    fd = detail::number_of(made);
  }
  if (!fd.has_value()) co_return std::unexpected(fd.error());
  if (!by_thread) opened = detail::descriptor(static_cast<int>(*fd));
  result<file> made = file::make(opened.get(), *wanted);
  if (!made.has_value()) co_return std::unexpected(made.error());
  static_cast<void>(opened.release());
  if (!waits || by_thread) co_return made;
  co_return co_await wait_for_peer(std::move(*made), *wanted);
}

}  // namespace rota::fs
