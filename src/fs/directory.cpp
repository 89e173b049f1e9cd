#include <rota/fs/directory.hpp>

#include "base/sys/paths.hpp"
#include "fs/tree.hpp"

#include <fcntl.h>
#include <algorithm>

namespace rota::fs {

namespace {

using detail::bad_argument;
using detail::has_zero;
namespace sys = detail::sys;

}  // namespace

task<result<directory>> read_dir(std::string path) {
  if (has_zero(path)) co_return bad_argument();
  detail::descriptor opened;
  const auto open = [&]() noexcept -> result<void> {
    auto got = detail::open_blocking(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0);
    if (!got.has_value()) return std::unexpected(got.error());
    opened = std::move(*got);
    return {};
  };
  const result<void> done = co_await detail::on_thread(open);
  if (!done.has_value()) co_return std::unexpected(done.error());
  co_return directory(std::move(opened));
}

// Reads into members that outlive the frames: after a cancellation the next call finds the names.
task<result<void>> directory::fill() {
  const auto read = [&]() -> result<void> {
    for (;;) {
      const result<bool> more = detail::read_entries(fd_.get(), rest_, read_);
      // A removed directory is empty.
      if (!more.has_value() && more.error() != std::errc::no_such_file_or_directory)
        return std::unexpected(more.error());
      if (!read_.empty() || !more.value_or(false)) break;
    }
    std::vector<std::byte>().swap(rest_);
    std::reverse(read_.begin(), read_.end());
    return {};
  };
  co_return co_await detail::on_thread(read);
}

task<result<std::vector<dir_entry>>> directory::batch() {
  const result<void> filled = read_.empty() ? co_await fill() : result<void>();
  if (!filled.has_value()) co_return std::unexpected(filled.error());
  std::reverse(read_.begin(), read_.end());
  co_return std::exchange(read_, {});
}

task<result<std::optional<dir_entry>>> directory::next() {
  const result<void> filled = read_.empty() ? co_await fill() : result<void>();
  if (!filled.has_value()) co_return std::unexpected(filled.error());
  if (read_.empty()) co_return std::nullopt;
  std::optional<dir_entry> given(std::move(read_.back()));
  read_.pop_back();
  co_return given;
}

}  // namespace rota::fs
