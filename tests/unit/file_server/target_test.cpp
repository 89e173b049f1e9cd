// From targets to paths: decoding, and all that must be refused.
#include "file_server/target.hpp"

#include <gtest/gtest.h>

#include <string>

namespace file_server::testing {

using namespace std::string_view_literals;

struct path_row {
  const char* name;
  std::string_view path;
  int expected;
  std::string_view decoded;
};

void PrintTo(const path_row& row, std::ostream* to) { *to << row.name; }

namespace target_test {
namespace {

constexpr path_row table[] = {
    // --- served
    {"root", "/"sv, 200, "index.html"sv},
    {"file", "/a.txt"sv, 200, "a.txt"sv},
    {"deep", "/a/b/c.txt"sv, 200, "a/b/c.txt"sv},
    {"folder", "/a/"sv, 200, "a/index.html"sv},
    {"deep_folder", "/a/b/"sv, 200, "a/b/index.html"sv},
    {"space", "/a%20b"sv, 200, "a b"sv},
    {"small_hex", "/%6a"sv, 200, "j"sv},
    {"capital_hex", "/%6A"sv, 200, "j"sv},
    {"last_is_encoded", "/a%21"sv, 200, "a!"sv},
    {"percent_itself", "/100%25"sv, 200, "100%"sv},
    {"decoded_once_only", "/%2541"sv, 200, "%41"sv},
    {"plus_stays", "/a+b"sv, 200, "a+b"sv},
    {"question_mark_encoded", "/a%3Fb"sv, 200, "a?b"sv},
    {"hash_encoded", "/a%23b"sv, 200, "a#b"sv},
    {"dot_inside", "/a.b.c"sv, 200, "a.b.c"sv},
    {"dots_behind", "/a.."sv, 200, "a.."sv},
    {"dots_inside", "/a..b"sv, 200, "a..b"sv},
    {"utf8_two", "/%C3%A4"sv, 200, "\xc3\xa4"sv},
    {"utf8_three", "/%e2%82%ac"sv, 200, "\xe2\x82\xac"sv},
    {"utf8_four", "/%F0%9F%98%80"sv, 200, "\xf0\x9f\x98\x80"sv},
    {"utf8_largest", "/%F4%8F%BF%BF"sv, 200, "\xf4\x8f\xbf\xbf"sv},
    {"colon", "/c:"sv, 200, "c:"sv},
    {"tilde", "/~root"sv, 200, "~root"sv},
    {"semicolon", "/a;b=c"sv, 200, "a;b=c"sv},
    // --- well formed, but never served
    {"up", "/.."sv, 404, ""sv},
    {"up_slash", "/../"sv, 404, ""sv},
    {"up_to_file", "/../etc/passwd"sv, 404, ""sv},
    {"up_inside", "/a/../b"sv, 404, ""sv},
    {"up_at_end", "/a/.."sv, 404, ""sv},
    {"up_encoded", "/%2e%2e/etc/passwd"sv, 404, ""sv},
    {"up_encoded_capitals", "/%2E%2E/etc/passwd"sv, 404, ""sv},
    {"up_half_encoded", "/.%2e/etc/passwd"sv, 404, ""sv},
    {"up_other_half_encoded", "/%2e./etc/passwd"sv, 404, ""sv},
    {"up_slash_encoded", "/..%2fetc%2fpasswd"sv, 404, ""sv},
    {"up_all_encoded", "/%2e%2e%2f%2e%2e%2fetc%2fpasswd"sv, 404, ""sv},
    {"up_backslash_encoded", "/..%5cetc%5cpasswd"sv, 404, ""sv},
    {"four_dots", "/..../etc/passwd"sv, 404, ""sv},
    {"up_with_parameter", "/..;/etc/passwd"sv, 404, ""sv},
    {"here", "/."sv, 404, ""sv},
    {"here_slash", "/./a"sv, 404, ""sv},
    {"here_inside", "/a/./b"sv, 404, ""sv},
    {"two_slashes", "//etc/passwd"sv, 404, ""sv},
    {"only_two_slashes", "//"sv, 404, ""sv},
    {"two_slashes_inside", "/a//b"sv, 404, ""sv},
    {"two_slashes_behind", "/a//"sv, 404, ""sv},
    {"slash_encoded_first", "/%2fetc/passwd"sv, 404, ""sv},
    {"slash_encoded_inside", "/a%2fb"sv, 404, ""sv},
    {"slash_encoded_capital", "/a%2Fb"sv, 404, ""sv},
    {"backslash_encoded", "/a%5cb"sv, 404, ""sv},
    {"dot_file", "/.htpasswd"sv, 404, ""sv},
    {"dot_folder", "/.git/config"sv, 404, ""sv},
    {"dot_file_deep", "/a/.env"sv, 404, ""sv},
    {"dot_file_encoded", "/%2egit/config"sv, 404, ""sv},
    // --- not well formed
    {"no_slash", "a"sv, 400, ""sv},
    {"nothing", ""sv, 400, ""sv},
    {"percent_alone", "/%"sv, 400, ""sv},
    {"percent_one_digit", "/%4"sv, 400, ""sv},
    {"percent_one_digit_and_more", "/%4/b"sv, 400, ""sv},
    {"percent_letters", "/%zz"sv, 400, ""sv},
    {"percent_half_letter", "/%4g"sv, 400, ""sv},
    {"percent_sign", "/%-1"sv, 400, ""sv},
    {"percent_percent", "/%%41"sv, 400, ""sv},
    {"percent_u", "/%u002e"sv, 400, ""sv},
    {"nul", "/a%00.txt"sv, 400, ""sv},
    {"nul_raw", "/a\0.txt"sv, 400, ""sv},
    {"line_feed", "/a%0ab"sv, 400, ""sv},
    {"carriage_return", "/a%0db"sv, 400, ""sv},
    {"escape", "/%1b[31m"sv, 400, ""sv},
    {"delete_char", "/%7f"sv, 400, ""sv},
    {"backslash", "/a\\b"sv, 400, ""sv},
    {"up_backslash", "/..\\..\\etc"sv, 400, ""sv},
    {"high_byte_raw", "/\xc3\xa4"sv, 400, ""sv},
    {"high_byte_alone", "/%ff"sv, 400, ""sv},
    {"latin_1", "/%e4"sv, 400, ""sv},
    {"tail_alone", "/%80"sv, 400, ""sv},
    {"overlong_slash_two", "/..%c0%afetc"sv, 400, ""sv},
    {"overlong_dot_two", "/%c0%ae%c0%ae/etc"sv, 400, ""sv},
    {"overlong_c1", "/%c1%81"sv, 400, ""sv},
    {"overlong_slash_three", "/%e0%80%af"sv, 400, ""sv},
    {"overlong_slash_four", "/%f0%80%80%af"sv, 400, ""sv},
    {"surrogate", "/%ed%a0%80"sv, 400, ""sv},
    {"beyond_unicode", "/%f4%90%80%80"sv, 400, ""sv},
    {"lead_f5", "/%f5%80%80%80"sv, 400, ""sv},
    {"cut_two", "/%c3"sv, 400, ""sv},
    {"cut_three", "/%e2%82"sv, 400, ""sv},
    {"cut_four", "/%f0%9f%98"sv, 400, ""sv},
    {"cut_by_a_letter", "/%e2%82a"sv, 400, ""sv},
    {"malformed_wins_over_up", "/../%zz"sv, 400, ""sv},
};

class path_table_row : public ::testing::TestWithParam<path_row> {};

TEST_P(path_table_row, is_decoded_or_refused_as_expected) {
  const auto& [name, path, expected, decoded] = GetParam();
  safe_path out;
  EXPECT_EQ(code_of(out.assign(path)), expected);
  if (expected == 200) {
    EXPECT_EQ(out.view(), decoded);
    EXPECT_EQ(std::string_view(out.c_str()), decoded);
  }
}

INSTANTIATE_TEST_SUITE_P(all, path_table_row, ::testing::ValuesIn(table), [](const auto& row) {
  return std::string(row.param.name);
});

TEST(safe_path, every_byte_is_decoded_or_refused_as_the_rule_says) {
  const char* const digits = "0123456789abcdef";
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string path{'/', 'a', '%', digits[byte / 16], digits[byte % 16]};
    safe_path out;
    const status got = out.assign(path);
    const bool malformed = byte < 0x20 || byte >= 0x7f;
    const bool separator = byte == '/' || byte == '\\';
    const status wanted = malformed ? status::bad_request : separator ? status::not_found : status::ok;
    ASSERT_EQ(got, wanted) << byte;
    if (got != status::ok) continue;
    ASSERT_EQ(out.view(), (std::string{'a', static_cast<char>(byte)}));
  }
}

TEST(safe_path, can_be_assigned_again) {
  safe_path out;
  ASSERT_EQ(out.assign("/a/long/one"), status::ok);
  ASSERT_EQ(out.assign("/../x"), status::not_found);
  ASSERT_EQ(out.assign("/b"), status::ok);
  EXPECT_EQ(out.view(), "b");
}

TEST(safe_path, the_longest_path_is_accepted_and_one_byte_more_is_not) {
  safe_path out;
  EXPECT_EQ(out.assign("/" + std::string(safe_path::longest, 'a')), status::ok);
  EXPECT_EQ(out.view().size(), safe_path::longest);
  EXPECT_EQ(out.assign("/" + std::string(safe_path::longest + 1, 'a')), status::not_found);
}

TEST(safe_path, a_path_that_is_cut_in_the_middle_of_a_letter_is_too_long_not_malformed) {
  safe_path out;
  EXPECT_EQ(out.assign("/" + std::string(safe_path::longest - 1, 'a') + "%c3%a4"), status::not_found);
}

TEST(safe_path, a_folder_whose_index_does_not_fit_is_not_found) {
  safe_path out;
  EXPECT_EQ(out.assign("/" + std::string(safe_path::longest - 11, 'a') + "/"), status::ok);
  EXPECT_EQ(out.view().size(), safe_path::longest);
  EXPECT_EQ(out.assign("/" + std::string(safe_path::longest - 10, 'a') + "/"), status::not_found);
  ASSERT_EQ(out.assign("/" + std::string(safe_path::longest - 5, 'a')), status::ok);
  EXPECT_EQ(out.append_index(), status::not_found);
}

TEST(safe_path, appends_the_index_of_a_folder) {
  safe_path out;
  ASSERT_EQ(out.assign("/a/b"), status::ok);
  ASSERT_EQ(out.append_index(), status::ok);
  EXPECT_EQ(std::string_view(out.c_str()), "a/b/index.html");
}

TEST(target, is_split_at_the_first_question_mark) {
  const auto parts = split_target("/a?b?c");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->path, "/a");
  EXPECT_EQ(parts->query, "b?c");
  EXPECT_EQ(parts->authority, "");
}

TEST(target, an_encoded_question_mark_belongs_to_the_path) {
  const auto parts = split_target("/a%3Fb");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->path, "/a%3Fb");
}

TEST(target, an_absolute_form_is_split_in_three) {
  const auto parts = split_target("http://example.com:80//etc?x");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->authority, "example.com:80");
  EXPECT_EQ(parts->path, "//etc");
  EXPECT_EQ(parts->query, "x");
}

TEST(target, absolute_form_is_accepted_only_with_the_expected_scheme) {
  const auto parts = split_target("HTTPS://a/b", scheme::https);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->authority, "a");
  EXPECT_EQ(parts->path, "/b");
  EXPECT_FALSE(split_target("https://a/b", scheme::http));
  EXPECT_FALSE(split_target("http://a/b", scheme::https));
}

TEST(target, every_other_form_is_refused) {
  for (const auto text : {"*"sv, "a:80"sv, ""sv, "?"sv, "http:"sv, "http://"sv, "ftp://a/"sv}) {
    EXPECT_FALSE(split_target(text)) << text;
  }
}

}  // namespace
}  // namespace target_test
}  // namespace file_server::testing
