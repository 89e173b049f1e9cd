// Opens the files below one directory, and nothing else.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "file_server/status.hpp"
#include "file_server/unique_fd.hpp"

namespace file_server {

class safe_path;

/// A regular file as it was when it was opened. If it shrinks while it is sent, the promised length cannot be
/// kept: the connection must then be closed.
struct opened_file {
  unique_fd fd{};
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // seconds since 1970
  std::string_view type{};    // its media type, by its name; has static lifetime
};

/// How a name is resolved below the root.
///
/// kernel   openat2 with RESOLVE_BENEATH: symbolic links are followed, unless they lead out or are absolute.
/// walk     one openat per segment with O_NOFOLLOW, where there is no openat2: no symbolic links.
enum class resolution : std::uint8_t { automatic, kernel, walk };

/// Threads    Any, at the same time: it has no state but the descriptor of the root.
/// Ownership  Every opened file belongs to the caller.
/// Failure    A status: not_found also for what is no regular file and for what lies outside; forbidden;
///            unavailable when no descriptor is left; internal_error for the rest (EIO).
/// Cost       Two system calls: openat2 and fstat. Three more for a directory. They may block on a slow disk.
class file_source {
 public:
  /// Throws std::system_error if `root` is not a directory that can be opened.
  explicit file_source(const std::string& root, resolution how = resolution::automatic);

  /// `encoded` is the path of a request.
  [[nodiscard]] std::expected<opened_file, status> open(std::string_view encoded) const noexcept;

  [[nodiscard]] resolution how() const noexcept { return how_; }

 private:
  [[nodiscard]] std::expected<unique_fd, status> open_name(const safe_path& name) const noexcept;
  [[nodiscard]] int open_by_kernel(const char* name) const noexcept;
  [[nodiscard]] int open_by_walk(std::string_view name) const noexcept;

  unique_fd root_;
  resolution how_;
};

}  // namespace file_server
