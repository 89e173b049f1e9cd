// Options for opening files: what each one does, and which combinations are refused.
#include "unit/fs/fs_support.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <string>
#include <utility>

namespace rota::fs::options_test {
namespace {

using test::content_of;
using test::generic;
using test::must;
using test::said;

class fs_options : public test::fs_test {
 protected:
  /// Opens `name`, and returns the result in words.
  std::string opened(open_options how, std::string_view name) {
    std::string answer;
    run_it([&, path = at(name)]() -> task<void> {
      const result<file> f = co_await how.open(path);
      answer = said(f);
    });
    return answer;
  }
};

TEST_F(fs_options, invalid_combinations_are_refused_and_create_no_file) {
  const std::string bad = generic(EINVAL);
  EXPECT_EQ(opened(open_options(), "x"), bad);
  EXPECT_EQ(opened(open_options().create(), "x"), bad);
  EXPECT_EQ(opened(open_options().read().create(), "x"), bad);
  EXPECT_EQ(opened(open_options().read().create_new(), "x"), bad);
  EXPECT_EQ(opened(open_options().read().truncate(), "x"), bad);
  EXPECT_EQ(opened(open_options().append().truncate(), "x"), bad);
  EXPECT_EQ(opened(open_options().write().append().truncate().create(), "x"), bad);
  EXPECT_EQ(opened(open_options().write().create().mode(010000), "x"), bad);
  for (const int flag : {O_WRONLY, O_RDWR, O_APPEND, O_CREAT, O_EXCL, O_TRUNC})
    EXPECT_EQ(opened(open_options().write().create().custom_flags(flag), "x"), bad) << flag;
  EXPECT_EQ(opened(open_options().write().create(), std::string_view("x\0y", 3)), bad);
  EXPECT_FALSE(std::filesystem::exists(at("x")));
}

TEST_F(fs_options, create_and_create_new_decide_whether_a_file_is_created) {
  EXPECT_EQ(opened(open_options().read(), "x"), generic(ENOENT));
  EXPECT_EQ(opened(open_options().write(), "x"), generic(ENOENT));
  EXPECT_EQ(opened(open_options().append(), "x"), generic(ENOENT));
  EXPECT_EQ(opened(open_options().write().create(), "x"), "ok");
  EXPECT_EQ(opened(open_options().write().create_new(), "x"), generic(EEXIST));
  EXPECT_EQ(opened(open_options().write().create_new(), "y"), "ok");
  EXPECT_EQ(opened(open_options().append().create_new(), "z"), "ok");
  std::filesystem::create_symlink("nowhere", at("link"));
  EXPECT_EQ(opened(open_options().write().create_new(), "link"), generic(EEXIST));
  EXPECT_EQ(opened(open_options().read().custom_flags(O_NOFOLLOW), "link"), generic(ELOOP));
  EXPECT_EQ(opened(open_options().write(), ""), generic(EISDIR));
}

TEST_F(fs_options, new_file_gets_the_mode_minus_the_umask) {
  const mode_t before = ::umask(027);
  EXPECT_EQ(opened(open_options().write().create().mode(0777), "all"), "ok");
  EXPECT_EQ(opened(open_options().write().create(), "default"), "ok");
  EXPECT_EQ(opened(open_options().write().create().mode(0600), "default"), "ok") << "it is there already";
  ::umask(before);
  const auto mode_of = [&](std::string_view name) {
    struct stat s{};
    EXPECT_EQ(::stat(at(name).c_str(), &s), 0);
    return s.st_mode & 07777U;
  };
  EXPECT_EQ(mode_of("all"), 0750U);
  EXPECT_EQ(mode_of("default"), 0640U);
}

TEST_F(fs_options, truncate_empties_and_write_alone_does_not) {
  folder.write("f", "content");
  EXPECT_EQ(opened(open_options().write().create(), "f"), "ok");
  EXPECT_EQ(content_of(at("f")), "content");
  EXPECT_EQ(opened(open_options().write().truncate(), "f"), "ok");
  EXPECT_EQ(content_of(at("f")), "");
}

TEST_F(fs_options, custom_flags_and_o_cloexec_reach_the_descriptor) {
  folder.write("f", "content");
  run_it([&]() -> task<void> {
    const file f =
        must(co_await open_options().read().write().custom_flags(O_NOATIME | O_DSYNC).open(at("f")));
    const int flags = ::fcntl(f.native_handle(), F_GETFL);
    EXPECT_EQ(flags & (O_ACCMODE | O_NOATIME | O_DSYNC), O_RDWR | O_NOATIME | O_DSYNC);
    EXPECT_EQ(::fcntl(f.native_handle(), F_GETFD), FD_CLOEXEC);
    const file unnamed = must(co_await open_options().write().custom_flags(O_TMPFILE).open(folder.root()));
    EXPECT_EQ(::fcntl(unnamed.native_handle(), F_GETFD), FD_CLOEXEC);
    const file nothing_made =
        must(co_await open_options().read().custom_flags(O_DIRECTORY).open(folder.root()));
    EXPECT_TRUE(nothing_made);
  });
}

TEST_F(fs_options, open_keeps_the_values_of_a_temporary_options_object) {
  folder.write("f", "content");
  run_it([&]() -> task<void> {
    auto opening = open_options().append().read().open(at("f"));

    const result<file> f = co_await std::move(opening);
    EXPECT_EQ(::fcntl(f.value().native_handle(), F_GETFL) & (O_ACCMODE | O_APPEND), O_RDWR | O_APPEND);
  });
}

TEST_F(fs_options, adopt_takes_an_open_descriptor_and_refuses_a_closed_one) {
  folder.write("f", "0123456789");
  run_it([&]() -> task<void> {
    const int fd = ::open(at("f").c_str(), O_RDWR | O_APPEND);
    EXPECT_EQ(::lseek(fd, 4, SEEK_SET), 4);
    file f = must(file::adopt(fd));
    EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(f.position(), 4U);
    std::array<std::byte, 3> some;
    const std::size_t got = must(co_await f.read(some));
    EXPECT_EQ(test::as_text(std::span(some).first(got)), "456");
    const result<std::size_t> elsewhere = co_await f.write_at(some, 0);
    EXPECT_EQ(said(elsewhere), generic(EINVAL)) << "it appends";
    EXPECT_EQ(std::move(f).release(), fd);
    EXPECT_FALSE(f);
    EXPECT_EQ(::lseek(fd, 0, SEEK_CUR), 4) << "the cursor is not the descriptor's";
    ::close(fd);
    EXPECT_EQ(said(file::adopt(fd)), generic(EBADF));
    EXPECT_EQ(said(file::adopt(-1)), generic(EBADF));
  });
}

}  // namespace
}  // namespace rota::fs::options_test
