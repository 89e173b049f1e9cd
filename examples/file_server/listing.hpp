// What is in a folder, and the page that says so.
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

/// One entry that would be served if it were asked for.
struct listed {
  std::string name{};
  bool is_folder = false;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // seconds since 1970
};

struct listing {
  static constexpr std::size_t most = 1000;

  std::vector<listed> entries{};  // folders first, each sorted by the bytes of their names
  bool has_more = false;  // there are more than `most`; which of them are here is up to the file system
};

/// Reads a folder below the root of `files`. Hidden: dot-files, what is neither file nor folder, links that are not followed,
/// and names that no request can say (not UTF-8, with control characters or backslashes).
///
/// Blocks: for the blocking pool.
/// Failure    A status, as file_source has them. May throw std::bad_alloc.
/// Cost       One system call an entry and two more; at most 1000 entries are kept, and 10 000 looked at.
[[nodiscard]] std::expected<listing, status> list_folder(const file_source& files,
                                                         std::string_view encoded_path);

/// An HTML page without scripts. `path` is the decoded path of the folder, "" for the root, else "a/b/".
[[nodiscard]] std::string to_html(const listing& l, std::string_view path);

/// The decoded path of a request for a folder, "a/b/".
[[nodiscard]] std::expected<std::string, status> folder_name(std::string_view encoded_path);

}  // namespace file_server
