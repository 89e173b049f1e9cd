// Calls on paths: their results and errors, and that a ring makes them if there is one.
#include "unit/fs/fs_support.hpp"

#include <rota/fs/paths.hpp>

#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <string>

namespace rota::fs::paths_test {
namespace {

using test::content_of;
using test::fails;
using test::gives;
using test::must;
using test::said;

using fs_paths = test::fs_test;

TEST_F(fs_paths, exists_reports_existing_paths_missing_paths_and_errors) {
  folder.write("f", "x");
  std::filesystem::create_symlink("nowhere", at("dangling"));
  std::filesystem::create_symlink("loop", at("loop"));
  run_it([&]() -> task<void> {
    co_await gives(exists(at("f")), true);
    co_await gives(exists(folder.root()), true);
    co_await gives(exists(at("g")), false);
    co_await gives(exists(at("f/g")), false);
    co_await gives(exists(at("dangling")), false);
    co_await gives(exists(""), false);
    co_await fails(exists(at("loop")), ELOOP);
    co_await fails(exists(at(std::string(300, 'x'))), ENAMETOOLONG);
    const file_info link = must(co_await symlink_metadata(at("dangling")));
    EXPECT_TRUE(link.is_symlink());
    co_await fails(metadata(at("dangling")), ENOENT);
  });
}

TEST_F(fs_paths, files_and_directories_are_made_and_removed) {
  folder.write("f", "x");
  const mode_t before = ::umask(022);
  run_it([&]() -> task<void> {
    must(co_await create_dir(at("d")));
    must(co_await create_dir(at("d/e"), 0700));
    const file_info d = must(co_await metadata(at("d")));
    const file_info e = must(co_await metadata(at("d/e")));
    EXPECT_EQ(d.permissions, 0755U);
    EXPECT_EQ(e.permissions, 0700U);
    co_await fails(create_dir(at("d")), EEXIST);
    co_await fails(create_dir(at("x/y")), ENOENT);
    co_await fails(create_dir(at("z"), 010000), EINVAL);
    co_await fails(remove_dir(at("d")), ENOTEMPTY);
    co_await fails(remove_dir(at("f")), ENOTDIR);
    co_await fails(remove_file(at("d")), EISDIR);
    must(co_await remove_dir(at("d/e")));
    must(co_await remove_dir(at("d")));
    must(co_await remove_file(at("f")));
    co_await fails(remove_file(at("f")), ENOENT);
  });
  ::umask(before);
  EXPECT_TRUE(std::filesystem::is_empty(folder.root()));
}

TEST_F(fs_paths, rename_replaces_the_target_and_rename_new_keeps_it) {
  folder.write("a", "a");
  folder.write("b", "b");
  run_it([&]() -> task<void> {
    co_await fails(rename_new(at("a"), at("b")), EEXIST);
    EXPECT_EQ(content_of(at("b")), "b");
    must(co_await fs::rename(at("a"), at("b")));
    EXPECT_EQ(content_of(at("b")), "a");
    must(co_await rename_new(at("b"), at("c")));
    co_await fails(fs::rename(at("b"), at("d")), ENOENT);
    co_await fails(fs::rename(at("c"), "/proc/c"), EXDEV);
  });
  EXPECT_EQ(content_of(at("c")), "a");
}

TEST_F(fs_paths, hard_links_and_symlinks_are_created_and_read) {
  folder.write("f", "content");
  const std::string far(3000, 'x');  // longer than the first and the second guess
  run_it([&]() -> task<void> {
    must(co_await hard_link(at("f"), at("h")));
    const file_info h = must(co_await metadata(at("h")));
    EXPECT_EQ(h.links, 2U);
    must(co_await fs::symlink("f", at("s")));
    must(co_await hard_link(at("s"), at("hard_to_s")));
    const file_info link = must(co_await symlink_metadata(at("hard_to_s")));
    EXPECT_TRUE(link.is_symlink()) << "it is not followed";
    must(co_await fs::symlink(far, at("far")));
    co_await gives(read_link(at("s")), "f");
    co_await gives(read_link(at("far")), far);
    co_await fails(read_link(at("f")), EINVAL);
    co_await fails(read_link(at("g")), ENOENT);
    co_await fails(fs::symlink("f", at("s")), EEXIST);
    co_await fails(hard_link(at("f"), at("s")), EEXIST);
  });
}

TEST_F(fs_paths, canonicalize_returns_an_absolute_path_without_links) {
  folder.write("d/f", "x");
  std::filesystem::create_symlink("d", at("s"));
  const std::string root = std::filesystem::canonical(folder.root());
  run_it([&]() -> task<void> {
    co_await gives(canonicalize(at("s/./../s/f")), root + "/d/f");
    co_await fails(canonicalize(at("s/g")), ENOENT);
    co_await fails(canonicalize(""), ENOENT);
    co_await gives(canonicalize("/.."), "/");
  });
}

TEST_F(fs_paths, set_permissions_follows_symlinks) {
  folder.write("f", "x");
  std::filesystem::create_symlink("f", at("s"));
  run_it([&]() -> task<void> {
    must(co_await set_permissions(at("s"), 0604));
    const file_info f = must(co_await metadata(at("f")));
    EXPECT_EQ(f.permissions, 0604U);
    co_await fails(set_permissions(at("g"), 0), ENOENT);
    co_await fails(set_permissions(at("f"), 010000), EINVAL);
  });
}

TEST_F(fs_paths, paths_with_a_zero_byte_are_refused) {
  folder.write("f", "x");
  const std::string bad(at("f") + std::string("\0g", 2));
  run_it([&]() -> task<void> {
    co_await fails(exists(bad), EINVAL);
    co_await fails(remove_file(bad), EINVAL);
    co_await fails(remove_dir(bad), EINVAL);
    co_await fails(create_dir(bad), EINVAL);
    co_await fails(fs::rename(bad, at("g")), EINVAL);
    co_await fails(fs::rename(at("f"), bad), EINVAL);
    co_await fails(hard_link(bad, at("g")), EINVAL);
    co_await fails(hard_link(at("f"), bad), EINVAL);
    co_await fails(fs::symlink(bad, at("g")), EINVAL);
    co_await fails(fs::symlink("f", bad), EINVAL);
    co_await fails(read_link(bad), EINVAL);
    co_await fails(canonicalize(bad), EINVAL);
    co_await fails(set_permissions(bad, 0), EINVAL);
  });
  EXPECT_EQ(content_of(at("f")), "x");
}

TEST_F(fs_paths, path_operations_use_the_io_uring_if_there_is_one) {
  runtime rt(test::with_workers(1));
  if (rt.stats().io_backend != io_backend::uring) GTEST_SKIP() << "there is no ring";
  rt.block_on([&]() -> task<void> {
    must(co_await create_dir(at("d")));
    must(co_await fs::rename(at("d"), at("e")));
    must(co_await fs::symlink("e", at("s")));
    must(co_await hard_link(at("s"), at("h")));
    must(co_await remove_file(at("h")));
    must(co_await remove_dir(at("e")));
    must(co_await symlink_metadata(at("s")));
  });
  EXPECT_EQ(rt.stats().io.operations, 7U);
}

}  // namespace
}  // namespace rota::fs::paths_test
