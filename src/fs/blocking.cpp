#include "fs/blocking.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rota::fs::detail {

result<descriptor> open_blocking(int at, const char* path, int flags, unsigned mode) noexcept {
  const sys::result<int> fd = sys::open_file(at, path, flags, mode);
  if (!fd.has_value()) return std::unexpected(fd.error());
  return descriptor(*fd);
}

result<void> write_blocking(int fd, std::span<const std::byte> all, const awaiting_task& by) noexcept {
  constexpr std::size_t piece = std::size_t{1} << 20U;
  while (!all.empty()) {
    if (by.has_given_up()) return given_up();
    const number put = sys::write_at(fd, all.first(std::min(all.size(), piece)), sys::no_offset);
    if (!put.has_value()) return std::unexpected(put.error());
    if (*put == 0) return std::unexpected(std::make_error_code(std::errc::io_error));
    all = all.subspan(*put);
  }
  return {};
}

split_path split(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {".", std::string(path)};
  return {std::string(path.substr(0, std::max<std::size_t>(slash, 1))), std::string(path.substr(slash + 1))};
}

std::string unique_digits() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::uint64_t value = base::entropy();
  std::string made(16, '0');
  for (char& each : made) {
    each = digits[value % digits.size()];
    value /= digits.size();
  }
  return made;
}

}  // namespace rota::fs::detail
