#include "process/watched.hpp"

#include "base/sys/files.hpp"

#include <unistd.h>

namespace rota::process {

namespace sys = base::sys;

namespace detail {

watched_leaf::attempt pipe_read_leaf::try_once() noexcept {
  result_ = sys::read(descriptor(), into_.data(), into_.size());
  charge(result_.value_or(0));
  return !result_.has_value() && sys::would_block(result_.error()) ? attempt::would_block : attempt::done;
}

watched_leaf::attempt pipe_write_leaf::try_once() noexcept {
  // Many bytes fill the pipe, and the operation is tried again for the rest; result_ counts the written
  // bytes. A reader that drains the pipe as fast as it is filled never makes this write wait, so it gives its
  // turn up as a write to a socket does.
  while (!from_.empty()) {
    const result<std::size_t> put = sys::write(descriptor(), from_.data(), from_.size());
    if (!put.has_value()) {
      if (sys::would_block(put.error())) return attempt::would_block;
      result_ = put;
      return attempt::done;
    }
    charge(*put);
    *result_ += *put;
    from_ = from_.subspan(*put);
    if (!all_) break;
    if (!from_.empty() && gives_turn_up()) return attempt::paused;
  }
  return attempt::done;
}

namespace {

result<watched_ptr> adopt(int fd) noexcept {
  result<void> changed = sys::set_nonblocking(fd);
  // A child that inherited the write end would keep the reader from its end. The three descriptors that
  // children inherit stay as they are.
  if (changed.has_value() && fd > STDERR_FILENO) changed = sys::close_at_exec(fd);
  if (!changed.has_value()) {
    sys::close(fd);
    return std::unexpected(changed.error());
  }
  return watched::adopt(fd);
}

}  // namespace

}  // namespace detail

result<pipe_reader> pipe_reader::adopt(int fd) noexcept {
  result<detail::watched_ptr> made = detail::adopt(fd);
  if (!made.has_value()) return std::unexpected(made.error());
  return pipe_reader(std::move(*made));
}

result<pipe_writer> pipe_writer::adopt(int fd) noexcept {
  result<detail::watched_ptr> made = detail::adopt(fd);
  if (!made.has_value()) return std::unexpected(made.error());
  return pipe_writer(std::move(*made));
}

result<std::pair<pipe_reader, pipe_writer>> pipe() noexcept {
  const result<sys::pipe_ends> ends = sys::pipe();
  if (!ends.has_value()) return std::unexpected(ends.error());
  result<pipe_reader> reader = pipe_reader::adopt(ends->read);
  result<pipe_writer> writer = pipe_writer::adopt(ends->write);
  if (!reader.has_value()) return std::unexpected(reader.error());
  if (!writer.has_value()) return std::unexpected(writer.error());
  return std::pair(std::move(*reader), std::move(*writer));
}

}  // namespace rota::process
