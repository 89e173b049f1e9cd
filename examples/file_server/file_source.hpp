// Opens the files below one directory, and nothing else.
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

/// What is to be answered.
///
/// file      `fd` is open.
/// redirect  the name of a folder without the slash that belongs behind it.
/// listing   a folder, or what looks like one, without an index: list_folder() says which.
enum class found : std::uint8_t { file, redirect, listing };

/// A regular file as it was when it was opened. If it shrinks while it is sent, the promised length cannot be kept: the
/// connection must then be closed.
struct opened_file {
  found what = found::file;
  unique_fd fd{};
  file_identity identity{};
  std::string_view type{};  // media type, by the name; of the content without its coding; has static lifetime
  coding as = coding::identity;
  bool varies = false;  // another Accept-Encoding might get another file
};

/// How a name is resolved below the root.
///
/// kernel   openat2 with RESOLVE_BENEATH: symbolic links are followed, unless they lead out or are absolute.
/// walk     one openat per segment with O_NOFOLLOW, where there is no openat2: no symbolic links.
enum class resolution : std::uint8_t { automatic, kernel, walk };

enum class feature : std::uint8_t { off, on };

struct source_options {
  resolution how = resolution::automatic;
  feature precompressed = feature::on;  // "a.br" and "a.gz" stand for "a", unless they are older
  feature listings = feature::off;
};

/// Threads    Any, at the same time: it has no state but the descriptor of the root.
/// Ownership  Every opened file belongs to the caller.
/// Failure    A status: not_found also for what is no regular file and for what lies outside; forbidden; not_acceptable if only
///            other codings are; unavailable when no descriptor is left; internal_error for the rest (EIO).
/// Cost       Two system calls: openat2 and fstat. Up to three more for a directory. One or two openat2 more for a client that
///            takes compressed content, and fstat and close where there is such a file. They may block on a slow disk.
class file_source {
 public:
  /// Throws std::system_error if `root` is not a directory that can be opened.
  explicit file_source(const std::string& root, source_options o = {});

  /// `encoded` is the path of a request.
  [[nodiscard]] std::expected<opened_file, status> open(std::string_view encoded,
                                                        const accepted_codings& wanted = {}) const noexcept;

  /// A name below the root, without a slash at either end; "" or "." is the root. For what looks into folders.
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
