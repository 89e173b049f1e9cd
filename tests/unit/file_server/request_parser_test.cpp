// The parser: what it stores of a request, its limits, and pipelining.
#include "file_server/request_parser.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "transcript.hpp"

namespace file_server::testing::request_parser_test {
namespace {

std::string get(std::string_view fields, std::string_view version = "1.1") {
  return "GET / HTTP/" + std::string(version) + "\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

persistence connection_of(const std::string& bytes) {
  request_parser parser{limits{}};
  request r;
  EXPECT_EQ(parser.parse(bytes, r).what, verdict::complete);
  return r.connection;
}

TEST(request_parser, keeps_what_the_server_needs) {
  const std::string bytes =
      "HEAD /a%20b/c?d=e HTTP/1.1\r\nUser-Agent: x\r\nhost: example.com:80 \r\nIf-None-Match: \"1\", "
      "\"2\"\r\n"
      "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\nRange: bytes=1-2\r\nIf-Range: \"3\"\r\n"
      "Accept-Encoding: gzip\r\n\r\n";
  request_parser parser{limits{}};
  request r;
  const parsed p = parser.parse(bytes, r);
  ASSERT_EQ(p.what, verdict::complete);
  EXPECT_EQ(p.used, bytes.size());
  EXPECT_EQ(r.verb, method::head);
  EXPECT_EQ(r.version, http_version::v1_1);
  EXPECT_EQ(r.connection, persistence::keep);
  EXPECT_EQ(r.path, "/a%20b/c");
  EXPECT_EQ(r.query, "d=e");
  EXPECT_EQ(r.host, "example.com:80");
  EXPECT_EQ(r.line, "HEAD /a%20b/c?d=e HTTP/1.1");
  ASSERT_EQ(r.if_none_match.lines().size(), 1U);
  EXPECT_EQ(r.if_none_match.lines()[0], "\"1\", \"2\"");
  EXPECT_EQ(r.if_range, "\"3\"");
  EXPECT_EQ(r.if_modified_since, "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(r.range, "bytes=1-2");
  ASSERT_EQ(r.accept_encoding.lines().size(), 1U);
  EXPECT_EQ(r.accept_encoding.lines()[0], "gzip");
}

TEST(request_parser, its_views_point_into_the_input) {
  const std::string bytes = get("Range: bytes=0-1\r\n");
  request_parser parser{limits{}};
  request r;
  ASSERT_EQ(parser.parse(bytes, r).what, verdict::complete);
  for (const auto view : {r.path, r.host, r.range}) {
    EXPECT_GE(view.data(), bytes.data());
    EXPECT_LE(view.data() + view.size(), bytes.data() + bytes.size());
  }
}

TEST(request_parser, an_absolute_form_names_the_host) {
  EXPECT_EQ(read_whole("GET http://example.com:81/a?b HTTP/1.1\r\nHost: other\r\n\r\n"),
            "GET 1.1 keep [/a] [b] [example.com:81]\nmore\n");
}

TEST(request_parser, an_absolute_form_without_a_path_asks_for_the_root) {
  EXPECT_EQ(read_whole("GET http://example.com?b HTTP/1.1\r\nHost: a\r\n\r\n"),
            "GET 1.1 keep [/] [b] [example.com]\nmore\n");
}

// RFC 9110 §5.3: only list fields may appear more than once.
TEST(request_parser, a_field_that_comes_twice_counts_as_absent) {
  for (const std::string_view name : {"Range", "If-Modified-Since", "If-Unmodified-Since"}) {
    const std::string line = std::string(name) + ": bytes=0-1\r\n";
    EXPECT_EQ(read_whole(get(line + line)), "GET 1.1 keep [/] [] [a]\nmore\n") << name;
  }
}

// RFC 9110 §5.3
TEST(request_parser, a_list_in_several_lines_is_one_list) {
  EXPECT_EQ(
      read_whole(get(
          "If-Match: \"a\"\r\nX: y\r\nif-match: \"b\"\r\nAccept-Encoding: br\r\nAccept-Encoding: gzip\r\n")),
      "GET 1.1 keep [/] [] [a] if-match=[\"a\"][\"b\"] accept-encoding=[br][gzip]\nmore\n");
}

TEST(request_parser, the_fifth_line_of_a_list_is_not_kept) {
  std::string fields;
  for (int i = 1; i <= 5; ++i) fields += "If-None-Match: \"" + std::to_string(i) + "\"\r\n";
  EXPECT_EQ(read_whole(get(fields)),
            "GET 1.1 keep [/] [] [a] if-none-match=[\"1\"][\"2\"][\"3\"][\"4\"]\nmore\n");
}

// RFC 9110 §13.1.5: no range must be sent if its condition cannot be evaluated.
TEST(request_parser, a_range_whose_condition_comes_twice_or_is_empty_counts_as_absent) {
  const std::string_view whole = "GET 1.1 keep [/] [] [a]\nmore\n";
  EXPECT_EQ(read_whole(get("Range: bytes=0-1\r\nIf-Range: \"a\"\r\nIf-Range: \"a\"\r\n")), whole);
  EXPECT_EQ(read_whole(get("Range: bytes=0-1\r\nIf-Range:\r\n")), whole);
}

TEST(request_parser, request_line_of_a_refused_request_is_its_received_part) {
  request_parser parser{limits{}};
  request r;
  EXPECT_EQ(parser.parse("\r\nGET /a b HTTP/1.1\r\nHost: a\r\n", r).what, verdict::refused);
  EXPECT_EQ(parser.request_line("\r\nGET /a b HTTP/1.1\r\nHost: a\r\n"), "GET /a b HTTP/1.1");
  EXPECT_EQ(request_parser{limits{}}.request_line("GET /a"), "GET /a");
  EXPECT_EQ(request_parser{limits{}}.request_line(""), "");
}

TEST(request_parser, a_later_request_knows_nothing_of_an_earlier_one) {
  EXPECT_EQ(read_whole(get("Range: bytes=0-1\r\nConnection: close\r\n") + get("")),
            "GET 1.1 close [/] [] [a] range=[bytes=0-1]\nGET 1.1 keep [/] [] [a]\nmore\n");
}

TEST(request_parser, http_1_1_keeps_the_connection) { EXPECT_EQ(connection_of(get("")), persistence::keep); }

TEST(request_parser, http_1_1_closes_when_told) {
  EXPECT_EQ(connection_of(get("Connection: Close\r\n")), persistence::close);
  EXPECT_EQ(connection_of(get("Connection: foo, close\r\n")), persistence::close);
  EXPECT_EQ(connection_of(get("Connection: keep-alive\r\nConnection: close\r\n")), persistence::close);
}

TEST(request_parser, http_1_0_closes) { EXPECT_EQ(connection_of(get("", "1.0")), persistence::close); }

TEST(request_parser, http_1_0_keeps_the_connection_when_asked) {
  EXPECT_EQ(connection_of(get("Connection: Keep-Alive\r\n", "1.0")), persistence::keep);
}

TEST(request_parser, close_wins_over_keep_alive_in_http_1_0_too) {
  EXPECT_EQ(connection_of(get("Connection: keep-alive, close\r\n", "1.0")), persistence::close);
}

TEST(request_parser, ignores_proxy_connection) {
  EXPECT_EQ(connection_of(get("Proxy-Connection: keep-alive\r\n", "1.0")), persistence::close);
  EXPECT_EQ(connection_of(get("Proxy-Connection: close\r\n")), persistence::keep);
}

TEST(request_parser, close_as_part_of_a_word_is_ignored) {
  EXPECT_EQ(connection_of(get("Connection: closed\r\n")), persistence::keep);
}

TEST(request_parser, reads_three_pipelined_requests_one_by_one) {
  const std::string a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string b = "HEAD /b HTTP/1.1\r\nHost: x\r\nX-Long: 123456789\r\n\r\n";
  const std::string c = "GET /c HTTP/1.0\r\n\r\n";
  const std::string all = a + b + c;
  request_parser parser{limits{}};
  request r;
  EXPECT_EQ(parser.parse(all, r).used, a.size());
  EXPECT_EQ(r.path, "/a");
  EXPECT_EQ(parser.parse(std::string_view(all).substr(a.size()), r).used, b.size());
  EXPECT_EQ(r.path, "/b");
  EXPECT_EQ(parser.parse(std::string_view(all).substr(a.size() + b.size()), r).used, c.size());
  EXPECT_EQ(r.path, "/c");
  EXPECT_EQ(parser.parse("", r).what, verdict::need_more);
}

TEST(request_parser, a_bad_request_behind_a_good_one_does_not_spoil_it) {
  EXPECT_EQ(read_whole(get("") + "nonsense\r\n" + get("")), "GET 1.1 keep [/] [] [a]\nrefused 400\n");
}

TEST(request_parser, parses_three_requests_the_same_for_every_split_into_three) {
  const std::string bytes = get("") + "\r\n" + get("Range: bytes=1-\r\n") + "HEAD /%41 HTTP/1.0\r\n\r\n";
  const std::string whole = read_whole(bytes);
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (std::size_t second = first; second <= bytes.size(); ++second) {
      ASSERT_EQ(read_cut(bytes, {first, second}), whole) << first << ' ' << second;
    }
  }
}

TEST(request_parser, an_answer_to_a_broken_head_request_has_no_body) {
  EXPECT_EQ(read_whole("HEAD / HTTP/1.1\r\nHost : a\r\n\r\n"), "refused 400 without body\n");
  EXPECT_EQ(read_whole("\r\nHEAD / HTTP/1.1\r\n a"), "more\n");
  EXPECT_EQ(read_whole("\r\nHEAD / HTTP/1.1\r\n a\r\n"), "refused 400 without body\n");
}

TEST(request_parser, timeout_refusal_of_a_head_request_has_no_body) {
  request_parser parser{limits{}};
  request r;
  ASSERT_EQ(parser.parse("HEAD / HT", r).what, verdict::need_more);
  EXPECT_EQ(parser.refuse("HEAD / HT", status::request_timeout).body, body_rule::forbidden);
  EXPECT_EQ(parser.refuse("GET / HT", status::request_timeout).body, body_rule::allowed);
  EXPECT_EQ(parser.refuse("", status::request_timeout).code, status::request_timeout);
}

// --- limits

std::string line_of_length(std::size_t length) {
  const std::string_view frame = "GET / HTTP/1.1";
  return "GET /" + std::string(length - frame.size(), 'a') + " HTTP/1.1\r\n";
}

/// Returns a field block of `length` bytes, with the blank line.
std::string fields_of_length(std::size_t length) {
  const std::string_view frame = "Host: a\r\nX: \r\n\r\n";
  return "Host: a\r\nX: " + std::string(length - frame.size(), 'b') + "\r\n\r\n";
}

std::string many_fields(int count) {
  std::string out = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 1; i < count; ++i) out += "X: 1\r\n";
  return out + "\r\n";
}

constexpr std::string_view refused_414 = "refused 414\n";
constexpr std::string_view refused_431 = "refused 431\n";

TEST(request_parser_limits, the_longest_request_line_is_accepted) {
  EXPECT_TRUE(read_whole(line_of_length(4096) + "Host: a\r\n\r\n").starts_with("GET 1.1"));
}

TEST(request_parser_limits, request_line_one_byte_above_the_limit_is_414) {
  EXPECT_EQ(read_whole(line_of_length(4097) + "Host: a\r\n\r\n"), refused_414);
}

TEST(request_parser_limits, an_endless_request_line_is_414_once_the_limit_is_reached) {
  EXPECT_EQ(read_whole(std::string(4097, 'a')), "more\n");
  EXPECT_EQ(read_whole(std::string(4098, 'a')), refused_414);
}

TEST(request_parser_limits, the_longest_header_block_is_accepted) {
  EXPECT_TRUE(read_whole("GET / HTTP/1.1\r\n" + fields_of_length(16384)).starts_with("GET 1.1"));
}

TEST(request_parser_limits, header_block_one_byte_above_the_limit_is_431) {
  EXPECT_EQ(read_whole("GET / HTTP/1.1\r\n" + fields_of_length(16385)), refused_431);
}

TEST(request_parser_limits, an_endless_field_is_431_once_the_limit_is_reached) {
  const std::string line = "GET / HTTP/1.1\r\n";
  EXPECT_EQ(read_whole(line + std::string(16383, 'a')), "more\n");
  EXPECT_EQ(read_whole(line + std::string(16384, 'a')), refused_431);
}

TEST(request_parser_limits, sixty_four_fields_are_accepted) {
  EXPECT_TRUE(read_whole(many_fields(64)).starts_with("GET 1.1"));
}

TEST(request_parser_limits, sixty_five_fields_are_431) {
  EXPECT_EQ(read_whole(many_fields(65)), refused_431);
}

TEST(request_parser_limits, each_pipelined_request_has_its_own_field_count) {
  EXPECT_EQ(read_whole(many_fields(64) + many_fields(64)).find("refused"), std::string::npos);
}

TEST(request_parser_limits, input_at_the_limits_parses_the_same_for_every_split_into_two) {
  const limits small{.request_line = 64, .header_bytes = 256, .header_fields = 3};
  const std::string inputs[] = {line_of_length(64) + fields_of_length(256),
                                line_of_length(65) + fields_of_length(256),
                                line_of_length(64) + fields_of_length(257),
                                many_fields(3),
                                many_fields(4),
                                "\r\n" + line_of_length(64) + fields_of_length(256)};
  for (const auto& bytes : inputs) {
    const std::string whole = read_whole(bytes, small);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut)
      ASSERT_EQ(read_cut(bytes, {cut}, small), whole) << cut;
  }
}

TEST(request_parser_limits, input_of_head_bytes_is_always_accepted_or_refused) {
  const limits small{.request_line = 64, .header_bytes = 256, .header_fields = 3};
  const std::string longest = "\r\n" + line_of_length(64) + fields_of_length(256);
  ASSERT_EQ(longest.size(), small.head_bytes());
  EXPECT_TRUE(read_whole(longest, small).starts_with("GET 1.1"));
  EXPECT_EQ(read_whole("\r\n" + line_of_length(64) + std::string(256, 'a'), small), refused_431);
  EXPECT_EQ(read_whole("\r\n" + std::string(66, 'a'), small), refused_414);
}

std::string complaint_about(const limits& l) {
  try {
    (void)request_parser(l);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(request_parser_limits, a_limit_out_of_range_is_named_with_its_range) {
  EXPECT_EQ(complaint_about({.request_line = 63, .header_bytes = 256, .header_fields = 1}),
            "limits.request_line: 63 is outside 64..65536");
  EXPECT_EQ(complaint_about({.request_line = 65'536, .header_bytes = 1'048'577, .header_fields = 1}),
            "limits.header_bytes: 1048577 is outside 256..1048576");
  EXPECT_EQ(complaint_about({.request_line = 64, .header_bytes = 256, .header_fields = 0}),
            "limits.header_fields: 0 is outside 1..1024");
  EXPECT_EQ(complaint_about({.request_line = 64, .header_bytes = 1'048'576, .header_fields = 1'024}),
            "accepted");
}

}  // namespace
}  // namespace file_server::testing::request_parser_test
