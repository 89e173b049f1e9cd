// From requests to answers: what is sent, and whether the connection stays open.
#include "file_server/responder.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

#include "file_server/stats.hpp"
#include "support/scratch_folder.hpp"

namespace file_server::testing {

using rota::test::scratch_folder;
namespace responder_test {
namespace {

constexpr std::int64_t now = 784'111'777;

class file_responder : public ::testing::Test {
 protected:
  file_responder() {
    folder_.write("index.html", "<p>");
    folder_.write("a.txt", "hello");
    folder_.write("empty.txt", "");
    source_ = std::make_unique<file_source>(folder_.root());
    responder_ = std::make_unique<responder>(*source_);
  }

  /// Parses `bytes` and answers the request.
  answer get(std::string_view bytes, persistence offered = persistence::keep) {
    request_parser parser{limits{}};
    request r;
    EXPECT_EQ(parser.parse(bytes, r).what, verdict::complete) << bytes;
    return responder_->file(r, offered, now, out_);
  }

  [[nodiscard]] std::string sent(const answer& a) const { return {out_.data(), a.bytes}; }

  static std::string content(const answer& a) {
    std::string out;
    for (const byte_range& part : a.parts) {
      const std::size_t before = out.size();
      out.resize(before + part.size);
      EXPECT_EQ(::pread(a.file.fd.get(), out.data() + before, part.size, static_cast<off_t>(part.first)),
                static_cast<ssize_t>(part.size));
    }
    return out;
  }

