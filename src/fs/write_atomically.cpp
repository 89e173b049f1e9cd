#include <rota/fs/whole_file.hpp>

#include "base/sys/paths.hpp"
#include "fs/blocking.hpp"
#include "fs/information.hpp"

#include <fcntl.h>
#include <cerrno>

namespace rota::fs {

namespace {

using detail::awaiting_task;
using detail::bad_argument;
using detail::descriptor;
namespace sys = detail::sys;

/// A file beside another one, under a name of its own; it is renamed to the other's name, or removed.
class replacement {
 public:
  replacement(int folder, const std::string& name) noexcept : folder_(folder), name_(name) {}
  replacement(const replacement&) = delete;
  replacement& operator=(const replacement&) = delete;
  ~replacement() {
    if (is_there_) static_cast<void>(sys::remove_name(folder_, own_name_.c_str(), 0));
  }

  /// Creates the file. `mode` nothing: as for a new file.
  [[nodiscard]] result<void> make(std::optional<unsigned> mode);
  /// Writes `all`, then sets the mode: a write would clear the set-user-id and set-group-id bits.
  [[nodiscard]] result<void> fill(std::span<const std::byte> all,
                                  std::optional<unsigned> mode,
                                  bool synced,
                                  const awaiting_task& by) noexcept;
  [[nodiscard]] result<void> take_name(const awaiting_task& by) noexcept;

 private:
  int folder_;
  const std::string& name_;
  std::string own_name_;
  descriptor file_;
  bool is_there_ = false;
};

result<void> replacement::make(std::optional<unsigned> mode) {
  constexpr int most_tries = 100;
  constexpr std::size_t most_kept = 200;  // of 255 bytes, with the additions
  for (int i = 0; !is_there_; ++i) {
    own_name_ = "." + name_.substr(0, most_kept) + "." + detail::unique_digits();
    auto made = detail::open_blocking(
        folder_, own_name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode.has_value() ? 0600 : 0666);
    is_there_ = made.has_value();
    if (is_there_) {
      file_ = std::move(*made);
    } else if (made.error() != std::errc::file_exists || i == most_tries) {
      return std::unexpected(made.error());
    }
  }
  return {};
}

result<void> replacement::fill(std::span<const std::byte> all,
                               std::optional<unsigned> mode,
                               bool synced,
                               const awaiting_task& by) noexcept {
  const result<void> written = detail::write_blocking(file_.get(), all, by);
  if (!written.has_value()) return written;
  const result<void> allowed = mode.has_value() ? sys::set_mode(file_.get(), *mode) : result<void>();
  if (!allowed.has_value()) return allowed;
  const result<void> safe = synced ? sys::sync_file(file_.get(), false) : result<void>();
  if (!safe.has_value()) return safe;
  return sys::close_file(file_.release());
}

result<void> replacement::take_name(const awaiting_task& by) noexcept {
  if (by.has_given_up()) return detail::given_up();
  const result<void> renamed = sys::rename_path(folder_, own_name_.c_str(), folder_, name_.c_str(), 0);
  if (renamed.has_value()) is_there_ = false;
  return renamed;
}

/// Some file systems cannot sync a directory.
result<void> sync_folder(int folder) noexcept {
  const result<void> synced = sys::sync_file(folder, false);
  return synced.has_value() || synced.error() != std::errc::invalid_argument ? synced : result<void>();
}

/// Without the set-user-id and set-group-id bits: the owner is another one now.
std::optional<unsigned> mode_for(int folder, const std::string& name, const atomic_options& how) noexcept {
  if (how.mode.has_value()) return how.mode;
  const result<file_info> there = detail::look_at(folder, name.c_str(), AT_SYMLINK_NOFOLLOW);
  return there.has_value() && there->is_file() ? std::optional(there->permissions & 0777U) : std::nullopt;
}

result<void> replace(const std::string& path,
                     std::span<const std::byte> all,
                     const atomic_options& how,
                     const awaiting_task& by) {
  const detail::split_path at = detail::split(path);
  if (at.name.empty() || at.name == "." || at.name == "..") return bad_argument();
  const auto folder = detail::open_blocking(AT_FDCWD, at.folder.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (!folder.has_value()) return std::unexpected(folder.error());
  replacement next(folder->get(), at.name);
  const std::optional<unsigned> mode = mode_for(folder->get(), at.name, how);
  const result<void> made = next.make(mode);
  if (!made.has_value()) return made;
  const result<void> filled = next.fill(all, mode, how.synced, by);
  if (!filled.has_value()) return filled;
  const result<void> renamed = next.take_name(by);
  return renamed.has_value() && how.synced ? sync_folder(folder->get()) : renamed;
}

task<result<void>> replace_by_text(std::string path, std::string text) {
  auto work = write_atomically(std::move(path), std::as_bytes(std::span(text)));
  co_return co_await std::move(work);
}

}  // namespace

task<result<void>> write_atomically(std::string path, std::span<const std::byte> all, atomic_options how) {
  if (detail::has_zero(path) || how.mode.value_or(0) > detail::most_mode) co_return bad_argument();
  const auto work = [&](const awaiting_task& by) { return replace(path, all, how, by); };
  co_return co_await detail::on_thread(work);
}

task<result<void>> write_atomically(std::string path, std::span<const std::byte> all) {
  const atomic_options usual;
  return write_atomically(std::move(path), all, usual);
}

task<result<void>> write_atomically(std::string path, std::string text) {
  return replace_by_text(std::move(path), std::move(text));
}

}  // namespace rota::fs
