#include <rota/fs/whole_file.hpp>

#include "base/sys/paths.hpp"
#include "fs/blocking.hpp"
#include "fs/information.hpp"
#include "fs/ranges.hpp"

#include <fcntl.h>
#include <array>

namespace rota::fs {

namespace {

using detail::awaiting_task;
using detail::bad_argument;
using detail::descriptor;
using detail::number;
namespace sys = detail::sys;

constexpr unsigned plain_permissions = 0777;

/// Copies from the start of one file to its end. read_ and written_ are the positions.
class copying {
 public:
  copying(int from, int to, const awaiting_task& by) noexcept : from_(from), to_(to), by_(by) {}
  [[nodiscard]] result<std::uint64_t> run();

 private:
  [[nodiscard]] result<bool> by_kernel() noexcept;
  [[nodiscard]] result<void> by_hand();

  int from_;
  int to_;
  const awaiting_task& by_;
  std::uint64_t read_ = 0;
  std::uint64_t written_ = 0;
};

/// Copies within the kernel. Returns false if the rest, if any, must be read and written.
result<bool> copying::by_kernel() noexcept {
  for (;;) {
    if (by_.has_given_up()) return detail::given_up();
    const number got = sys::copy_range(from_, read_, to_, written_, detail::copied_at_a_time);
    if (got.value_or(0) != 0) continue;
    if (got.has_value() || detail::needs_reading(got.error())) return false;
    return std::unexpected(got.error());
  }
}

result<void> copying::by_hand() {
  std::vector<std::byte> buffer(std::size_t{128} << 10U);
  for (;;) {
    if (by_.has_given_up()) return detail::given_up();
    const number got = sys::read_at(from_, buffer, read_);
    if (!got.has_value()) return std::unexpected(got.error());
    if (*got == 0) return {};
    read_ += *got;
    std::span<const std::byte> left = std::span(buffer).first(*got);
    while (!left.empty()) {
      const number put = sys::write_at(to_, left, written_);
      if (!put.has_value()) return std::unexpected(put.error());
      if (*put == 0) return std::unexpected(std::make_error_code(std::errc::io_error));
      left = left.subspan(*put);
      written_ += *put;
    }
  }
}

result<std::uint64_t> copying::run() {
  if (sys::share_blocks(from_, to_).has_value()) {
    // The size of the shared data; the source may have changed since its size was read.
    const result<file_info> shared = detail::look_at(to_, "", AT_EMPTY_PATH);
    if (!shared.has_value()) return std::unexpected(shared.error());
    return shared->size;
  }
  const result<bool> fast = by_kernel();
  if (!fast.has_value()) return std::unexpected(fast.error());
  const result<void> rest = by_hand();
  if (!rest.has_value()) return std::unexpected(rest.error());
  return written_;
}

/// Does not open devices. If the source has become a FIFO by now, the open does not wait for its writer.
result<descriptor> open_source(const std::string& from, const awaiting_task& by) noexcept {
  const result<file_info> info = detail::look_at(AT_FDCWD, from.c_str(), 0);
  if (!info.has_value()) return std::unexpected(info.error());
  if (info->is_directory()) return std::unexpected(std::make_error_code(std::errc::is_a_directory));
  if (!info->is_file()) return bad_argument();
  return detail::open_without_peer(from, O_RDONLY, 0, by);
}

/// The target is not truncated before it is known to be another file.
result<std::uint64_t> copy_all(const std::string& from, const std::string& to, const awaiting_task& by) {
  const result<descriptor> source = open_source(from, by);
  if (!source.has_value()) return std::unexpected(source.error());
  const result<file_info> info = detail::look_at(source->get(), "", AT_EMPTY_PATH);
  if (!info.has_value()) return std::unexpected(info.error());
  if (!info->is_file()) return bad_argument();
  const unsigned mode = info->permissions & plain_permissions;
  result<descriptor> target = detail::open_without_peer(to, O_WRONLY | O_CREAT, mode, by);
  if (!target.has_value()) return std::unexpected(target.error());
  const result<file_info> there = detail::look_at(target->get(), "", AT_EMPTY_PATH);
  if (!there.has_value()) return std::unexpected(there.error());
  if (there->is_same_file(*info) || there->type == file_type::fifo) return bad_argument();
  if (there->is_file()) {
    const result<void> emptied = sys::set_length(target->get(), 0);
    if (!emptied.has_value()) return std::unexpected(emptied.error());
    // If the file has another owner, its permissions stay as they are.
    const result<void> set = sys::set_mode(target->get(), mode);
    if (!set.has_value() && set.error() != std::errc::operation_not_permitted)
      return std::unexpected(set.error());
  }
  const result<std::uint64_t> copied = copying(source->get(), target->get(), by).run();
  const result<void> closed = sys::close_file(target->release());
  if (!closed.has_value() && copied.has_value()) return std::unexpected(closed.error());
  return copied;
}

}  // namespace

task<result<std::uint64_t>> copy(std::string from, std::string to) {
  if (detail::has_zero(from) || detail::has_zero(to)) co_return bad_argument();
  const auto work = [&](const awaiting_task& by) { return copy_all(from, to, by); };
  co_return co_await detail::on_thread(work);
}

}  // namespace rota::fs
