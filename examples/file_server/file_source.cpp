#include "file_server/file_source.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

#include "file_server/mime.hpp"
#include "file_server/target.hpp"

namespace file_server {
namespace {

constexpr int segment_flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// O_NONBLOCK: otherwise opening a fifo would wait for a writer.
constexpr int file_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

status status_of(int error) noexcept {
  switch (error) {
    case EACCES:
    case EPERM: return status::forbidden;
    case EXDEV:  // leads out of the root
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:  // a socket, or a fifo or device without a peer
    case ENODEV: return status::not_found;
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return status::unavailable;
    default: return status::internal_error;
  }
}

int open_beneath(int root, const char* name, int flags) noexcept {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, root, name, &how, sizeof how));
}

resolution probe(int root) noexcept {
  const unique_fd self(open_beneath(root, ".", O_PATH | O_CLOEXEC));
  return self.is_open() ? resolution::kernel : resolution::walk;
}

/// A regular file or a folder. Anything else is refused.
struct entry {
  unique_fd fd{};
  file_identity identity{};
  bool is_folder = false;
};

std::expected<entry, status> examine(std::expected<unique_fd, status> fd) noexcept {
  if (!fd) return std::unexpected(fd.error());
  struct stat about{};
  if (::fstat(fd->get(), &about) != 0) return std::unexpected(status_of(errno));
  if (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) return std::unexpected(status::not_found);
  const file_identity identity{.inode = about.st_ino,
                               .size = static_cast<std::uint64_t>(about.st_size),
                               .modified = about.st_mtim.tv_sec,
                               .modified_nanoseconds = static_cast<std::uint32_t>(about.st_mtim.tv_nsec)};
  return entry{std::move(*fd), identity, S_ISDIR(about.st_mode)};
}

bool is_older(const file_identity& a, const file_identity& b) noexcept {
  if (a.modified != b.modified) return a.modified < b.modified;
  return a.modified_nanoseconds < b.modified_nanoseconds;
}

}  // namespace

file_source::file_source(const std::string& root, source_options o)
    : root_(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), options_(o) {
  if (!root_.is_open()) throw std::system_error(errno, std::generic_category(), root);
  if (options_.how == resolution::automatic) options_.how = probe(root_.get());
}

std::expected<opened_file, status> file_source::open(std::string_view encoded,
                                                     const accepted_codings& wanted) const noexcept {
  safe_path name;
  if (const status named = name.assign(encoded); named != status::ok) return std::unexpected(named);
  auto seen = examine(open_name(name.c_str(), file_flags));
  if (seen && !seen->is_folder) {
    opened_file plain{.fd = std::move(seen->fd), .identity = seen->identity, .type = mime_type(name.view())};
    return choose_coding(name, std::move(plain), wanted);
  }
  // If the request has a trailing slash, `name` is the index file, which is missing or not a regular file.
  const bool may_list = options_.listings == feature::on && (seen || seen.error() == status::not_found);
  if (encoded.ends_with('/') && may_list) return opened_file{.what = found::listing};
  if (!seen) return std::unexpected(seen.error());
  if (encoded.ends_with('/') || name.append_index() != status::ok) return std::unexpected(status::not_found);
  return open_folder(name);
}

/// A folder requested without the trailing slash: a redirect, if its target would be served.
std::expected<opened_file, status> file_source::open_folder(const safe_path& index) const noexcept {
  if (options_.listings == feature::on) return opened_file{.what = found::redirect};
  const auto seen = examine(open_name(index.c_str(), file_flags));
  if (!seen) return std::unexpected(seen.error());
  if (seen->is_folder) return std::unexpected(status::not_found);
  return opened_file{.what = found::redirect};
}

std::expected<opened_file, status> file_source::choose_coding(safe_path& name,
                                                              opened_file plain,
                                                              const accepted_codings& wanted) const noexcept {
  plain.varies = options_.precompressed == feature::on && !is_compressed(plain.type);
  const bool gzip_first = wanted.gzip > wanted.br;
  for (const coding c : {gzip_first ? coding::gzip : coding::br, gzip_first ? coding::br : coding::gzip}) {
    const bool is_wanted = wanted.of(c) != 0 && wanted.of(c) >= wanted.identity;
    if (plain.varies && is_wanted && open_coded(name, plain, c)) return plain;
  }
  if (wanted.identity == 0) return std::unexpected(status::not_acceptable);
  return plain;
}

/// Replaces `file` by the precompressed file beside it.
bool file_source::open_coded(safe_path& name, opened_file& file, coding c) const noexcept {
  const std::size_t size = name.view().size();
  if (name.append_suffix(file_suffix(c)) != status::ok) return false;
  auto seen = examine(open_name(name.c_str(), file_flags));
  name.resize(size);
  if (!seen || seen->is_folder || is_older(seen->identity, file.identity)) return false;
  file.fd = std::move(seen->fd);
  file.identity = seen->identity;
  file.as = c;
  return true;
}

std::expected<unique_fd, status> file_source::open_below(const std::string& name, int flags) const noexcept {
  return open_name(name.empty() ? "." : name.c_str(), flags | O_CLOEXEC);
}

std::expected<unique_fd, status> file_source::open_name(const char* name, int flags) const noexcept {
  // openat2 fails with EAGAIN if a concurrent rename made it uncertain that the name stays below the root.
  // That is rare, but any user of the machine can rename files.
  constexpr int attempts = 16;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    unique_fd fd(options_.how == resolution::kernel ? open_beneath(root_.get(), name, flags)
                                                    : open_by_walk(name, flags));
    if (fd.is_open()) return fd;
    if (errno != EAGAIN && errno != EINTR) return std::unexpected(status_of(errno));
  }
  return std::unexpected(status::unavailable);
}

int file_source::open_by_walk(std::string_view name, int flags) const noexcept {
  std::array<char, NAME_MAX + 1> segment{};
  unique_fd folder;
  for (;;) {
    const std::size_t length = name.find('/');
    const std::string_view front = name.substr(0, length);
    if (front.size() > NAME_MAX) {
      errno = ENAMETOOLONG;
      return -1;
    }
    segment[front.copy(segment.data(), NAME_MAX)] = '\0';
    const int at = folder.is_open() ? folder.get() : root_.get();
    if (length == std::string_view::npos) return ::openat(at, segment.data(), flags | O_NOFOLLOW);
    folder = unique_fd(::openat(at, segment.data(), segment_flags));
    if (!folder.is_open()) return -1;
    name.remove_prefix(length + 1);
  }
}

}  // namespace file_server
