// The promised names of fs, by public headers alone.
#include <rota/fs/directory.hpp>
#include <rota/fs/file.hpp>
#include <rota/fs/mapping.hpp>
#include <rota/fs/metadata.hpp>
#include <rota/fs/paths.hpp>
#include <rota/fs/temporary.hpp>
#include <rota/fs/walk.hpp>
#include <rota/fs/watcher.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_reader.hpp>
#include <rota/io/copy.hpp>
#include <rota/io/lines.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <sys/inotify.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace fs = rota::fs;

static_assert(rota::io::stream<fs::file>);

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

template <class T>
T must(fs::result<T> r) {
  if (!r.has_value()) throw std::system_error(r.error());
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

rota::task<void> use_a_file(const fs::temp_dir& in) {
  fs::open_options how;
  how.read().write().create_new().mode(0600);
  fs::file f = must(co_await how.open(in.at("f")));
  must(co_await f.preallocate(0, 100));
  must(co_await f.set_len(0));
  must(co_await rota::io::write_all(f, bytes_of("one\ntwo\n")));
  const std::array<std::span<const std::byte>, 2> parts = {bytes_of("th"), bytes_of("ree\n")};
  const std::size_t put = must(co_await f.write_v(parts));
  EXPECT_EQ(put, 6U);
  must(co_await f.sync_data());
  must(f.seek_to(0));
  {
    rota::io::buffered_reader<fs::file> reader(f);
    auto lines = rota::io::lines(reader);
    for (const char* expected : {"one", "two", "three"}) {
      const auto line = co_await lines.next();
      EXPECT_EQ(line->value(), expected);
    }
  }
  std::array<std::byte, 3> word{};
  const std::array<std::span<std::byte>, 1> into = {word};
  must(co_await f.read_exact_at(word, 4));
  const std::size_t got = must(co_await f.read_v_at(into, 0));
  EXPECT_EQ(got, 3U);
  must(co_await f.write_all_at(bytes_of("ONE"), 0));
  const std::size_t at = must(co_await f.write_at(bytes_of("O"), 0));
  EXPECT_EQ(at, 1U);
  const std::uint64_t end = must(co_await f.seek(0, fs::seek_from::end));
  EXPECT_EQ(end, 14U);
  EXPECT_EQ(f.position(), end);
  must(co_await f.set_permissions(0644));
  const fs::file_info info = must(co_await f.metadata());
  EXPECT_TRUE(info.is_file());
  must(co_await f.sync_all());
  must(co_await std::move(f).close());
}

rota::task<void> use_names(const fs::temp_dir& in) {
  must(co_await fs::write_atomically(in.at("g"), "text"));
  must(co_await fs::append(in.at("g"), " and more"));
  const std::string text = must(co_await fs::read_to_string(in.at("g")));
  EXPECT_EQ(text, "text and more");
  const std::uint64_t copied = must(co_await fs::copy(in.at("g"), in.at("h")));
  EXPECT_EQ(copied, 13U);
  must(co_await fs::hard_link(in.at("g"), in.at("hard")));
  must(co_await fs::symlink("g", in.at("soft")));
  const std::string target = must(co_await fs::read_link(in.at("soft")));
  EXPECT_EQ(target, "g");
  const std::string plain = must(co_await fs::canonicalize(in.at("soft")));
  EXPECT_TRUE(plain.ends_with("/g"));
  must(co_await fs::rename(in.at("h"), in.at("i")));
  must(co_await fs::rename_new(in.at("i"), in.at("j")));
  must(co_await fs::set_permissions(in.at("j"), 0600));
  must(co_await fs::remove_file(in.at("j")));
  const bool is_there = must(co_await fs::exists(in.at("j")));
  EXPECT_FALSE(is_there);
  const fs::file_info link = must(co_await fs::symlink_metadata(in.at("soft")));
  EXPECT_TRUE(link.is_symlink());
  const std::vector<std::byte> bytes = must(co_await fs::read(in.at("soft")));
  EXPECT_EQ(bytes.size(), 13U);
}

rota::task<void> use_directories(const fs::temp_dir& in) {
  must(co_await fs::create_dir(in.at("d")));
  must(co_await fs::create_dir_all(in.at("d/e/f")));
  must(co_await fs::write(in.at("d/e/x"), bytes_of("x")));
  fs::directory d = must(co_await fs::read_dir(in.at("d")));
  const auto first = must(co_await d.next());
  EXPECT_EQ(first->name, "e");
  const auto rest = must(co_await d.batch());
  EXPECT_TRUE(rest.empty());
  fs::walk_options how;
  how.sorted = true;
  fs::walk through(in.at("d"), how);
  std::size_t depths = 0;
  for (;;) {
    const auto each = co_await through.next();
    if (!each) break;
    depths += each->depth;
  }
  EXPECT_EQ(depths, 0U + 1 + 2 + 2);
  must(co_await fs::remove_dir(in.at("d/e/f")));
  must(co_await fs::remove_dir_all(in.at("d")));
}

rota::task<void> use_the_rest(const fs::temp_dir& in) {
  fs::watcher changes = must(fs::watcher::open());
  const int number = must(co_await changes.add(in.path(), IN_CREATE));
  fs::file f = must(co_await fs::temp_file());
  must(co_await rota::io::write_all(f, bytes_of("0123456789")));
  fs::file to = must(co_await fs::file::create(in.at("copy")));
  must(f.seek_to(0));
  const std::uint64_t moved = must(co_await rota::io::copy(f, to));
  EXPECT_EQ(moved, 10U);
  const fs::watch_event created = must(co_await changes.next());
  EXPECT_EQ(created.watch, number);
  EXPECT_EQ(created.name, "copy");
  must(changes.remove(number));
  fs::mapping_options how;
  how.how = fs::mapping_options::access::write;
  how.offset = 3;
  how.length = 4;
  fs::mapping some = must(co_await fs::mapping::of(f, how));
  some.writable()[0] = std::byte{'x'};
  must(some.advise(fs::advice::sequential));
  must(co_await some.sync());
  EXPECT_EQ(some.bytes().size(), 4U);
}

rota::task<void> use_all() {
  fs::temp_dir in = must(co_await fs::temp_dir::create());
  co_await use_a_file(in);
  co_await use_names(in);
  co_await use_directories(in);
  co_await use_the_rest(in);
  must(co_await in.remove());
}

TEST(public_api, files_paths_directories_watchers_and_mappings_work) { rota::run(use_all()); }

}  // namespace
