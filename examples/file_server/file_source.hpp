// Opens files below one directory, and nothing else.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "common/unique_fd.hpp"
#include "file_server/encoding.hpp"
#include "file_server/entity_tag.hpp"
#include "file_server/status.hpp"

namespace file_server {

using common::unique_fd;

class safe_path;

/// What to answer.
///
/// file      `fd` is open.
/// redirect  the name of a folder without its trailing slash.
/// listing   a folder, or what looks like one, without an index: list_folder() decides.
enum class found : std::uint8_t { file, redirect, listing };

/// A regular file as it was when it was opened. If it shrinks while it is sent, the announced length cannot
/// be kept: the connection must then be closed.
struct opened_file {
  found what = found::file;
  unique_fd fd{};
  file_identity identity{};
  std::string_view type{};  // media type by the name, of the content without its coding; has static lifetime
  coding as = coding::identity;
  bool varies = false;  // another Accept-Encoding might get another file
};

/// How a name is resolved below the root.
///
/// kernel   openat2 with RESOLVE_BENEATH: follows symbolic links, unless they are absolute or lead out of the
///          root.
/// walk     one openat per segment with O_NOFOLLOW, where openat2 is missing: follows no symbolic links.
enum class resolution : std::uint8_t { automatic, kernel, walk };

enum class feature : std::uint8_t { off, on };

struct source_options {
  resolution how = resolution::automatic;
  feature precompressed = feature::on;  // "a.br" and "a.gz" stand for "a", unless they are older
  feature listings = feature::off;
};

/// Threads    Any, concurrently: its only state is the descriptor of the root.
/// Ownership  Every opened file belongs to the caller.
/// Failure    A status. not_found: also for anything but a regular file and for names outside of the root;
///            forbidden; not_acceptable: the client accepts only other codings; unavailable: no descriptor is
///            left; internal_error: the rest (EIO).
/// Cost       Two system calls: openat2 and fstat. Up to three more for a directory. For a client that
///            accepts compressed content: one or two more openat2, and fstat and close where such a file
///            exists. They may block on a slow disk.
class file_source {
 public:
  /// Throws std::system_error if `root` is not a directory that can be opened.
  explicit file_source(const std::string& root, source_options o = {});

  /// Opens the file for `encoded`, the path of a request.
  [[nodiscard]] std::expected<opened_file, status> open(std::string_view encoded,
                                                        const accepted_codings& wanted = {}) const noexcept;

  /// Opens a name below the root, without a slash at either end; "" or "." is the root. For code that reads
  /// folders.
  [[nodiscard]] std::expected<unique_fd, status> open_below(const std::string& name,
                                                            int flags) const noexcept;

  [[nodiscard]] resolution how() const noexcept { return options_.how; }

 private:
  [[nodiscard]] std::expected<opened_file, status> open_folder(const safe_path& index) const noexcept;
  [[nodiscard]] std::expected<opened_file, status> choose_coding(
      safe_path& name, opened_file plain, const accepted_codings& wanted) const noexcept;
  [[nodiscard]] bool open_coded(safe_path& name, opened_file& file, coding c) const noexcept;
  [[nodiscard]] std::expected<unique_fd, status> open_name(const char* name, int flags) const noexcept;
  [[nodiscard]] int open_by_walk(std::string_view name, int flags) const noexcept;

  unique_fd root_;
  source_options options_;
};

}  // namespace file_server
