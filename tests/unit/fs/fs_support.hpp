// Shared by the tests of this folder.
#pragma once

#include "base/sys/files.hpp"
#include "support/sanitized.hpp"
#include "support/scratch_folder.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/fs/file.hpp>

#include <sys/uio.h>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace rota::test {

inline std::span<const std::byte> as_bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text));
}
inline std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Returns the value, or throws the error.
template <class T>
T must(io::result<T> r) {
  if (!r.has_value()) throw std::system_error(r.error());
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

/// Returns "ok", or the error.
template <class T>
std::string said(const io::result<T>& r) {
  return r.has_value() ? "ok"
                       : std::string(r.error().category().name()) + " " + std::to_string(r.error().value());
}
inline std::string generic(int error) { return "generic " + std::to_string(error); }
inline std::string generic(std::errc error) { return generic(static_cast<int>(error)); }

/// Awaits `work`, and expects the value `expected`.
template <class T>
task<void> gives(task<io::result<T>> work,
                 std::type_identity_t<T> expected,
                 std::source_location where = std::source_location::current()) {
  const io::result<T> got = co_await std::move(work);
  EXPECT_EQ(said(got), "ok") << "line " << where.line();
  EXPECT_TRUE(got.has_value() && *got == expected) << "line " << where.line();
}
/// Awaits `work`, and expects the system's error `error`.
template <class T>
task<void> fails(task<io::result<T>> work,
                 int error,
                 std::source_location where = std::source_location::current()) {
  const io::result<T> got = co_await std::move(work);
  EXPECT_EQ(said(got), generic(error)) << "line " << where.line();
}

/// Returns bytes with values that depend on their position.
inline std::string numbered(std::size_t size) {
  std::string made(size, '\0');
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<char>(i * 31 + i / 251);
  return made;
}

/// Returns true if the file can be read in place. Not every file system supports that.
inline bool can_be_read_in_place(int fd) {
  std::byte first{};
  const iovec into{&first, 1};
  return base::sys::read_cached(fd, &into, 1, 0) == std::size_t{1};
}

/// Counts threads by name, since a sanitizer may start threads of its own at any time.
inline std::size_t threads_of_runtimes() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream in(each.path() / "comm");
    std::string name;
    if (std::getline(in, name) && name.starts_with("rota-")) ++count;
  }
  return count;
}

/// Waits for the threads of destroyed runtimes, which may keep descriptors a moment longer.
inline std::size_t files_alone() {
  wait_until([] { return threads_of_runtimes() == 0; });
  return open_files();
}

class fs_test : public ::testing::Test {
 protected:
  /// Runs the task `body()` on its own runtime, and expects that no descriptor is left.
  template <class F>
  static void run_it(F body, unsigned workers = 2) {
    const std::size_t files = files_alone();
    {
      runtime rt(with_workers(workers));
      rt.block_on(std::move(body));
    }
    EXPECT_EQ(files_alone(), files);
  }
  [[nodiscard]] std::string at(std::string_view name) const { return folder.at(name); }

  scratch_folder folder;
};

}  // namespace rota::test
