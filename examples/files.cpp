// Creates a temporary directory and files in it: writes them, reads them at offsets, replaces one atomically,
// maps one, and finds them again by a walk.
#include <rota/fs/directory.hpp>
#include <rota/fs/file.hpp>
#include <rota/fs/mapping.hpp>
#include <rota/fs/temporary.hpp>
#include <rota/fs/walk.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/runtime.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace fs = rota::fs;

namespace {

template <class T>
T demand(fs::result<T> r) {
  if (!r.has_value()) throw std::system_error(r.error());
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

/// Reads and writes at explicit offsets, so any number of tasks may use the file at the same time.
rota::task<std::string> write_and_read(const std::string& path) {
  fs::file f = demand(co_await fs::file::create_new(path));
  const std::string text = "Files never say that they are ready.\n";
  demand(co_await f.write_all_at(std::as_bytes(std::span(text)), 0));
  demand(co_await f.sync_all());
  std::array<std::byte, 5> word;
  demand(co_await f.read_exact_at(word, 6));
  co_return std::string(reinterpret_cast<const char*>(word.data()), word.size());
}

rota::task<std::size_t> lines_of(const std::string& path) {
  const fs::file f = demand(co_await fs::file::open(path));
  const fs::mapping all = demand(co_await fs::mapping::of(f));
  std::size_t lines = 0;
  for (const std::byte each : all.bytes()) lines += each == std::byte{'\n'} ? 1 : 0;
  co_return lines;
}

rota::task<std::size_t> files_below(std::string root) {
  std::size_t files = 0;
  fs::walk through(std::move(root));
  for (;;) {
    const auto each = co_await through.next();
    if (!each) break;
    if (each->error) throw std::system_error(each->error, each->path);
    files += each->type == fs::file_type::regular ? 1 : 0;
  }
  co_return files;
}

rota::task<bool> work() {
  // its destructor removes it and all that is in it
  const fs::temp_dir mine = demand(co_await fs::temp_dir::create());
  const std::string word = co_await write_and_read(mine.at("first"));
  demand(co_await fs::create_dir_all(mine.at("a/b/c")));
  demand(co_await fs::write(mine.at("a/b/c/settings"), "old\n"));
  // Every reader that opens the file finds the old content or the new content, also after a crash.
  demand(co_await fs::write_atomically(mine.at("a/b/c/settings"), "new\nones\n"));
  const std::size_t lines = co_await lines_of(mine.at("a/b/c/settings"));
  const std::size_t files = co_await files_below(mine.path());
  std::printf("%s, %zu lines, %zu files\n", word.c_str(), lines, files);
  co_return word == "never" && lines == 2 && files == 2;
}

}  // namespace

int main() { return rota::run(work()) ? 0 : 1; }
