// Which files may be opened, and which may not.
#include "file_server/file_source.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>

#include "support/scratch_folder.hpp"

namespace file_server::testing {

using rota::test::scratch_folder;
namespace file_source_test {
namespace {

namespace fs = std::filesystem;

class file_source_by : public ::testing::TestWithParam<resolution> {
 protected:
  void SetUp() override {
    if (GetParam() == resolution::kernel && file_source("/").how() != resolution::kernel) {
      GTEST_SKIP() << "no openat2 here";
    }
    fs::create_directory(outside_.at("secret.d"));
    outside_.write("secret.txt", "secret");
    outside_.write("secret.d/a.txt", "secret");
    folder_.write("a.txt", "hello");
    folder_.write("index.html", "<p>");
    folder_.write("sub/deep/b.css", "p{}");
    folder_.write("sub/index.html", "<b>");
    folder_.write("empty.txt", "");
  }

  [[nodiscard]] int code(std::string_view path) const {
    const auto found = file_source(folder_.root(), {.how = GetParam()}).open(path);
    return code_of(found ? status::ok : found.error());
  }

  [[nodiscard]] std::string content(std::string_view path) const {
    const auto found = file_source(folder_.root(), {.how = GetParam()}).open(path);
    if (!found) return "?";
    std::string out(static_cast<std::size_t>(found->identity.size) + 1, '\0');
    const auto got = ::read(found->fd.get(), out.data(), out.size());
    return out.substr(0, static_cast<std::size_t>(got));
  }

