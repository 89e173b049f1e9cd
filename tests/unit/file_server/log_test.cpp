// Lines of the access log, and its file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <string>

#include "file_server/log_file.hpp"
#include "file_server/log_line.hpp"
#include "read_file.hpp"
#include "support/scratch_folder.hpp"

namespace file_server::testing {

using rota::test::scratch_folder;
namespace log_test {
namespace {

constexpr std::int64_t now = 784'111'777;

std::string line(std::string_view request_line, status code = status::ok, std::uint64_t bytes = 5) {
  std::array<char, log_line_capacity> out;
  const std::size_t size = write_log_line(
      out, {.client = "192.0.2.1", .request_line = request_line, .time = now, .code = code, .bytes = bytes});
  return {out.data(), size};
}

TEST(log_line, is_in_the_common_log_format) {
  EXPECT_EQ(line("GET /a HTTP/1.1", status::not_found, 14),
            "192.0.2.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /a HTTP/1.1\" 404 14\n");
}

TEST(log_line, has_a_dash_for_what_is_not_known) {
  std::array<char, log_line_capacity> out;
  const std::size_t size = write_log_line(out, {.time = now, .code = status::unavailable});
  EXPECT_EQ(std::string(out.data(), size), "- - - [06/Nov/1994:08:49:37 +0000] \"-\" 503 0\n");
}

TEST(log_line, cannot_be_forged) {
  EXPECT_EQ(line("GET /\" 200 0\n1.2.3.4 \\ \x1b[31m\x7f\xff\t"),
            "192.0.2.1 - - [06/Nov/1994:08:49:37 +0000] "
            "\"GET /\\x22 200 0\\x0A1.2.3.4 \\x5C \\x1B[31m\\x7F\\xFF\\x09\" 200 5\n");
}

TEST(log_line, of_a_long_request_is_cut) {
  const std::string longest = line(std::string(longest_logged_request, 'a'));
  EXPECT_EQ(longest.find("..."), std::string::npos);
  const std::string cut = line(std::string(longest_logged_request + 1, 'a'));
  EXPECT_NE(cut.find("aaa...\" 200 5\n"), std::string::npos);
  EXPECT_EQ(cut.size(), longest.size() + 3);
}

TEST(log_line, the_longest_fits_into_its_capacity) {
  std::array<char, log_line_capacity> out;
  const std::string client(100, 'c');
  const std::string request_line(5000, '\xff');
  const std::size_t size = write_log_line(
      out, {.client = client, .request_line = request_line, .time = now, .bytes = ~std::uint64_t{0}});
  EXPECT_GT(size, 4 * longest_logged_request);
  EXPECT_EQ(out[size - 1], '\n');
}

TEST(log_file, appends_to_what_is_there) {
  const scratch_folder folder;
  folder.write("log", "old\n");
  log_file file(folder.at("log"), {});
  ASSERT_FALSE(file.open());
  const auto out = file.write("new\n");
  EXPECT_FALSE(out.error);
  EXPECT_EQ(read_file(folder.at("log")), "old\nnew\n");
}

TEST(log_file, open_returns_the_error_if_the_folder_is_missing) {
  const scratch_folder folder;
  EXPECT_EQ(log_file(folder.at("none/log"), {}).open(), std::errc::no_such_file_or_directory);
}

TEST(log_file, has_no_permissions_for_other_users) {
  const scratch_folder folder;
  log_file file(folder.at("log"), {});
  ASSERT_FALSE(file.open());
  struct stat about{};
  ASSERT_EQ(::stat(folder.at("log").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07U, 0U);
}

TEST(log_file, rotates_before_its_size_limit_is_exceeded) {
  const scratch_folder folder;
  log_file file(folder.at("log"), {.size = 8, .keep = 2});
  ASSERT_FALSE(file.open());
  EXPECT_FALSE(file.write("aaa\nbbb\nccc\n").error);
  EXPECT_EQ(read_file(folder.at("log.1")), "aaa\nbbb\n");
  EXPECT_EQ(read_file(folder.at("log")), "ccc\n");
  EXPECT_FALSE(file.write("ddd\neee\n").error);
  EXPECT_EQ(read_file(folder.at("log.2")), "aaa\nbbb\n");
  EXPECT_EQ(read_file(folder.at("log.1")), "ccc\nddd\n");
  EXPECT_FALSE(file.write("fff\nggg\n").error);
  EXPECT_EQ(read_file(folder.at("log.2")), "ccc\nddd\n");
  EXPECT_EQ(read_file(folder.at("log.1")), "eee\nfff\n");
  EXPECT_EQ(read_file(folder.at("log")), "ggg\n");
  EXPECT_FALSE(std::filesystem::exists(folder.at("log.3")));
}

TEST(log_file, rotates_before_the_first_line_if_it_is_already_too_large) {
  const scratch_folder folder;
  folder.write("log", "0123456789\n");
  log_file file(folder.at("log"), {.size = 8, .keep = 1});
  ASSERT_FALSE(file.open());
  EXPECT_FALSE(file.write("a\n").error);
  EXPECT_EQ(read_file(folder.at("log.1")), "0123456789\n");
  EXPECT_EQ(read_file(folder.at("log")), "a\n");
}

TEST(log_file, holds_a_line_that_is_longer_than_its_size) {
  const scratch_folder folder;
  log_file file(folder.at("log"), {.size = 4, .keep = 3});
  ASSERT_FALSE(file.open());
  EXPECT_FALSE(file.write("0123456789\nb\n0123456789\n").error);
  EXPECT_EQ(read_file(folder.at("log.2")), "0123456789\n");
  EXPECT_EQ(read_file(folder.at("log.1")), "b\n");
  EXPECT_EQ(read_file(folder.at("log")), "0123456789\n");
}

TEST(log_file, goes_on_in_the_old_file_if_it_cannot_be_renamed) {
  const scratch_folder folder;
  log_file file(folder.at("log"), {.size = 4, .keep = 1});
  ASSERT_FALSE(file.open());
  std::filesystem::create_directory(folder.at("log.1"));
  const auto out = file.write("aaa\nbbb\n");
  EXPECT_TRUE(out.error);
  EXPECT_EQ(out.lines_lost, 0U);
  EXPECT_EQ(read_file(folder.at("log")), "aaa\nbbb\n");
}

TEST(log_file, loses_no_old_file_if_one_of_them_cannot_be_renamed) {
  const scratch_folder folder;
  folder.write("log.1", "old\n");
  std::filesystem::create_directory(folder.at("log.2"));
  log_file file(folder.at("log"), {.size = 4, .keep = 2});
  ASSERT_FALSE(file.open());
  const auto out = file.write("aaa\nbbb\n");
  EXPECT_EQ(out.error, std::errc::is_a_directory);
  EXPECT_EQ(out.lines_lost, 0U);
  EXPECT_EQ(read_file(folder.at("log.1")), "old\n");
  EXPECT_EQ(read_file(folder.at("log")), "aaa\nbbb\n");
}

/// While this object lives, no file of this process grows beyond `most` bytes.
class small_disk {
 public:
  explicit small_disk(rlim_t most) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit low{.rlim_cur = most, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  ~small_disk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

log_file::written write_to_small_disk(log_file& file, std::string_view lines, rlim_t most) {
  const small_disk disk(most);
  return file.write(lines);
}

TEST(log_file, removes_a_partly_written_line_when_the_disk_is_full) {
  const scratch_folder folder;
  log_file file(folder.at("log"), {});
  ASSERT_FALSE(file.open());
  const auto out = write_to_small_disk(file, "aaa\nbbb\nccc\nddd\n", 10);
  EXPECT_EQ(out.error, std::errc::file_too_large);
  EXPECT_EQ(out.lines_lost, 2U);
  EXPECT_EQ(read_file(folder.at("log")), "aaa\nbbb\n");
  EXPECT_FALSE(file.write("eee\n").error);
  EXPECT_EQ(read_file(folder.at("log")), "aaa\nbbb\neee\n");
}

TEST(log_file, ends_a_torn_line_with_a_newline_if_it_cannot_be_truncated) {
  const scratch_folder folder;
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  const int redirected = ::open(folder.at("log").c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::dup2(redirected, STDOUT_FILENO), STDOUT_FILENO);
  log_file file("-", {});
  const std::error_code opened = file.open();
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  ::close(redirected);
  ASSERT_FALSE(opened);
  EXPECT_EQ(write_to_small_disk(file, "aaa\nbbb\nccc\n", 10).lines_lost, 1U);
  EXPECT_EQ(write_to_small_disk(file, "ddd\n", 10).lines_lost, 1U);
  EXPECT_EQ(read_file(folder.at("log")), "aaa\nbbb\ncc");
  EXPECT_FALSE(file.write("eee\n").error);
  EXPECT_EQ(read_file(folder.at("log")), "aaa\nbbb\ncc\neee\n");
}

TEST(log_file, counts_lost_lines_when_the_disk_is_full) {
  log_file file("/dev/full", {.size = 4});
  ASSERT_FALSE(file.open());
  const auto out = file.write("aaa\nbbb\n");
  EXPECT_EQ(out.error, std::errc::no_space_on_device);
  EXPECT_EQ(out.lines_lost, 2U);
}

TEST(log_file, is_created_again_by_open_after_an_external_rename) {
  const scratch_folder folder;
  log_file file(folder.at("log"), {});
  ASSERT_FALSE(file.open());
  EXPECT_FALSE(file.write("a\n").error);
  std::filesystem::rename(folder.at("log"), folder.at("old"));
  EXPECT_FALSE(file.write("b\n").error);
  ASSERT_FALSE(file.open());
  EXPECT_FALSE(file.write("c\n").error);
  EXPECT_EQ(read_file(folder.at("old")), "a\nb\n");
  EXPECT_EQ(read_file(folder.at("log")), "c\n");
}

}  // namespace
}  // namespace log_test
}  // namespace file_server::testing
