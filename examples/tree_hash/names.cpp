#include "tree_hash/names.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include <rota/this_task.hpp>

#include "tree_hash/last_error.hpp"

namespace tree_hash {
namespace {

struct closer {
  void operator()(DIR* d) const noexcept { ::closedir(d); }
};

/// Opens the directory a second time: the caller needs `directory` itself to open files.
std::unique_ptr<DIR, closer> open_again(int directory) noexcept {
  const int copy = ::fcntl(directory, F_DUPFD_CLOEXEC, 0);
  DIR* const opened = copy < 0 ? nullptr : ::fdopendir(copy);
  if (opened == nullptr && copy >= 0) ::close(copy);
  return std::unique_ptr<DIR, closer>(opened);
}

/// Some file systems do not return the type with the name.
bool is_directory(int directory, const dirent& found) noexcept {
  if (found.d_type != DT_UNKNOWN) return found.d_type == DT_DIR;
  struct stat about{};
  return ::fstatat(directory, found.d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(about.st_mode);
}

}  // namespace

std::error_code names_in(int directory, std::vector<std::string>& names) {
  const auto list = open_again(directory);
  if (list == nullptr) return last_error();
  for (;;) {
    if (rota::this_task::cancel_requested()) return std::make_error_code(std::errc::operation_canceled);
    errno = 0;
    const dirent* const found = ::readdir(list.get());
    if (found == nullptr) break;
    const std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    names.emplace_back(name);
    if (is_directory(directory, *found)) names.back() += '/';
  }
  if (errno != 0) return last_error();
  std::sort(names.begin(), names.end());
  return {};
}

}  // namespace tree_hash
