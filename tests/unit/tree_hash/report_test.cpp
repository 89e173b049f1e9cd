// Lines, and digests of directories.
#include "tree_hash/report.hpp"

#include <gtest/gtest.h>

namespace tree_hash::testing::report_test {
namespace {

digest sum_of(std::string_view text) {
  sha256 sum;
  sum.add(text);
  return sum.finish();
}
std::string hex_of(std::string_view text) { return to_hex(sum_of(text)); }

entry file(std::string name, std::string_view content) {
  return {.what = kind::file, .name = std::move(name), .sum = sum_of(content)};
}
entry named(kind what, std::string name) { return {.what = what, .name = std::move(name)}; }
entry failed(std::string name) {
  return {.what = kind::failure,
          .name = std::move(name),
          .error = std::make_error_code(std::errc::permission_denied)};
}
const entry end{.what = kind::end};

texts reported(const std::string& root, directories shown, const std::vector<entry>& entries) {
  report r(root, shown);
  for (const entry& e : entries) r.add(e);
  return r.take();
}

std::string child(std::string_view type, const std::string& hex, std::string_view name) {
  return std::string(type) + " " + hex + " " + std::string(name) + '\0';
}

const std::vector<entry> small{
    named(kind::begin, ""), file("a", "1"), named(kind::begin, "d"), file("b", "2"), end, end};
const std::string of_d = hex_of(child("file", hex_of("2"), "b"));
const std::string of_root = hex_of(child("file", hex_of("1"), "a") + child("directory", of_d, "d"));

TEST(a_report, has_a_line_for_each_file_and_comments_for_directories) {
  const std::string files[] = {hex_of("1") + "  r/a\n", hex_of("2") + "  r/d/b\n"};
  const std::string folder = "# directory " + of_d + "  r/d\n";
  const std::string root = "# directory " + of_root + "  r\n";
  EXPECT_EQ(reported("r", directories::none, small).out, files[0] + files[1]);
  EXPECT_EQ(reported("r", directories::root, small).out, files[0] + files[1] + root);
  EXPECT_EQ(reported("r", directories::all, small).out, files[0] + files[1] + folder + root);
}

TEST(a_report, prints_the_root_path_as_it_was_given) {
  EXPECT_EQ(reported("r/", directories::none, small).out,
            hex_of("1") + "  r/a\n" + hex_of("2") + "  r/d/b\n");
  EXPECT_EQ(reported("/", directories::all, small).out,
            hex_of("1") + "  /a\n" + hex_of("2") + "  /d/b\n# directory " + of_d + "  /d\n# directory " +
                of_root + "  /\n");
}

TEST(a_report, of_an_empty_directory_has_the_digest_of_no_bytes) {
  EXPECT_EQ(reported("r", directories::root, {named(kind::begin, ""), end}).out,
            "# directory " + hex_of("") + "  r\n");
}

TEST(a_report, includes_links_and_special_files_in_the_directory_digest_only) {
  entry link = named(kind::link, "l");
  link.sum = sum_of("target");
  const texts t = reported("r",
                           directories::root,
                           {named(kind::begin, ""),
                            named(kind::device, "c"),
                            named(kind::fifo, "f"),
                            link,
                            named(kind::socket, "s"),
                            end});
  const std::string children = child("device", "-", "c") + child("fifo", "-", "f") +
                               child("link", hex_of("target"), "l") + child("socket", "-", "s");
  EXPECT_EQ(t.out, "# directory " + hex_of(children) + "  r\n");
  EXPECT_EQ(t.errors,
            "tree_hash: r/c: skipped: a device\n"
            "tree_hash: r/f: skipped: a fifo\n"
            "tree_hash: r/s: skipped: a socket\n");
}

TEST(a_report, names_failures_and_omits_digests_of_the_enclosing_directories) {
  entry unreadable = named(kind::file, "u");
  unreadable.error = std::make_error_code(std::errc::io_error);
  report r("r", directories::all);
  const std::vector<entry> entries{named(kind::begin, ""),
                                   named(kind::begin, "d"),
                                   unreadable,
                                   failed("x\n"),
                                   end,
                                   named(kind::begin, "e"),
                                   end,
                                   failed(""),
                                   end};
  for (const entry& e : entries) r.add(e);
  EXPECT_EQ(r.failures(), 3U);
  EXPECT_EQ(r.pending().out, "# directory " + hex_of("") + "  r/e\n");
  EXPECT_EQ(r.pending().errors,
            "tree_hash: r/d/u: Input/output error\n"
            "tree_hash: r/d/x\\012: Permission denied\n"
            "tree_hash: r: Permission denied\n"
            "tree_hash: r: no digest of the directory, since something in it could not be read\n");
}

TEST(a_report, escapes_names_in_lines_but_not_in_digests) {
  const texts t = reported("r", directories::root, {named(kind::begin, ""), file("a\nb", "1"), end});
  EXPECT_EQ(
      t.out,
      "\\" + hex_of("1") + "  r/a\\nb\n# directory " + hex_of(child("file", hex_of("1"), "a\nb")) + "  r\n");
}

TEST(a_report, is_empty_after_take) {
  report r("r", directories::root);
  r.add(named(kind::begin, ""));
  r.add(file("a", "1"));
  EXPECT_NE(r.take().size(), 0U);
  EXPECT_EQ(r.pending().size(), 0U);
}

}  // namespace
}  // namespace tree_hash::testing::report_test
