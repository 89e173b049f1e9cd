#include "follower.hpp"

#include "last_lines.hpp"

#include <sys/inotify.h>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <span>
#include <utility>

namespace tail {

namespace fs = rota::fs;
using fs::result;

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::unexpected<std::error_code> cannot_print() {
  return std::unexpected(std::error_code(errno, std::generic_category()));
}

bool is_missing(const std::error_code& e) { return e == std::errc::no_such_file_or_directory; }

}  // namespace

follower::follower(std::string path, std::size_t lines)
    : path_(std::move(path)), folder_(folder_of(path_)), lines_(lines) {}

rota::task<result<void>> follower::run() {
  const result<void> begun = co_await begin();
  if (!begun.has_value()) co_return begun;
  for (;;) {
    const result<void> looked = co_await look();
    if (!looked.has_value()) co_return looked;
    const result<fs::watch_event> event = co_await changes_.next();
    if (!event.has_value()) co_return std::unexpected(event.error());
  }
}

/// Starts the watch before the first check, so a change in between causes an event.
rota::task<result<void>> follower::begin() {
  result<fs::watcher> opened = fs::watcher::open();
  if (!opened.has_value()) co_return std::unexpected(opened.error());
  changes_ = std::move(*opened);
  const result<int> names = co_await changes_.add(folder_, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
  if (!names.has_value()) co_return std::unexpected(names.error());
  const result<void> found = co_await open();
  if (!found.has_value()) co_return found;
  if (!file_) co_return result<void>();
  const result<std::uint64_t> start = co_await start_of_last_lines(file_, known_.size, lines_);
  if (!start.has_value()) co_return std::unexpected(start.error());
  co_return file_.seek_to(*start);
}

/// Opens the file. If there is none, file_ stays closed.
rota::task<result<void>> follower::open() {
  result<fs::file> opened = co_await fs::file::open(path_);
  if (!opened.has_value())
    co_return is_missing(opened.error()) ? result<void>() : std::unexpected(opened.error());
  const result<int> watched = co_await changes_.add(path_, IN_MODIFY | IN_ATTRIB);
  // The file has been removed again. The watch of the folder reports the next one.
  if (!watched.has_value())
    co_return is_missing(watched.error()) ? result<void>() : std::unexpected(watched.error());
  watch_ = *watched;
  const result<fs::file_info> info = co_await opened->metadata();
  if (!info.has_value()) co_return std::unexpected(info.error());
  file_ = std::move(*opened);
  known_ = *info;
  co_return result<void>();
}

rota::task<result<void>> follower::look() {
  if (file_) {
    const result<void> printed = co_await print_rest();
    if (!printed.has_value()) co_return printed;
  }
  const result<fs::file_info> now = co_await fs::metadata(path_);
  if (!now.has_value()) co_return is_missing(now.error()) ? result<void>() : std::unexpected(now.error());
  if (file_ && now->is_same_file(known_)) co_return result<void>();
  if (file_) {
    // The writer may have written between the last check and the renaming.
    const result<void> printed = co_await print_rest();
    if (!printed.has_value()) co_return printed;
    leave();
  }
  const result<void> opened = co_await open();
  if (!opened.has_value() || !file_) co_return opened;
  co_return co_await print_rest();
}

/// Removes the watch: otherwise each rotated file would leave one, and their number per user is limited.
void follower::leave() {
  file_ = fs::file();
  // If the file has been deleted, its watch is already gone.
  static_cast<void>(changes_.remove(std::exchange(watch_, -1)));
}

rota::task<result<void>> follower::print_rest() {
  const result<fs::file_info> now = co_await file_.metadata();
  if (!now.has_value()) co_return std::unexpected(now.error());
  if (now->size < file_.position()) {
    std::fprintf(stderr, "tail: %s: was cut\n", path_.c_str());
    static_cast<void>(file_.seek_to(0));
  }
  std::array<std::byte, 16 * 1024> buffer;
  for (;;) {
    const result<std::size_t> got = co_await file_.read(buffer);
    if (!got.has_value()) co_return std::unexpected(got.error());
    if (*got == 0) break;
    if (std::fwrite(buffer.data(), 1, *got, stdout) != *got) co_return cannot_print();
  }
  if (std::fflush(stdout) != 0) co_return cannot_print();
  co_return result<void>();
}

}  // namespace tail