  scratch_folder folder_;
  scratch_folder outside_;
};

INSTANTIATE_TEST_SUITE_P(each,
                         file_source_by,
                         ::testing::Values(resolution::kernel, resolution::walk),
                         [](const auto& row) { return row.param == resolution::kernel ? "kernel" : "walk"; });

TEST_P(file_source_by, file_is_opened_with_its_metadata) {
  ASSERT_EQ(::utimensat(AT_FDCWD,
                        folder_.at("a.txt").c_str(),
                        std::array<timespec, 2>{timespec{1'000, 0}, timespec{784'111'777, 5}}.data(),
                        0),
            0);
  const auto found = file_source(folder_.root(), {.how = GetParam()}).open("/a.txt");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->identity.size, 5U);
  EXPECT_EQ(found->identity.modified, 784'111'777);
  EXPECT_EQ(found->identity.modified_nanoseconds, 5U);
  EXPECT_NE(found->identity.inode, 0U);
  EXPECT_EQ(found->as, coding::identity);
  EXPECT_EQ(found->type, "text/plain; charset=utf-8");
  EXPECT_EQ(content("/a.txt"), "hello");
}

TEST_P(file_source_by, a_descriptor_is_closed_on_exec_and_does_not_block) {
  const auto found = file_source(folder_.root(), {.how = GetParam()}).open("/a.txt");
  ASSERT_TRUE(found);
  EXPECT_EQ(::fcntl(found->fd.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_NE(::fcntl(found->fd.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(found->fd.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST_P(file_source_by, a_file_in_a_deep_folder_is_opened) { EXPECT_EQ(content("/sub/deep/b.css"), "p{}"); }

TEST_P(file_source_by, an_encoded_name_is_opened) { EXPECT_EQ(content("/%61%2etxt"), "hello"); }

TEST_P(file_source_by, an_empty_file_is_a_file) { EXPECT_EQ(content("/empty.txt"), ""); }

TEST_P(file_source_by, a_folder_with_slash_gives_its_index) {
  EXPECT_EQ(content("/"), "<p>");
  EXPECT_EQ(content("/sub/"), "<b>");
}

TEST_P(file_source_by, a_folder_without_slash_is_a_redirect) {
  const auto seen = file_source(folder_.root(), {.how = GetParam()}).open("/sub");
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->what, found::redirect);
  EXPECT_FALSE(seen->fd.is_open());
}

TEST_P(file_source_by, a_folder_without_index_is_not_found) {
  EXPECT_EQ(code("/sub/deep"), 404);
  EXPECT_EQ(code("/sub/deep/"), 404);
}

TEST_P(file_source_by, a_folder_called_index_is_not_found) {
  fs::create_directories(folder_.at("odd/index.html/index.html"));
  EXPECT_EQ(code("/odd/"), 404);
  EXPECT_EQ(code("/odd"), 404);
}

TEST_P(file_source_by, what_is_not_there_is_not_found) {
  EXPECT_EQ(code("/missing"), 404);
  EXPECT_EQ(code("/missing/a.txt"), 404);
}

TEST_P(file_source_by, a_file_is_no_folder) {
  EXPECT_EQ(code("/a.txt/"), 404);
  EXPECT_EQ(code("/a.txt/b"), 404);
}

TEST_P(file_source_by, a_name_that_is_too_long_is_not_found) {
  EXPECT_EQ(code("/" + std::string(255, 'a')), 404);
  EXPECT_EQ(code("/" + std::string(256, 'a')), 404);
  EXPECT_EQ(code("/" + std::string(256, 'a') + "/b"), 404);
}

TEST_P(file_source_by, a_name_of_the_longest_length_is_opened) {
  folder_.write(std::string(255, 'n'), "long");
  EXPECT_EQ(content("/" + std::string(255, 'n')), "long");
  EXPECT_EQ(code("/" + std::string(256, 'n')), 404);
}

TEST_P(file_source_by, a_malformed_path_is_a_bad_request) { EXPECT_EQ(code("/%00"), 400); }

TEST_P(file_source_by, path_with_dot_dot_is_not_found) {
  EXPECT_EQ(code("/../" + fs::path(outside_.root()).filename().string() + "/secret.txt"), 404);
  EXPECT_EQ(code("/sub/../a.txt"), 404);
}

TEST_P(file_source_by, a_dot_file_is_not_found_though_it_is_there) {
  folder_.write(".env", "secret");
  folder_.write(".git/config", "secret");
  EXPECT_EQ(code("/.env"), 404);
  EXPECT_EQ(code("/.git/config"), 404);
}

TEST_P(file_source_by, a_link_out_of_the_root_is_not_found) {
  fs::create_symlink(outside_.at("secret.txt"), folder_.at("absolute"));
  fs::create_symlink("../" + fs::path(outside_.root()).filename().string() + "/secret.txt",
                     folder_.at("relative"));
  EXPECT_EQ(code("/absolute"), 404);
  EXPECT_EQ(code("/relative"), 404);
}

TEST_P(file_source_by, a_linked_folder_out_of_the_root_is_not_found) {
  fs::create_directory_symlink(outside_.at("secret.d"), folder_.at("absolute.d"));
  fs::create_directory_symlink("../" + fs::path(outside_.root()).filename().string() + "/secret.d",
                               folder_.at("relative.d"));
  EXPECT_EQ(code("/absolute.d/a.txt"), 404);
  EXPECT_EQ(code("/relative.d/a.txt"), 404);
}

TEST_P(file_source_by, a_link_inside_the_root_is_followed_only_by_the_kernel) {
  fs::create_symlink("a.txt", folder_.at("link"));
  fs::create_directory_symlink("sub", folder_.at("link.d"));
  fs::create_symlink("../../a.txt", folder_.at("sub/deep/up"));
  const int expected = GetParam() == resolution::kernel ? 200 : 404;
  EXPECT_EQ(code("/link"), expected);
  EXPECT_EQ(code("/link.d/deep/b.css"), expected);
  EXPECT_EQ(code("/sub/deep/up"), expected);
}

TEST_P(file_source_by, a_link_to_itself_is_not_found) {
  fs::create_symlink("loop", folder_.at("loop"));
  EXPECT_EQ(code("/loop"), 404);
  EXPECT_EQ(code("/loop/a"), 404);
}

TEST_P(file_source_by, a_link_to_nothing_is_not_found) {
  fs::create_symlink("gone", folder_.at("dangling"));
  EXPECT_EQ(code("/dangling"), 404);
}

TEST_P(file_source_by, a_fifo_is_not_found_and_does_not_block) {
  ASSERT_EQ(::mkfifo(folder_.at("fifo").c_str(), 0644), 0);
  EXPECT_EQ(code("/fifo"), 404);
}

TEST_P(file_source_by, a_socket_is_not_found) {
  const unique_fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  folder_.at("socket").copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  EXPECT_EQ(code("/socket"), 404);
}

TEST_P(file_source_by, a_device_is_not_found) {
  const auto found = file_source("/dev", {.how = GetParam()}).open("/null");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(), status::not_found);
}

TEST_P(file_source_by, a_magic_link_is_not_followed) {
  const auto found = file_source("/proc", {.how = GetParam()}).open("/thread-self/exe");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(), status::not_found);
}

TEST_P(file_source_by, a_file_that_may_not_be_read_is_forbidden) {
  ASSERT_EQ(::chmod(folder_.at("a.txt").c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder_.at("sub").c_str(), 0), 0);
  const bool is_root = ::geteuid() == 0;
  if (is_root) ::setfsuid(65'534);
  const int file = code("/a.txt");
  const int below = code("/sub/index.html");
  if (is_root) ::setfsuid(0);
  EXPECT_EQ(file, 403);
  EXPECT_EQ(below, 403);
}

TEST_P(file_source_by, without_descriptors_the_server_is_unavailable) {
  const file_source source(folder_.root(), {.how = GetParam()});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto found = source.open("/a.txt");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(), status::unavailable);
  EXPECT_TRUE(source.open("/a.txt"));
}

TEST_P(file_source_by, no_descriptor_is_left_behind) {
  const file_source source(folder_.root(), {.how = GetParam()});
  const auto count = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  ASSERT_EQ(::mkfifo(folder_.at("fifo").c_str(), 0644), 0);
  const auto before = count();
  for (const auto path :
       {"/", "/a.txt", "/sub", "/sub/deep", "/sub/deep/none", "/fifo", "/a.txt/x", "/../a", "/%"}) {
    (void)source.open(path);
  }
  EXPECT_EQ(count(), before);
}

// A thread turns `d` into a folder and into a link to the outside; each opened file must be inside.
TEST_P(file_source_by, folder_that_becomes_a_link_gives_no_file_outside_the_root) {
  folder_.write("d/a.txt", "inside");
  fs::create_directory_symlink(outside_.at("secret.d"), folder_.at("evil"));
  const std::string folder = folder_.at("d");
  const std::string link = folder_.at("evil");
  const auto exchange = [&] {
    return ::syscall(SYS_renameat2, AT_FDCWD, folder.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  };
  if (exchange() != 0) GTEST_SKIP() << "this file system cannot exchange names";
  std::atomic<bool> stop{false};
  std::thread swapper([&] {
    while (!stop) exchange();
  });
  const file_source source(folder_.root(), {.how = GetParam()});
  int opened = 0;
  int refused = 0;
  int leaked = 0;
  while (opened < 200 || refused < 200) {
    const auto found = source.open("/d/a.txt");
    ++(found ? opened : refused);
    if (found && found->identity.size != std::string_view("inside").size()) ++leaked;
    std::array<char, 16> text{};
    if (found && (::read(found->fd.get(), text.data(), text.size()) != 6 || text[0] != 'i')) ++leaked;
  }
  stop = true;
  swapper.join();
  EXPECT_EQ(leaked, 0);
}

TEST(file_source, a_root_that_is_no_folder_is_named) {
  try {
    const file_source source("/dev/null");
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code().value(), ENOTDIR);
    EXPECT_NE(std::string(e.what()).find("/dev/null"), std::string::npos);
  }
}

TEST(file_source, a_root_that_is_not_there_is_refused) {
  EXPECT_THROW(file_source("/no/such/folder"), std::system_error);
}

/// Makes openat2 fail with `error` for this thread: an old kernel (ENOSYS) or an old sandbox (EPERM).
bool forbid_openat2(int error) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(code), code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(file_source, without_openat2_it_walks) {
  scratch_folder folder;
  folder.write("sub/a.txt", "hello");
  for (const int error : {ENOSYS, EPERM}) {
    bool could_forbid = false;
    resolution how = resolution::automatic;
    std::uint64_t size = 0;
    std::thread([&] {
      could_forbid = forbid_openat2(error);
      const file_source source(folder.root());
      how = source.how();
      if (const auto found = source.open("/sub/a.txt")) size = found->identity.size;
    }).join();
    if (!could_forbid) GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(how, resolution::walk);
    EXPECT_EQ(size, 5U);
  }
}

}  // namespace
}  // namespace file_source_test
}  // namespace file_server::testing
