// Pages that list a folder.
#include "file_server/listing.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <string>
#include <vector>

#include "file_server/html.hpp"
#include "support/scratch_folder.hpp"

namespace file_server::testing {

using rota::test::scratch_folder;
namespace listing_test {
namespace {

namespace fs = std::filesystem;

std::string names_of(const listing& l) {
  std::string out;
  for (const listed& e : l.entries) out += e.name + (e.is_folder ? "/ " : " ");
  return out;
}

class folder_listing : public ::testing::Test {
 protected:
  std::string names(std::string_view path = "/", resolution how = resolution::automatic) {
    const auto seen = list_folder(file_source(folder_.root(), {.how = how}), path);
    return seen ? names_of(*seen) : std::to_string(code_of(seen.error()));
  }

  scratch_folder folder_;
};

TEST_F(folder_listing, has_folders_first_and_is_sorted) {
  for (const auto* name : {"b", "a", "z/x", "Z", "c/y"}) folder_.write(name, "");
  EXPECT_EQ(names(), "c/ z/ Z a b ");
  EXPECT_EQ(names("/z/"), "x ");
}

TEST_F(folder_listing, knows_size_and_date) {
  folder_.write("a", "hello");
  const std::array<timespec, 2> times{timespec{1, 0}, timespec{784'111'777, 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, folder_.at("a").c_str(), times.data(), 0), 0);
  const auto seen = list_folder(file_source(folder_.root()), "/");
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->entries.size(), 1U);
  EXPECT_EQ(seen->entries[0].size, 5U);
  EXPECT_EQ(seen->entries[0].modified, 784'111'777);
  EXPECT_FALSE(seen->has_more);
}

TEST_F(folder_listing, hides_what_is_not_served) {
  folder_.write("shown", "");
  folder_.write(".hidden", "");
  folder_.write(".git/config", "");
  folder_.write("back\\slash", "");
  folder_.write("line\nfeed", "");
  folder_.write("latin\xe4", "");
  ASSERT_EQ(::mkfifo(folder_.at("fifo").c_str(), 0644), 0);
  EXPECT_EQ(names(), "shown ");
}

TEST_F(folder_listing, shows_only_links_that_are_followed) {
  folder_.write("f/a", "hello");
  fs::create_symlink("a", folder_.at("f/inside"));
  fs::create_symlink("../f", folder_.at("f/up"));
  fs::create_symlink("/etc/passwd", folder_.at("f/outside"));
  fs::create_symlink("nothing", folder_.at("f/dangling"));
  if (file_source("/").how() == resolution::kernel) {
    EXPECT_EQ(names("/f/"), "up/ a inside ");
  }
  EXPECT_EQ(names("/f/", resolution::walk), "a ");
}

TEST_F(folder_listing, is_an_error_for_a_path_that_is_no_folder) {
  folder_.write("a", "");
  EXPECT_EQ(names("/a/"), "404");
  EXPECT_EQ(names("/none/"), "404");
  EXPECT_EQ(names("/../"), "404");
  EXPECT_EQ(names("/%zz/"), "400");
}

TEST_F(folder_listing, stops_at_its_limit_and_says_that_there_are_more) {
  for (std::size_t i = 0; i < listing::most; ++i) folder_.write(std::to_string(i), "");
  const file_source source(folder_.root());
  const auto full = list_folder(source, "/");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->entries.size(), listing::most);
  EXPECT_FALSE(full->has_more);
  EXPECT_EQ(to_html(*full, "").find("There are more"), std::string::npos);
  folder_.write("one more", "");
  const auto more = list_folder(source, "/");
  ASSERT_TRUE(more);
  EXPECT_EQ(more->entries.size(), listing::most);
  EXPECT_TRUE(more->has_more);
  EXPECT_NE(to_html(*more, "").find("There are more: this page shows 1000 of them."), std::string::npos);
}

TEST_F(folder_listing, leaves_no_descriptor_behind) {
  folder_.write("f/a", "");
  const auto count = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = count();
  EXPECT_EQ(names("/f/"), "a ");
  EXPECT_EQ(names("/none/"), "404");
  EXPECT_EQ(count(), before);
}

TEST(listing_route, folder_without_index_is_listed_only_if_listings_are_on) {
  scratch_folder folder;
  folder.write("f/a", "");
  folder.write("g/index.html", "");
  const file_source with(folder.root(), {.listings = feature::on});
  const auto what = [&](std::string_view path) {
    const auto seen = with.open(path);
    return seen ? static_cast<int>(seen->what) : code_of(seen.error());
  };
  EXPECT_EQ(what("/f/"), static_cast<int>(found::listing));
  EXPECT_EQ(what("/f"), static_cast<int>(found::redirect));
  EXPECT_EQ(what("/"), static_cast<int>(found::listing));
  EXPECT_EQ(what("/g/"), static_cast<int>(found::file));
  EXPECT_EQ(what("/none"), 404);
  EXPECT_EQ(what("/.git/"), 404);
  const file_source without(folder.root());
  EXPECT_EQ(without.open("/f/").error(), status::not_found);
  EXPECT_EQ(without.open("/f").error(), status::not_found);
}

TEST(listing_page, escapes_names_for_html_and_for_links) {
  listing l;
  l.entries.push_back({.name = "<b>&\"'%20?#.txt", .size = 1});
  const std::string page = to_html(l, "x<y/");
  EXPECT_NE(page.find("<a href=\"%3Cb%3E%26%22%27%2520%3F%23.txt\">&lt;b&gt;&amp;&quot;&#39;%20?#.txt</a>"),
            std::string::npos);
  EXPECT_NE(page.find("<title>Index of /x&lt;y/</title>"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
}

// RFC 3986 §4.2: a first segment with a colon would be parsed as a scheme
TEST(listing_page, a_name_is_never_taken_for_a_scheme) {
  std::string out;
  add_percent_encoded(out, "javascript:alert(1)");
  EXPECT_EQ(out, "javascript%3Aalert%281%29");
}

TEST(listing_page, percent_encoded_names_open_files_of_the_expected_size) {
  scratch_folder folder;
  const std::vector<std::string> names{
      "a b", "\xc3\xa4", "100%", "%41", "a+b", "c:d", "q?r#s", "<x>", "it's \"quoted\""};
  for (const std::string& name : names) folder.write(name, name);
  const file_source source(folder.root());
  for (const std::string& name : names) {
    std::string path = "/";
    add_percent_encoded(path, name);
    const auto seen = source.open(path);
    ASSERT_TRUE(seen) << path;
    EXPECT_EQ(seen->identity.size, name.size()) << path;
  }
}

TEST(listing_page, leads_to_the_parent_unless_it_is_the_root) {
  EXPECT_NE(to_html({}, "a/").find("<a href=\"../\">"), std::string::npos);
  EXPECT_EQ(to_html({}, "").find("<a href=\"../\">"), std::string::npos);
  EXPECT_NE(to_html({}, "").find("Nothing to show"), std::string::npos);
}

TEST(listing_page, shows_sizes_with_binary_units) {
  const auto cell = [](std::uint64_t size) {
    listing l;
    l.entries.push_back({.name = "a", .size = size, .modified = 784'111'777});
    const std::string page = to_html(l, "");
    const std::size_t at = page.find("</a></td><td>") + 13;
    return page.substr(at, page.find("</td>", at) - at);
  };
  EXPECT_EQ(cell(0), "0 B");
  EXPECT_EQ(cell(1023), "1023 B");
  EXPECT_EQ(cell(1024), "1.0 KiB");
  EXPECT_EQ(cell(1536), "1.5 KiB");
  EXPECT_EQ(cell(10'240), "10 KiB");
  EXPECT_EQ(cell(1'048'575), "1023 KiB");
  EXPECT_EQ(cell(1'048'576), "1.0 MiB");
  EXPECT_EQ(cell(0xffffffffffffffff), "15 EiB");
  listing l;
  l.entries.push_back({.name = "a", .modified = 784'111'777});
  EXPECT_NE(to_html(l, "").find("<td>1994-11-06 08:49</td>"), std::string::npos);
}

}  // namespace
}  // namespace listing_test
}  // namespace file_server::testing
