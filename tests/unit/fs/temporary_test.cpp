// Files and directories that remove themselves; files as memory.
#include "unit/fs/fs_support.hpp"

#include <rota/fs/mapping.hpp>
#include <rota/fs/paths.hpp>
#include <rota/fs/temporary.hpp>
#include <rota/io/algorithms.hpp>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <string>

namespace rota::fs::temporary_test {
namespace {

using test::as_bytes_of;
using test::as_text;
using test::content_of;
using test::fails;
using test::gives;
using test::must;
using test::numbered;

using fs_temporary = test::fs_test;

TEST_F(fs_temporary, a_file_has_no_name_and_goes_when_it_is_closed) {
  run_it([&]() -> task<void> {
    for (const std::string& where : {folder.root(), std::string("/dev/shm")}) {
      file f = must(co_await temp_file(where));
      must(co_await io::write_all(f, as_bytes_of("content")));
      std::array<std::byte, 7> got;
      must(co_await f.read_exact_at(got, 0));
      EXPECT_EQ(as_text(got), "content");
      const file_info info = must(co_await f.metadata());
      EXPECT_EQ(info.links, 0U);
      EXPECT_EQ(info.permissions & 077U, 0U);
    }
    const file usual = must(co_await temp_file());
    EXPECT_TRUE(usual);
    co_await fails(temp_file(at("nowhere")), ENOENT);
    co_await fails(temp_file(std::string("x\0y", 3)), EINVAL);
  });
  EXPECT_TRUE(std::filesystem::is_empty(folder.root()));
}

TEST_F(fs_temporary, temp_dir_is_removed_with_its_content) {
  run_it([&]() -> task<void> {
    std::string path;
    {
      const temp_dir d = must(co_await temp_dir::create_in(folder.root(), "mine."));
      path = d.path();
      EXPECT_TRUE(path.starts_with(folder.root() + "/mine.")) << path;
      const file_info info = must(co_await metadata(path));
      EXPECT_EQ(info.permissions, 0700U);
      std::filesystem::create_directories(d.at("a/b/c"));
    }
    co_await gives(exists(path), false);
    temp_dir removed = must(co_await temp_dir::create_in(folder.root(), ""));
    must(co_await removed.remove());
    EXPECT_EQ(removed.path(), "");
    must(co_await removed.remove());
    temp_dir kept = must(co_await temp_dir::create_in(folder.root(), ""));
    const std::string stays = kept.release();
    kept = temp_dir();
    co_await gives(exists(stays), true);
    co_await fails(temp_dir::create_in(folder.root(), "a/b"), EINVAL);
    co_await fails(temp_dir::create_in(at("nowhere"), ""), ENOENT);
    const temp_dir usual = must(co_await temp_dir::create());
    EXPECT_NE(usual.path(), "");
  });
  EXPECT_EQ(test::entries_of(folder.root().c_str()), 1U) << "the one that was released";
}

/// The working directory may have changed before the removal.
TEST_F(fs_temporary, temp_dir_in_a_relative_path_is_removed_after_a_chdir) {
  std::filesystem::create_directories(at("here/in"));
  std::filesystem::create_directories(at("there/in"));
  const std::filesystem::path before = std::filesystem::current_path();
  run_it([&]() -> task<void> {
    std::filesystem::current_path(at("here"));
    temp_dir mine = must(co_await temp_dir::create_in("in", "mine."));
    temp_dir other = must(co_await temp_dir::create_in(".", "mine."));
    EXPECT_TRUE(mine.path().starts_with("/")) << mine.path();
    EXPECT_TRUE(std::filesystem::equivalent(std::filesystem::path(mine.path()).parent_path(), at("here/in")));
    co_await fails(temp_dir::create_in("", "mine."), ENOENT);
    std::filesystem::current_path(at("there"));
    must(co_await mine.remove());
  });
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::is_empty(at("here/in")));
  EXPECT_EQ(test::entries_of(at("here").c_str()), 1U);
}

TEST_F(fs_temporary, temp_dir_is_removed_when_its_task_is_cancelled) {
  runtime rt(test::with_workers(2));
  for (int i = 0; i < 100; ++i) {
    std::atomic<bool> begun{false};
    const auto works = [&]() -> task<void> {
      begun = true;
      const temp_dir d = must(co_await temp_dir::create_in(folder.root(), ""));
      std::filesystem::create_directories(d.at("a/b"));
      co_await sleep_for(std::chrono::hours(1));
    };
    join_handle<void> h = rt.spawn(works);
    if (i % 2 == 0) test::wait_until([&] { return begun.load(); });
    if (i % 4 == 0) test::wait_until([&] { return !std::filesystem::is_empty(folder.root()); });
    h.cancel();
    rt.block_on([&]() -> task<void> { static_cast<void>(co_await h.result()); });
    EXPECT_TRUE(std::filesystem::is_empty(folder.root()));
  }
}

TEST_F(fs_temporary, forked_child_does_not_remove_the_temp_dir_of_its_parent) {
  run_it([&]() -> task<void> {
    temp_dir d = must(co_await temp_dir::create_in(folder.root(), ""));
    const std::string path = d.path();
    const pid_t child = ::fork();
    if (child == 0) {
      d.~temp_dir();
      ::_exit(0);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    co_await gives(exists(path), true);
  });
}

using fs_mapping = test::fs_test;

TEST_F(fs_mapping, file_is_mapped_from_any_offset) {
  const std::string bytes = numbered(20'000);
  folder.write("f", bytes);
  run_it([&]() -> task<void> {
    mapping all;
    mapping some;
    {
      const file f = must(co_await file::open(at("f")));
      all = must(co_await mapping::of(f));
      mapping_options how;
      how.offset = 4999;
      how.length = 10'001;
      some = must(co_await mapping::of(f, how));
    }
    EXPECT_TRUE(as_text(all.bytes()) == bytes) << "the file is closed by now";
    EXPECT_TRUE(as_text(some.bytes()) == bytes.substr(4999, 10'001));
    EXPECT_TRUE(all.writable().empty());
    for (const advice each :
         {advice::sequential, advice::random, advice::will_need, advice::dont_need, advice::normal}) {
      EXPECT_TRUE(some.advise(each).has_value());
      EXPECT_TRUE(some.advise(each, 100, 5000).has_value());
    }
    EXPECT_TRUE(as_text(some.bytes()) == bytes.substr(4999, 10'001)) << "what was let go of is read again";
    EXPECT_EQ(test::said(some.advise(advice::normal, 10'002, 0)), test::generic(ERANGE));
    EXPECT_EQ(test::said(some.advise(advice::normal, 1, 10'001)), test::generic(ERANGE));
    EXPECT_EQ(test::said(some.advise(advice::normal, 1, ~std::size_t{0})), test::generic(ERANGE));
    EXPECT_TRUE(some.advise(advice::normal, 10'001, 0).has_value());
  });
}

TEST_F(fs_mapping, write_mapping_changes_the_file_and_copy_mapping_does_not) {
  folder.write("f", std::string(10'000, '.'));
  run_it([&]() -> task<void> {
    file f = must(co_await open_options().read().write().open(at("f")));
    mapping_options how;
    how.how = mapping_options::access::write;
    how.offset = 5000;
    mapping shared = must(co_await mapping::of(f, how));
    how.how = mapping_options::access::copy;
    mapping own = must(co_await mapping::of(f, how));
    shared.writable()[0] = std::byte{'s'};
    own.writable()[1] = std::byte{'o'};
    must(co_await shared.sync());
    must(co_await shared.sync(4000, 1000));
    must(co_await own.sync());
    co_await fails(shared.sync(1, 5000), ERANGE);
    std::array<std::byte, 2> got;
    must(co_await f.read_exact_at(got, 5000));
    EXPECT_EQ(as_text(got), "s.");
    EXPECT_EQ(as_text(own.bytes().first(2)).substr(1), "o");
  });
  EXPECT_EQ(content_of(at("f")), std::string(5000, '.') + "s" + std::string(4999, '.'));
}

TEST_F(fs_mapping, invalid_mappings_are_refused_with_an_error) {
  folder.write("f", "0123456789");
  folder.write("empty", "");
  run_it([&]() -> task<void> {
    const file f = must(co_await file::open(at("f")));
    mapping_options how;
    how.length = 0;
    co_await fails(mapping::of(f, how), EINVAL);
    how.length = 11;
    co_await fails(mapping::of(f, how), ERANGE);
    how.length = ~std::size_t{0};
    co_await fails(mapping::of(f, how), ERANGE);
    how = {};
    how.offset = 10;
    co_await fails(mapping::of(f, how), EINVAL);
    how.offset = 11;
    co_await fails(mapping::of(f, how), ERANGE);
    how.offset = ~std::uint64_t{0};
    co_await fails(mapping::of(f, how), ERANGE);
    how = {};
    how.how = mapping_options::access::write;
    co_await fails(mapping::of(f, how), EACCES);
    const file empty = must(co_await file::open(at("empty")));
    co_await fails(mapping::of(empty), EINVAL);
    co_await fails(mapping::of(file()), EBADF);
    const file directory = must(co_await file::open(folder.root()));
    co_await fails(mapping::of(directory), ENODEV);
    mapping none;
    EXPECT_FALSE(none);
    EXPECT_TRUE(none.bytes().empty());
    must(co_await none.sync());
    mapping moved = must(co_await mapping::of(f));
    mapping to(std::move(moved));
    EXPECT_EQ(to.size(), 10U);
    EXPECT_FALSE(moved);  // NOLINT(bugprone-use-after-move): that is what is asked
  });
}

}  // namespace
}  // namespace rota::fs::temporary_test
