// The content of a folder, and the HTML page for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "file_server/file_source.hpp"
#include "file_server/status.hpp"

namespace file_server {

/// One entry that the server would serve on request.
struct listed {
  std::string name{};
  bool is_folder = false;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // seconds since 1970
};

struct listing {
  static constexpr std::size_t most = 1000;

  std::vector<listed> entries{};  // folders first, each sorted by the bytes of their names
  bool has_more = false;  // more than `most` entries exist; the file system decides which of them are here
};

/// Reads a folder below the root of `files`. Omits dot-files, anything but files and folders, links that are
/// not followed, and names that no request can express (not UTF-8, with control characters or backslashes).
///
/// Blocks: for the blocking pool.
/// Failure    A status, as of file_source. May throw std::bad_alloc.
/// Cost       One system call per entry, and two more. Keeps at most 1000 entries and reads at most 10 000.
[[nodiscard]] std::expected<listing, status> list_folder(const file_source& files,
                                                         std::string_view encoded_path);

/// Returns an HTML page without scripts. `path` is the decoded path of the folder: "" for the root, else
/// "a/b/".
[[nodiscard]] std::string to_html(const listing& l, std::string_view path);

/// Returns the decoded path of a request for a folder, "a/b/".
[[nodiscard]] std::expected<std::string, status> folder_name(std::string_view encoded_path);

}  // namespace file_server