  scratch_folder folder_;
  std::unique_ptr<file_source> source_;
  std::unique_ptr<responder> responder_;
  std::array<char, responder::answer_capacity> out_{};
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(file_responder, get_sends_a_head_and_then_the_file) {
  const answer a = get("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(a.code, status::ok);
  EXPECT_EQ(a.connection, persistence::keep);
  EXPECT_TRUE(sent(a).starts_with("HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
  EXPECT_TRUE(has(sent(a), "\r\nContent-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_TRUE(has(sent(a), "\r\nContent-Length: 5\r\n"));
  EXPECT_TRUE(has(sent(a), "\r\nLast-Modified: "));
  EXPECT_TRUE(sent(a).ends_with("\r\n\r\n"));
  EXPECT_EQ(content(a), "hello");
}

TEST_F(file_responder, head_sends_the_same_head_and_nothing_else) {
  const std::string of_get = sent(get("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"));
  const answer a = get("HEAD /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(sent(a), of_get);
  EXPECT_FALSE(a.file.fd.is_open());
}

TEST_F(file_responder, an_empty_file_has_a_length_of_zero_and_no_descriptor) {
  const answer a = get("GET /empty.txt HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(has(sent(a), "\r\nContent-Length: 0\r\n"));
  EXPECT_FALSE(a.file.fd.is_open());
}

TEST_F(file_responder, the_query_does_not_choose_the_file) {
  EXPECT_EQ(content(get("GET /a.txt?/../x HTTP/1.1\r\nHost: a\r\n\r\n")), "hello");
}

TEST_F(file_responder, the_root_is_its_index) {
  const answer a = get("GET http://example.com HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(content(a), "<p>");
  EXPECT_TRUE(has(sent(a), "\r\nContent-Type: text/html; charset=utf-8\r\n"));
}

TEST_F(file_responder, a_missing_file_is_404_and_the_connection_stays) {
  const answer a = get("GET /none HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(a.code, status::not_found);
  EXPECT_EQ(a.connection, persistence::keep);
  EXPECT_TRUE(sent(a).starts_with("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_TRUE(has(sent(a), "\r\nContent-Length: 14\r\n"));
  EXPECT_TRUE(has(sent(a), "\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_TRUE(sent(a).ends_with("\r\n\r\n404 Not Found\n"));
  EXPECT_FALSE(has(sent(a), "Connection:"));
  EXPECT_FALSE(a.file.fd.is_open());
}

TEST_F(file_responder, head_of_a_missing_file_has_the_length_but_no_body) {
  const answer a = get("HEAD /none HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(has(sent(a), "\r\nContent-Length: 14\r\n"));
  EXPECT_TRUE(sent(a).ends_with("\r\n\r\n"));
}

TEST_F(file_responder, traversal_is_404) {
  EXPECT_EQ(get("GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n").code, status::not_found);
  EXPECT_EQ(get("GET http://a//etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n").code, status::not_found);
}

TEST_F(file_responder, a_malformed_path_is_400_and_the_connection_stays) {
  const answer a = get("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(a.code, status::bad_request);
  EXPECT_EQ(a.connection, persistence::keep);
}

TEST_F(file_responder, without_descriptors_it_is_503_and_the_connection_ends) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  request r;
  r.path = "/a.txt";
  r.connection = persistence::keep;
  responder& tried = *responder_;
  const std::span<char> out = out_;
  // Sanitizers need descriptors too, so only this call runs under the limit.
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const answer a = tried.file(r, persistence::keep, now, out);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(a.code, status::unavailable);
  EXPECT_EQ(a.connection, persistence::close);
  EXPECT_TRUE(has(sent(a), "\r\nConnection: close\r\n"));
}

TEST_F(file_responder, a_client_that_wants_to_close_is_told_so) {
  const answer a = get("GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(a.connection, persistence::close);
  EXPECT_TRUE(has(sent(a), "\r\nConnection: close\r\n"));
}

TEST_F(file_responder, a_draining_server_closes_whatever_the_client_wants) {
  const answer a =
      get("GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", persistence::close);
  EXPECT_EQ(a.connection, persistence::close);
  EXPECT_TRUE(has(sent(a), "\r\nConnection: close\r\n"));
  EXPECT_EQ(content(a), "hello");
}

TEST_F(file_responder, http_1_0_is_told_that_its_connection_stays) {
  const answer a = get("GET /a.txt HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(a.connection, persistence::keep);
  EXPECT_TRUE(has(sent(a), "\r\nConnection: keep-alive\r\n"));
}

TEST_F(file_responder, a_refusal_closes_and_says_why) {
  const answer a = responder_->refusal(status::method_not_allowed, body_rule::allowed, now, out_);
  EXPECT_EQ(a.code, status::method_not_allowed);
  EXPECT_EQ(a.connection, persistence::close);
  EXPECT_TRUE(has(sent(a), "\r\nAllow: GET, HEAD\r\n"));
  EXPECT_TRUE(has(sent(a), "\r\nConnection: close\r\n"));
  EXPECT_TRUE(sent(a).ends_with("\r\n\r\n405 Method Not Allowed\n"));
}

TEST_F(file_responder, a_refusal_of_head_has_no_body) {
  const answer a = responder_->refusal(status::request_timeout, body_rule::forbidden, now, out_);
  EXPECT_TRUE(sent(a).starts_with("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_TRUE(sent(a).ends_with("\r\n\r\n"));
}

TEST_F(file_responder, only_the_exact_path_routes_to_the_statistics) {
  const auto route_for = [](std::string_view path) {
    request r;
    r.path = path;
    return route_of(r);
  };
  EXPECT_EQ(route_for("/-/stats"), route::stats);
  for (const auto* path : {"/-/stats/", "/-/", "/-/Stats", "/-/stat", "//-/stats", "/"}) {
    EXPECT_EQ(route_for(path), route::file) << path;
  }
}

TEST_F(file_responder, statistics_are_sent_as_json) {
  request r;
  r.connection = persistence::keep;
  const std::string body = to_json(stats{});
  std::array<char, 2048> out{};
  const answer a = responder_->text(r, json_type, body, persistence::keep, now, out);
  const std::string text(out.data(), a.bytes);
  EXPECT_TRUE(has(text, "\r\nContent-Type: application/json\r\n"));
  EXPECT_TRUE(has(text, "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n"));
  EXPECT_TRUE(text.ends_with("\r\n\r\n" + body));
  EXPECT_EQ(a.connection, persistence::keep);
}

TEST_F(file_responder, head_of_statistics_has_no_body) {
  request r;
  r.verb = method::head;
  const answer a = responder_->text(r, json_type, "{}\n", persistence::keep, now, out_);
  EXPECT_TRUE(has(sent(a), "\r\nContent-Length: 3\r\n"));
  EXPECT_TRUE(sent(a).ends_with("\r\n\r\n"));
}

}  // namespace
}  // namespace responder_test
}  // namespace file_server::testing
