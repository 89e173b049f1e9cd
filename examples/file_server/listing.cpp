#include "file_server/listing.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "file_server/target.hpp"

namespace file_server {
namespace {

constexpr std::size_t most_looked_at = 10'000;

struct folder_closer {
  void operator()(DIR* d) const noexcept { ::closedir(d); }
};
using open_folder = std::unique_ptr<DIR, folder_closer>;

bool can_be_asked_for(std::string_view name) noexcept {
  return !name.empty() && name.front() != '.' && name.find('\\') == std::string_view::npos &&
         std::none_of(name.begin(), name.end(), is_control) && is_utf8(name);
}

std::optional<listed> describe(std::string_view name, const struct stat& about) {
  if (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) return std::nullopt;
  return listed{.name = std::string(name),
                .is_folder = S_ISDIR(about.st_mode),
                .size = static_cast<std::uint64_t>(about.st_size),
                .modified = about.st_mtim.tv_sec};
}

/// A link counts as its target, if the target would be served.
std::optional<listed> examine(const file_source& files,
                              int folder,
                              const std::string& path,
                              const char* name) {
  struct stat about{};
  if (::fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISLNK(about.st_mode)) return describe(name, about);
  if (files.how() != resolution::kernel) return std::nullopt;
  const auto target = files.open_below(path + name, O_PATH);
  if (!target || ::fstat(target->get(), &about) != 0) return std::nullopt;
  return describe(name, about);
}

bool comes_first(const listed& a, const listed& b) noexcept {
  return a.is_folder != b.is_folder ? a.is_folder : a.name < b.name;
}

}  // namespace

std::expected<std::string, status> folder_name(std::string_view encoded_path) {
  safe_path index;
  if (const status named = index.assign(encoded_path); named != status::ok) return std::unexpected(named);
  const std::string_view name = index.view();
  return std::string(name.substr(0, name.size() - safe_path::index_name.size()));
}

std::expected<listing, status> list_folder(const file_source& files, std::string_view encoded_path) {
  const auto path = folder_name(encoded_path);
  if (!path) return std::unexpected(path.error());
  const std::string without_slash = path->substr(0, path->empty() ? 0 : path->size() - 1);
  auto fd = files.open_below(without_slash, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (!fd) return std::unexpected(fd.error());
  const open_folder folder(::fdopendir(fd->get()));
  if (!folder) return std::unexpected(status::internal_error);
  const int descriptor = fd->release();

  listing out;
  std::size_t looked_at = 0;
  while (const dirent* const e = ::readdir(folder.get())) {
    const bool is_shown = can_be_asked_for(e->d_name);
    const bool is_full = is_shown && out.entries.size() == listing::most;
    out.has_more = ++looked_at > most_looked_at || is_full;
    if (out.has_more) break;
    if (!is_shown) continue;
    if (auto one = examine(files, descriptor, *path, e->d_name)) out.entries.push_back(std::move(*one));
  }
  std::sort(out.entries.begin(), out.entries.end(), comes_first);
  return out;
}

}  // namespace file_server
