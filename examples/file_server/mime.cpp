#include "file_server/mime.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace file_server {
namespace {

struct entry {
  std::string_view extension;
  std::string_view type;
};

constexpr std::array table{
    entry{"avif", "image/avif"},
    entry{"bmp", "image/bmp"},
    entry{"css", "text/css; charset=utf-8"},
    entry{"csv", "text/csv; charset=utf-8"},
    entry{"flac", "audio/flac"},
    entry{"gif", "image/gif"},
    entry{"gz", "application/gzip"},
    entry{"htm", "text/html; charset=utf-8"},
    entry{"html", "text/html; charset=utf-8"},
    entry{"ico", "image/vnd.microsoft.icon"},
    entry{"jpeg", "image/jpeg"},
    entry{"jpg", "image/jpeg"},
    entry{"js", "text/javascript; charset=utf-8"},
    entry{"json", "application/json"},
    entry{"log", "text/plain; charset=utf-8"},
    entry{"map", "application/json"},
    entry{"md", "text/markdown; charset=utf-8"},
    entry{"mjs", "text/javascript; charset=utf-8"},
    entry{"mp3", "audio/mpeg"},
    entry{"mp4", "video/mp4"},
    entry{"oga", "audio/ogg"},
    entry{"ogg", "audio/ogg"},
    entry{"ogv", "video/ogg"},
    entry{"otf", "font/otf"},
    entry{"pdf", "application/pdf"},
    entry{"png", "image/png"},
    entry{"svg", "image/svg+xml"},
    entry{"tar", "application/x-tar"},
    entry{"tif", "image/tiff"},
    entry{"tiff", "image/tiff"},
    entry{"ttf", "font/ttf"},
    entry{"txt", "text/plain; charset=utf-8"},
    entry{"wasm", "application/wasm"},
    entry{"wav", "audio/wav"},
    entry{"webm", "video/webm"},
    entry{"webmanifest", "application/manifest+json"},
    entry{"webp", "image/webp"},
    entry{"woff", "font/woff"},
    entry{"woff2", "font/woff2"},
    entry{"xhtml", "application/xhtml+xml"},
    entry{"xml", "application/xml"},
    entry{"zip", "application/zip"},
};

constexpr bool by_extension(const entry& a, const entry& b) noexcept { return a.extension < b.extension; }
static_assert(std::is_sorted(table.begin(), table.end(), by_extension), "mime_type() searches by halves");

constexpr std::string_view unknown = "application/octet-stream";
constexpr std::size_t longest = 11;

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string_view mime_type(std::string_view path) noexcept {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || path.size() - dot - 1 > longest) return unknown;
  std::array<char, longest> letters{};
  const std::string_view extension = path.substr(dot + 1);
  std::transform(extension.begin(), extension.end(), letters.begin(), lower);
  const entry wanted{{letters.data(), extension.size()}, {}};
  const auto* const at = std::lower_bound(table.begin(), table.end(), wanted, by_extension);
  return at != table.end() && at->extension == wanted.extension ? at->type : unknown;
}

bool is_compressed(std::string_view type) noexcept {
  constexpr std::array beginnings{
      std::string_view("video/"),
      std::string_view("audio/flac"),
      std::string_view("audio/mpeg"),
      std::string_view("audio/ogg"),
      std::string_view("image/avif"),
      std::string_view("image/gif"),
      std::string_view("image/jpeg"),
      std::string_view("image/png"),
      std::string_view("image/webp"),
      std::string_view("font/woff"),
      std::string_view("application/gzip"),
      std::string_view("application/zip"),
  };
  return std::any_of(
      beginnings.begin(), beginnings.end(), [&](std::string_view b) { return type.starts_with(b); });
}

}  // namespace file_server
