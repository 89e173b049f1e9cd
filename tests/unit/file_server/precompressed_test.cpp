// The choice between a file and its precompressed neighbours: RFC 9110 §12.5.3.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <string>

#include "file_server/file_source.hpp"
#include "support/scratch_folder.hpp"

namespace file_server::testing {

using rota::test::scratch_folder;
namespace precompressed_test {
namespace {

constexpr accepted_codings both{1, 1000, 1000};

class precompressed : public ::testing::Test {
 protected:
  void write(std::string_view name, std::int64_t time, std::int32_t nanoseconds = 0) {
    folder_.write(name, name);
    const std::array<timespec, 2> times{timespec{time, nanoseconds}, timespec{time, nanoseconds}};
    ASSERT_EQ(::utimensat(AT_FDCWD, folder_.at(name).c_str(), times.data(), 0), 0);
  }

  /// Returns the name of the chosen coding, or the status.
  std::string chosen(std::string_view path, const accepted_codings& wanted, source_options o = {}) {
    const auto seen = file_source(folder_.root(), o).open(path, wanted);
    if (!seen) return std::to_string(code_of(seen.error()));
    return std::string(coding_name(seen->as)) + (seen->varies ? " varies" : "");
  }

  scratch_folder folder_;
};

TEST_F(precompressed, the_best_that_is_there_and_wanted) {
  write("a.js", 1000);
  EXPECT_EQ(chosen("/a.js", both), "identity varies");
  write("a.js.gz", 1000);
  EXPECT_EQ(chosen("/a.js", both), "gzip varies");
  write("a.js.br", 1000);
  EXPECT_EQ(chosen("/a.js", both), "br varies");
  EXPECT_EQ(chosen("/a.js", {1, 1000, 0}), "gzip varies");
  EXPECT_EQ(chosen("/a.js", {1, 1000, 500}), "gzip varies");
  EXPECT_EQ(chosen("/a.js", {1, 500, 1000}), "br varies");
  EXPECT_EQ(chosen("/a.js", {}), "identity varies");
}

TEST_F(precompressed, the_plain_file_if_it_is_wanted_more) {
  write("a.js", 1000);
  write("a.js.gz", 1000);
  EXPECT_EQ(chosen("/a.js", {1000, 999, 0}), "identity varies");
  EXPECT_EQ(chosen("/a.js", {500, 500, 0}), "gzip varies");
}

TEST_F(precompressed, never_what_is_older_than_the_file) {
  write("a.js", 1000, 5);
  write("a.js.br", 1000, 4);
  write("a.js.gz", 999, 999'999'999);
  EXPECT_EQ(chosen("/a.js", both), "identity varies");
  write("a.js.br", 1000, 5);
  EXPECT_EQ(chosen("/a.js", both), "br varies");
}

TEST_F(precompressed, the_type_is_that_of_the_content) {
  write("a.js", 1000);
  write("a.js.gz", 1000);
  const auto seen = file_source(folder_.root()).open("/a.js", both);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->type, "text/javascript; charset=utf-8");
  EXPECT_EQ(seen->identity.size, std::string_view("a.js.gz").size());
}

TEST_F(precompressed, no_folder_and_no_link_out_of_the_root) {
  write("a.js", 1000);
  std::filesystem::create_directory(folder_.at("a.js.br"));
  std::filesystem::create_symlink("/etc/passwd", folder_.at("a.js.gz"));
  EXPECT_EQ(chosen("/a.js", both), "identity varies");
}

TEST_F(precompressed, nothing_stands_for_a_file_that_is_not_there) {
  write("a.js.gz", 1000);
  EXPECT_EQ(chosen("/a.js", both), "404");
  EXPECT_EQ(chosen("/a.js.gz", both), "identity");
}

TEST_F(precompressed, an_index_may_be) {
  write("index.html", 1000);
  write("index.html.br", 1000);
  EXPECT_EQ(chosen("/", both), "br varies");
}

TEST_F(precompressed, what_is_compressed_already_does_not_vary) {
  write("a.png", 1000);
  write("a.png.gz", 1000);
  EXPECT_EQ(chosen("/a.png", both), "identity");
}

TEST_F(precompressed, switched_off_nothing_varies) {
  write("a.js", 1000);
  write("a.js.gz", 1000);
  EXPECT_EQ(chosen("/a.js", both, {.precompressed = feature::off}), "identity");
}

TEST_F(precompressed, excluded_and_alone_is_not_acceptable) {
  write("a.js", 1000);
  EXPECT_EQ(chosen("/a.js", {0, 1000, 1000}), "406");
  write("a.js.gz", 1000);
  EXPECT_EQ(chosen("/a.js", {0, 1000, 1000}), "gzip varies");
  EXPECT_EQ(chosen("/a.js", {0, 0, 1000}), "406");
}

TEST_F(precompressed, a_name_that_has_no_room_for_the_suffix_is_served_plain) {
  const std::string longest(255, 'n');
  write(longest, 1000);
  EXPECT_EQ(chosen("/" + longest, both), "identity varies");
}

}  // namespace
}  // namespace precompressed_test
}  // namespace file_server::testing
