// A file is written, read where one likes, and looked at.
#include <rota/fs/file.hpp>
#include <rota/runtime.hpp>

#include <unistd.h>
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <system_error>

namespace fs = rota::fs;

namespace {

template <class T>
T demand(fs::result<T> r) {
  if (!r.has_value()) throw std::system_error(r.error());
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

rota::task<bool> work() {
  const std::string path = "/tmp/rota_example_files." + std::to_string(::getpid());
  fs::file f = demand(co_await fs::file::create_new(path));
  const std::string text = "Files never say that they are ready.\n";
  demand(co_await f.write_all_at(std::as_bytes(std::span(text)), 0));
  demand(co_await f.sync_all());

  std::array<std::byte, 5> word;
  demand(co_await f.read_exact_at(word, 6));
  const std::string read(reinterpret_cast<const char*>(word.data()), word.size());
  const fs::file_info info = demand(co_await f.metadata());
  std::printf("%s: %llu bytes\n", read.c_str(), static_cast<unsigned long long>(info.size));
  ::unlink(path.c_str());
  co_return read == "never" && info.size == text.size();
}

}  // namespace

int main() { return rota::run(work()) ? 0 : 1; }
