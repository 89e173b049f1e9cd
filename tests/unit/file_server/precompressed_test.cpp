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

TEST_F(precompressed, best_accepted_coding_that_exists_is_chosen) {
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

TEST_F(precompressed, plain_file_is_chosen_if_its_quality_value_is_higher) {
  write("a.js", 1000);
  write("a.js.gz", 1000);
  EXPECT_EQ(chosen("/a.js", {1000, 999, 0}), "identity varies");
  EXPECT_EQ(chosen("/a.js", {500, 500, 0}), "gzip varies");
}

TEST_F(precompressed, variant_older_than_the_plain_file_is_not_chosen) {
  write("a.js", 1000, 5);
  write("a.js.br", 1000, 4);
  write("a.js.gz", 999, 999'999'999);
  EXPECT_EQ(chosen("/a.js", both), "identity varies");
  write("a.js.br", 1000, 5);
  EXPECT_EQ(chosen("/a.js", both), "br varies");
}

TEST_F(precompressed, content_type_is_that_of_the_plain_file) {
  write("a.js", 1000);
  write("a.js.gz", 1000);
  const auto seen = file_source(folder_.root()).open("/a.js", both);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->type, "text/javascript; charset=utf-8");
  EXPECT_EQ(seen->identity.size, std::string_view("a.js.gz").size());
}

TEST_F(precompressed, folder_or_link_out_of_the_root_is_not_chosen) {
  write("a.js", 1000);
  std::filesystem::create_directory(folder_.at("a.js.br"));
  std::filesystem::create_symlink("/etc/passwd", folder_.at("a.js.gz"));
  EXPECT_EQ(chosen("/a.js", both), "identity varies");
}

TEST_F(precompressed, variant_without_its_plain_file_is_404) {
  write("a.js.gz", 1000);
  EXPECT_EQ(chosen("/a.js", both), "404");
  EXPECT_EQ(chosen("/a.js.gz", both), "identity");
}

TEST_F(precompressed, index_file_can_be_precompressed) {
  write("index.html", 1000);
  write("index.html.br", 1000);
  EXPECT_EQ(chosen("/", both), "br varies");
}

TEST_F(precompressed, file_of_a_compressed_media_type_does_not_vary) {
  write("a.png", 1000);
  write("a.png.gz", 1000);
  EXPECT_EQ(chosen("/a.png", both), "identity");
}

TEST_F(precompressed, answer_does_not_vary_if_precompression_is_off) {
  write("a.js", 1000);
  write("a.js.gz", 1000);
  EXPECT_EQ(chosen("/a.js", both, {.precompressed = feature::off}), "identity");
}

TEST_F(precompressed, request_that_accepts_no_existing_coding_is_406) {
  write("a.js", 1000);
  EXPECT_EQ(chosen("/a.js", {0, 1000, 1000}), "406");
  write("a.js.gz", 1000);
  EXPECT_EQ(chosen("/a.js", {0, 1000, 1000}), "gzip varies");
  EXPECT_EQ(chosen("/a.js", {0, 0, 1000}), "406");
}

TEST_F(precompressed, file_is_served_plain_if_its_name_is_too_long_for_the_suffix) {
  const std::string longest(255, 'n');
  write(longest, 1000);
  EXPECT_EQ(chosen("/" + longest, both), "identity varies");
}

}  // namespace
}  // namespace precompressed_test
}  // namespace file_server::testing
