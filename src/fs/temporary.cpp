#include <rota/fs/temporary.hpp>

#include "base/sys/paths.hpp"
#include "base/thread.hpp"
#include "fs/blocking.hpp"
#include "fs/tree.hpp"

#include <fcntl.h>
#include <cstdlib>

namespace rota::fs {

namespace {

using detail::bad_argument;
using detail::descriptor;
using detail::has_zero;
namespace sys = detail::sys;

constexpr int most_names = 100;

std::string usual_folder() {
  const char* const said = ::secure_getenv("TMPDIR");
  return said != nullptr && *said == '/' ? said : "/tmp";
}

bool has_none_without_a_name(const std::error_code& e) noexcept {
  return e == std::errc::operation_not_supported || e == std::errc::is_a_directory ||
         e == std::errc::invalid_argument;
}

result<descriptor> make_named_for_a_moment(const std::string& folder) {
  for (int i = 0;; ++i) {
    const std::string path = folder + "/.rota." + detail::unique_digits();
    auto made = detail::open_blocking(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (made.has_value()) {
      const result<void> unnamed = sys::remove_name(AT_FDCWD, path.c_str(), 0);
      if (!unnamed.has_value()) return std::unexpected(unnamed.error());
    }
    if (made.has_value() || made.error() != std::errc::file_exists || i == most_names) return made;
  }
}

result<void> make_unnamed(const std::string& folder, descriptor& into) {
  const sys::result<int> fd = sys::open_unnamed(folder.c_str(), 0600);
  if (fd.has_value()) {
    into = descriptor(*fd);
    return {};
  }
  if (!has_none_without_a_name(fd.error())) return std::unexpected(fd.error());
  result<descriptor> made = make_named_for_a_moment(folder);
  if (!made.has_value()) return std::unexpected(made.error());
  into = std::move(*made);
  return {};
}

/// Returns the absolute path: the working directory may have changed when the folder is removed. "" is not
/// the root.
result<std::string> full(const std::string& folder) {
  return folder.starts_with('/') ? result<std::string>(folder) : sys::real_path(folder.c_str());
}

/// Creates a folder with a free name. If no task takes it, it is removed.
result<std::string> make_folder(const std::string& start) {
  for (int i = 0;; ++i) {
    std::string path = start + detail::unique_digits();
    const result<void> made = sys::make_folder(AT_FDCWD, path.c_str(), 0700);
    if (made.has_value()) return path;
    if (made.error() != std::errc::file_exists || i == most_names) return std::unexpected(made.error());
  }
}

}  // namespace

task<result<file>> temp_file() { return temp_file(usual_folder()); }

task<result<file>> temp_file(std::string folder) {
  if (has_zero(folder)) co_return bad_argument();
  descriptor made;
  const auto make = [&] { return make_unnamed(folder, made); };
  const result<void> done = co_await detail::on_thread(make);
  if (!done.has_value()) co_return std::unexpected(done.error());
  result<file> adopted = file::adopt(made.get());
  if (adopted.has_value()) static_cast<void>(made.release());
  co_return adopted;
}

temp_dir::temp_dir(std::string path) noexcept : path_(std::move(path)), process_(base::this_process_id()) {}

temp_dir::~temp_dir() {
  if (path_.empty() || process_ != base::this_process_id()) return;
  try {
    static_cast<void>(detail::remove_all(path_, nullptr));
  } catch (const std::bad_alloc&) {
    // It stays: a destructor cannot report an error.
  }
}

task<result<temp_dir>> temp_dir::create() { return create_in(usual_folder(), "rota."); }

task<result<temp_dir>> temp_dir::create_in(std::string folder, std::string prefix) {
  if (has_zero(folder) || has_zero(prefix) || prefix.find('/') != std::string::npos) co_return bad_argument();
  temp_dir made;  // stored here by the thread: if the task is cancelled it is removed with the frame
  const auto make = [&]() -> result<void> {
    const result<std::string> where = full(folder);
    if (!where.has_value()) return std::unexpected(where.error());
    result<std::string> path = make_folder(*where + "/" + prefix);
    if (!path.has_value()) return std::unexpected(path.error());
    made = temp_dir(std::move(*path));
    return {};
  };
  const result<void> done = co_await detail::on_thread(make);
  if (!done.has_value()) co_return std::unexpected(done.error());
  co_return std::move(made);
}

task<result<void>> temp_dir::remove() {
  if (path_.empty()) co_return result<void>();
  const auto work = [&](const detail::awaiting_task& by) { return detail::remove_all(path_, &by); };
  const result<void> removed = co_await detail::on_thread(work);
  if (removed.has_value()) static_cast<void>(release());
  co_return removed;
}

}  // namespace rota::fs
