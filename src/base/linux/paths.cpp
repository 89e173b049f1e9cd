#include "base/sys/paths.hpp"

#include "base/linux/call.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace rota::base::sys {

namespace {

result<void> nothing(long value) noexcept {
  if (value == -1) return std::unexpected(last_error());
  return {};
}

struct frees {
  void operator()(char* text) const noexcept { std::free(text); }
};

/// A directory entry as the kernel writes it.
struct folder_record {
  std::uint64_t inode;
  std::int64_t next;
  unsigned short size;
  unsigned char type;
};
constexpr std::size_t name_at = 19;

}  // namespace

result<void> remove_name(int at, const char* path, int flags) noexcept {
  return nothing(uninterrupted([&] { return ::unlinkat(at, path, flags); }));
}

result<void> make_folder(int at, const char* path, unsigned mode) noexcept {
  return nothing(uninterrupted([&] { return ::mkdirat(at, path, mode); }));
}

result<void> rename_path(int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept {
  return nothing(uninterrupted([&] {
    if (flags == 0) return ::renameat(from_at, from, to_at, to);
    return ::renameat2(from_at, from, to_at, to, flags);
  }));
}

result<void> make_link(int from_at, const char* from, int to_at, const char* to, int flags) noexcept {
  return nothing(uninterrupted([&] { return ::linkat(from_at, from, to_at, to, flags); }));
}

result<void> make_symlink(const char* target, int at, const char* path) noexcept {
  return nothing(uninterrupted([&] { return ::symlinkat(target, at, path); }));
}

result<std::string> read_symlink(int at, const char* path) {
  // The link may be exchanged for a longer one between two calls: a text that fills the buffer may be
  // incomplete.
  for (std::string text(256, '\0');; text.resize(text.size() * 2)) {
    const result<std::size_t> got =
        bytes(uninterrupted([&] { return ::readlinkat(at, path, text.data(), text.size()); }));
    if (!got.has_value()) return std::unexpected(got.error());
    if (*got == text.size()) continue;
    text.resize(*got);
    return text;
  }
}

result<std::string> real_path(const char* path) {
  before_system_call();
  const std::unique_ptr<char, frees> found(::realpath(path, nullptr));
  if (found == nullptr) return std::unexpected(last_error());
  return std::string(found.get());
}

result<void> set_path_mode(const char* path, unsigned mode) noexcept {
  return nothing(uninterrupted([&] { return ::chmod(path, mode); }));
}

result<void> set_mode(int fd, unsigned mode) noexcept {
  return nothing(uninterrupted([&] { return ::fchmod(fd, mode); }));
}

result<std::size_t> read_folder(int fd, std::span<std::byte> into) noexcept {
  return bytes(uninterrupted([&] { return ::syscall(SYS_getdents64, fd, into.data(), into.size()); }));
}

folder_entry next_entry(std::span<const std::byte>& bytes) noexcept {
  folder_record record;
  std::memcpy(&record, bytes.data(), sizeof record);
  const auto* const name = reinterpret_cast<const char*>(bytes.data()) + name_at;
  bytes = bytes.subspan(record.size);
  return {name, std::strlen(name), record.inode, record.type};
}

result<int> make_watch() noexcept {
  before_system_call();
  return descriptor(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
}

result<int> watch_path(int watch, const char* path, unsigned mask) noexcept {
  return descriptor(uninterrupted([&] { return ::inotify_add_watch(watch, path, mask); }));
}

result<void> unwatch_path(int watch, int number) noexcept { return done(::inotify_rm_watch(watch, number)); }

}  // namespace rota::base::sys
