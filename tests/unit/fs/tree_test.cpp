// Directories: reading, making, removing and walking.
#include "unit/fs/fs_support.hpp"

#include <rota/fs/directory.hpp>
#include <rota/fs/paths.hpp>
#include <rota/fs/walk.hpp>
#include <rota/time.hpp>

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace rota::fs::tree_test {
namespace {

using namespace std::chrono_literals;
using test::fails;
using test::must;

class fs_tree : public test::fs_test {
 protected:
  /// Returns "depth path-below-the-root type [error]" of each entry, in order.
  task<std::vector<std::string>> walked(std::string root, walk_options how) const {
    std::vector<std::string> all;
    walk through(root, how);
    for (;;) {
      const auto each = co_await through.next();
      if (!each) break;
      all.push_back(shown(*each, root));
    }
    co_return all;
  }
  /// Returns the error of the first entry of a walk that begins at `root`.
  static task<std::error_code> error_at(std::string root) {
    walk through(std::move(root));
    const auto first = co_await through.next();
    const auto none = co_await through.next();
    EXPECT_FALSE(none.has_value());
    co_return first.has_value() ? first->error : std::error_code();
  }
  static std::string shown(const walk_entry& each, const std::string& root) {
    std::string text = std::to_string(each.depth) + " " + each.path.substr(root.size());
    text += each.type == file_type::directory ? " d" : each.type == file_type::symlink ? " l" : " f";
    if (each.error) text += " " + std::to_string(each.error.value());
    return text;
  }
  static walk_options sorted() {
    walk_options how;
    how.sorted = true;
    return how;
  }
  /// Makes `depth` nested directories step by step, as no path can be that long.
  void make_chain(std::string_view name, int depth) const {
    int here = ::open(folder.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(::mkdirat(here, std::string(name).c_str(), 0755), 0);
    int next = ::openat(here, std::string(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(here);
    here = next;
    for (int i = 1; i < depth; ++i) {
      ASSERT_EQ(::mkdirat(here, "directory", 0755), 0);
      next = ::openat(here, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      ::close(here);
      here = next;
    }
    ::close(::openat(here, "leaf", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ::close(here);
  }
};

TEST_F(fs_tree, a_directory_gives_each_name_once) {
  std::set<std::string> expected;
  for (int i = 0; i < 3000; ++i) {
    expected.insert("a_file_with_some_name_" + std::to_string(i));
    folder.write("d/a_file_with_some_name_" + std::to_string(i), "");
  }
  run_it([&]() -> task<void> {
    directory d = must(co_await read_dir(at("d")));
    std::set<std::string> got;
    for (int i = 0; i < 10; ++i) {
      const auto each = must(co_await d.next());
      EXPECT_TRUE(each.has_value());
      EXPECT_EQ(each->type, file_type::regular);
      EXPECT_NE(each->inode, 0U);
      EXPECT_TRUE(got.insert(each->name).second);
    }
    int batches = 0;
    for (;; ++batches) {
      const auto some = must(co_await d.batch());
      if (some.empty()) break;
      for (const dir_entry& each : some) EXPECT_TRUE(got.insert(each.name).second) << each.name;
    }
    EXPECT_GT(batches, 1);
    const auto beyond = must(co_await d.next());
    EXPECT_FALSE(beyond.has_value());
    EXPECT_TRUE(got == expected);
  });
}

TEST_F(fs_tree, read_dir_reports_entry_types_and_errors) {
  folder.write("f", "");
  ::mkdir(at("d").c_str(), 0755);
  ::mkfifo(at("p").c_str(), 0600);
  std::filesystem::create_symlink("d", at("s"));
  run_it([&]() -> task<void> {
    directory d = must(co_await read_dir(folder.root()));
    auto all = must(co_await d.batch());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    EXPECT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].type, file_type::directory);
    EXPECT_EQ(all[1].type, file_type::regular);
    EXPECT_EQ(all[2].type, file_type::fifo);
    EXPECT_EQ(all[3].type, file_type::symlink);
    co_await fails(read_dir(at("f")), ENOTDIR);
    co_await fails(read_dir(at("g")), ENOENT);
    co_await fails(read_dir(std::string("x\0y", 3)), EINVAL);
    directory closed;
    co_await fails(closed.next(), EBADF);
    directory removed = must(co_await read_dir(at("d")));
    must(co_await remove_dir(at("d")));
    const auto none = must(co_await removed.next());
    EXPECT_FALSE(none.has_value());
  });
}

TEST_F(fs_tree, create_dir_all_creates_all_missing_directories) {
  folder.write("f", "");
  std::filesystem::create_directory_symlink(folder.root(), at("s"));
  const mode_t before = ::umask(022);
  run_it([&]() -> task<void> {
    must(co_await create_dir_all(at("a/b//c/")));
    must(co_await create_dir_all(at("a/b/c")));
    must(co_await create_dir_all(at("s/x/./y"), 0700));
    must(co_await create_dir_all("/"));
    const file_info y = must(co_await metadata(at("x/y")));
    EXPECT_EQ(y.permissions, 0700U);
    co_await fails(create_dir_all(at("f")), EEXIST);
    co_await fails(create_dir_all(at("f/g")), ENOTDIR);
    co_await fails(create_dir_all("/proc/x/y"), ENOENT);
    co_await fails(create_dir_all(""), ENOENT);
    co_await fails(create_dir_all(at("z"), 010000), EINVAL);
  });
  ::umask(before);
  EXPECT_TRUE(std::filesystem::is_directory(at("a/b/c")));
}

TEST_F(fs_tree, remove_dir_all_removes_the_tree_and_does_not_follow_links) {
  for (int i = 0; i < 500; ++i) folder.write("t/" + std::to_string(i % 7) + "/sub/" + std::to_string(i), "x");
  folder.write("outside/kept", "x");
  std::filesystem::create_directory_symlink(at("outside"), at("t/3/link"));
  std::filesystem::create_symlink("nowhere", at("t/dangling"));
  std::filesystem::create_directory_symlink(at("outside"), at("link"));
  ::mkfifo(at("t/fifo").c_str(), 0600);
  run_it([&]() -> task<void> {
    must(co_await remove_dir_all(at("t")));
    must(co_await remove_dir_all(at("link/")));
    co_await fails(remove_dir_all(at("t")), ENOENT);
    co_await fails(remove_dir_all(at("outside/kept")), ENOTDIR);
    co_await fails(remove_dir_all(at("outside/.")), EINVAL);
    co_await fails(remove_dir_all(at("outside/..")), EINVAL);
    co_await fails(remove_dir_all("/"), EINVAL);
    co_await fails(remove_dir_all(""), ENOENT);
  });
  EXPECT_EQ(test::entries_of(folder.root().c_str()), 1U);
  EXPECT_TRUE(std::filesystem::exists(at("outside/kept")));
}

/// Ten times longer than a path may be, and deeper than the number of descriptors.
TEST_F(fs_tree, depth_costs_neither_stack_nor_descriptors) {
  make_chain("deep", 5000);
  run_it([&]() -> task<void> {
    walk through(at("deep"));
    std::size_t deepest = 0;
    std::size_t count = 0;
    for (;;) {
      const auto each = co_await through.next();
      if (!each) break;
      EXPECT_FALSE(each->error) << each->error.message();
      deepest = std::max(deepest, each->depth);
      ++count;
    }
    EXPECT_EQ(deepest, 5000U);
    EXPECT_EQ(count, 5001U);
    must(co_await remove_dir_all(at("deep")));
  });
  EXPECT_FALSE(std::filesystem::exists(at("deep")));
}

/// A thread replaces directories by links to protected files all the time.
TEST_F(fs_tree, directory_replaced_by_a_link_in_a_race_is_not_followed) {
  folder.write("kept/a", "x");
  folder.write("kept/b/c", "x");
  std::atomic<bool> done{false};
  std::thread attacker([&] {
    const std::string victim = at("t/victim");
    while (!done) {
      std::error_code ignored;
      std::filesystem::rename(victim, at("t/aside"), ignored);
      std::filesystem::create_directory_symlink(at("kept"), victim, ignored);
      std::filesystem::remove(victim, ignored);
      std::filesystem::rename(at("t/aside"), victim, ignored);
    }
  });
  // The thread opens and closes descriptors, so they are not counted here.
  runtime rt(test::with_workers(1));
  rt.block_on([&]() -> task<void> {
    for (int i = 0; i < 100; ++i) {
      must(co_await create_dir_all(at("t")));
      static_cast<void>(co_await create_dir_all(at("t/victim/b")));
      static_cast<void>(co_await remove_dir_all(at("t")));
    }
  });
  done = true;
  attacker.join();
  EXPECT_TRUE(std::filesystem::exists(at("kept/a")));
  EXPECT_TRUE(std::filesystem::exists(at("kept/b/c")));
}

TEST_F(fs_tree, a_walk_gives_each_directory_before_what_is_in_it) {
  folder.write("t/b/x", "");
  folder.write("t/a/y", "");
  folder.write("t/c", "");
  std::filesystem::create_directory_symlink("a", at("t/s"));
  run_it([&]() -> task<void> {
    const auto all = co_await walked(at("t"), sorted());
    const std::vector<std::string> expected = {
        "0  d", "1 /a d", "2 /a/y f", "1 /b d", "2 /b/x f", "1 /c f", "1 /s l"};
    EXPECT_EQ(all, expected);
    walk_options shallow = sorted();
    shallow.max_depth = 1;
    const auto some = co_await walked(at("t"), shallow);
    EXPECT_EQ(some, (std::vector<std::string>{"0  d", "1 /a d", "1 /b d", "1 /c f", "1 /s l"}));
    shallow.max_depth = 0;
    const auto root = co_await walked(at("t"), shallow);
    EXPECT_EQ(root, std::vector<std::string>{"0  d"});
    const auto a_file = co_await walked(at("t/c"), sorted());
    EXPECT_EQ(a_file, std::vector<std::string>{"0  f"});
    const auto nothing = co_await walked(at("g"), sorted());
    EXPECT_EQ(nothing, std::vector<std::string>{"0  f 2"});
    const auto by_link = co_await walked(at("t/s"), sorted());
    EXPECT_EQ(by_link, (std::vector<std::string>{"0  d", "1 /y f"}));
    const auto slash = co_await walked(at("t/a/"), sorted());
    EXPECT_EQ(slash, (std::vector<std::string>{"0  d", "1 y f"}));
  });
}

TEST_F(fs_tree, a_walk_that_cannot_begin_says_why) {
  run_it([&]() -> task<void> {
    const std::error_code of_none = co_await error_at(at("none"));
    EXPECT_EQ(of_none, std::errc::no_such_file_or_directory);
    const std::error_code of_zero = co_await error_at(at(std::string("d\0e", 3)));
    EXPECT_EQ(of_zero, std::errc::invalid_argument);
  });
}

TEST_F(fs_tree, walk_follows_links_if_asked_and_reports_a_cycle) {
  folder.write("t/a/y", "");
  folder.write("far/z", "");
  std::filesystem::create_directory_symlink("..", at("t/a/up"));
  std::filesystem::create_directory_symlink(at("far"), at("t/far"));
  std::filesystem::create_symlink("a/y", at("t/file"));
  std::filesystem::create_symlink("nowhere", at("t/lost"));
  run_it([&]() -> task<void> {
    walk_options how = sorted();
    how.follow_links = true;
    const auto all = co_await walked(at("t"), how);
    const std::vector<std::string> expected = {"0  d",
                                               "1 /a d",
                                               "2 /a/up d " + std::to_string(ELOOP),
                                               "2 /a/y f",
                                               "1 /far d",
                                               "2 /far/z f",
                                               "1 /file f",
                                               "1 /lost l"};
    EXPECT_EQ(all, expected);
  });
}

/// Blocking threads run without privileges, since permissions do not apply to root.
runtime_options without_privileges() {
  runtime_options o = test::with_workers(1);
  o.blocking.on_thread_start = [](std::size_t) {
    if (::getuid() == 0) ::setfsuid(65'534);
  };
  return o;
}

/// The mode applies to the last directory only: with it, nothing could be made inside of the others.
TEST_F(fs_tree, create_dir_all_works_with_a_mode_without_write_permission) {
  ASSERT_EQ(::chmod(folder.root().c_str(), 0777), 0);
  const mode_t before = ::umask(022);
  runtime rt(without_privileges());
  rt.block_on([&]() -> task<void> {
    must(co_await create_dir_all(at("a/b/c"), 0500));
    must(co_await create_dir_all(at("d/e//./"), 0050));
    const file_info a = must(co_await metadata(at("a")));
    EXPECT_EQ(a.permissions, 0700U);
    const file_info b = must(co_await metadata(at("a/b")));
    EXPECT_EQ(b.permissions, 0700U);
    const file_info c = must(co_await metadata(at("a/b/c")));
    EXPECT_EQ(c.permissions, 0500U);
    const file_info d = must(co_await metadata(at("d")));
    EXPECT_EQ(d.permissions, 0350U);
    const file_info e = must(co_await metadata(at("d/e")));
    EXPECT_EQ(e.permissions, 0050U);
  });
  ::umask(before);
}

/// A directory that is readable but not searchable lists its names; there is no way down, nor up by `..`.
TEST_F(fs_tree, a_directory_that_may_not_be_searched_does_not_end_a_walk) {
  folder.write("t/a/f", "");
  folder.write("t/b/d/f", "");
  folder.write("t/b/f", "");
  folder.write("t/c/f", "");
  ASSERT_EQ(::chmod(at("t/b").c_str(), 0444), 0);
  runtime rt(without_privileges());
  rt.block_on([&]() -> task<void> {
    const auto all = co_await walked(at("t"), sorted());
    const std::vector<std::string> expected = {"0  d",
                                               "1 /a d",
                                               "2 /a/f f",
                                               "1 /b d",
                                               "2 /b/d d " + std::to_string(EACCES),
                                               "2 /b/f f",
                                               "1 /c d",
                                               "2 /c/f f"};
    EXPECT_EQ(all, expected);
  });
  ASSERT_EQ(::chmod(at("t/b").c_str(), 0755), 0);
}

TEST_F(fs_tree, walk_skip_leaves_out_that_directory_only) {
  for (int d = 0; d < 20; ++d) {
    for (int i = 0; i < 40; ++i)
      folder.write("t/" + std::to_string(d) + "/sub/deep/" + std::to_string(i), "");
  }
  run_it([&]() -> task<void> {
    // The same holds in each directory, whether the skipped entries were read ahead or not.
    walk through(at("t"), sorted());
    int files = 0;
    int entries = 0;
    for (int directories = 0;;) {
      const auto each = co_await through.next();
      if (!each) break;
      ++entries;
      if (each->type == file_type::regular) ++files;
      if (each->depth == 2 && directories++ % 2 == 0) {
        through.skip();
        through.skip();
      }
    }
    EXPECT_EQ(files, 10 * 40);
    EXPECT_EQ(entries, 1 + 20 + 20 + 10 + 400);
  });
}

TEST_F(fs_tree, walk_continues_where_it_was_after_a_timeout) {
  for (int i = 0; i < 2000; ++i) folder.write("t/" + std::to_string(i % 50) + "/" + std::to_string(i), "");
  run_it([&]() -> task<void> {
    walk through(at("t"));
    std::set<std::string> got;
    int late = 0;
    for (;;) {
      auto asking = through.next();
      const auto each =
          co_await timeout(std::chrono::microseconds(late < 200 ? 1 : 1'000'000), std::move(asking));
      if (!each.has_value()) {
        ++late;
        continue;
      }
      if (!each->has_value()) break;
      EXPECT_FALSE((*each)->error) << (*each)->error.message();
      EXPECT_TRUE(got.insert((*each)->path).second) << (*each)->path;
    }
    EXPECT_EQ(got.size(), 2051U);
  });
}

}  // namespace
}  // namespace rota::fs::tree_test
