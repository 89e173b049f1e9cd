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
// O_NONBLOCK: to open a fifo would otherwise wait for its writer.
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
    case ENXIO:  // a socket, or a fifo or device that nobody serves
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

}  // namespace

file_source::file_source(const std::string& root, resolution how)
    : root_(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), how_(how) {
  if (!root_.is_open()) throw std::system_error(errno, std::generic_category(), root);
  if (how_ == resolution::automatic) how_ = probe(root_.get());
}

std::expected<opened_file, status> file_source::open(std::string_view encoded) const noexcept {
  safe_path name;
  if (const status named = name.assign(encoded); named != status::ok) return std::unexpected(named);
  for (int look = 0; look < 2; ++look) {
    auto fd = open_name(name);
    if (!fd) return std::unexpected(fd.error());
    struct stat about{};
    if (::fstat(fd->get(), &about) != 0) return std::unexpected(status_of(errno));
    if (S_ISREG(about.st_mode)) {
      const auto size = static_cast<std::uint64_t>(about.st_size);
      return opened_file{std::move(*fd), size, about.st_mtim.tv_sec, mime_type(name.view())};
    }
    if (!S_ISDIR(about.st_mode) || name.append_index() != status::ok) break;
  }
  return std::unexpected(status::not_found);
}

std::expected<unique_fd, status> file_source::open_name(const safe_path& name) const noexcept {
  // EAGAIN from openat2: a rename somewhere made it uncertain that the name stays below the root. Seldom, but
  // any user of the machine can rename.
  constexpr int attempts = 16;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    unique_fd fd(how_ == resolution::kernel ? open_by_kernel(name.c_str()) : open_by_walk(name.view()));
    if (fd.is_open()) return fd;
    if (errno != EAGAIN && errno != EINTR) return std::unexpected(status_of(errno));
  }
  return std::unexpected(status::unavailable);
}

int file_source::open_by_kernel(const char* name) const noexcept {
  return open_beneath(root_.get(), name, file_flags);
}

int file_source::open_by_walk(std::string_view name) const noexcept {
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
    if (length == std::string_view::npos) return ::openat(at, segment.data(), file_flags | O_NOFOLLOW);
    folder = unique_fd(::openat(at, segment.data(), segment_flags));
    if (!folder.is_open()) return -1;
    name.remove_prefix(length + 1);
  }
}

}  // namespace file_server
