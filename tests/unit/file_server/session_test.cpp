// Answers as clients receive them: sent from the buffer, by the kernel, and from the blocking pool.
#include "file_server/session.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include <rota/runtime.hpp>

#include "support/scratch_folder.hpp"
#include "unit/file_server/asking.hpp"
#include "unit/file_server/loopback.hpp"
#include "unit/file_server/read_file.hpp"

namespace file_server::testing {

using rota::test::scratch_folder;
namespace session_test {
namespace {

class a_session : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("small.txt", "hello");
    folder_.write("large.bin", pattern(300'000));
    folder_.write("f/b.txt", "");
    folder_.write("f/.hidden", "");
    options o;
    o.directory = root();
    o.port = free_port();
    o.listings = feature::on;
    o.access_log = logs_.at("log");
    o.drain_timeout = drain_timeout();
    o.idle_timeout = idle_timeout(o.idle_timeout);
    runtime_ = std::make_unique<rota::runtime>(rota::runtime_options{.workers = 2});
    server_ = std::make_unique<server>(o, 2);
    served_ = runtime_->spawn(server_->run());
    port_ = o.port;
  }

  [[nodiscard]] virtual std::string root() const { return folder_.root(); }
  [[nodiscard]] virtual std::chrono::milliseconds drain_timeout() const { return std::chrono::seconds(10); }
  [[nodiscard]] virtual std::chrono::milliseconds idle_timeout(std::chrono::milliseconds usual) const {
    return usual;
  }

  void TearDown() override {
    if (server_) stop();
  }

  void stop() {
    const client last(port_);  // the server listens, so it watches for signals
    ::raise(SIGTERM);
    EXPECT_EQ(served_.join(), 0);
    runtime_->shutdown(std::chrono::seconds(0));
    server_.reset();
  }

  /// Returns all answers to `requests`; the last request closes the connection.
  [[nodiscard]] std::string talk(const std::string& requests) const {
    const client one(port_);
    EXPECT_TRUE(one.send(requests));
    std::string answers;
    EXPECT_TRUE(one.receive_all(answers));
    return answers;
  }

  scratch_folder folder_;
  scratch_folder logs_;
  std::unique_ptr<rota::runtime> runtime_;
  std::unique_ptr<server> server_;
  rota::join_handle<int> served_{};
  std::uint16_t port_ = 0;
};

TEST_F(a_session, sends_small_and_large_files_byte_for_byte) {
  EXPECT_EQ(body(talk(last("/small.txt"))), "hello");
  EXPECT_EQ(body(talk(last("/large.bin"))), pattern(300'000));
}

TEST_F(a_session, sends_small_and_large_ranges) {
  EXPECT_EQ(body(talk(last("/large.bin", "Range: bytes=1000-1009\r\n"))), pattern(300'000).substr(1000, 10));
  EXPECT_EQ(body(talk(last("/large.bin", "Range: bytes=1000-270000\r\n"))),
            pattern(300'000).substr(1000, 269'001));
  EXPECT_EQ(body(talk(last("/large.bin", "Range: bytes=-40000\r\n"))), pattern(300'000).substr(260'000));
}

TEST_F(a_session, sends_a_multipart_of_small_and_large_ranges) {
  const std::string answer =
      talk(last("/large.bin", "Range: bytes=0-9,1000-100000,200000-220000,299990-\r\n"));
  const std::size_t mark = answer.find("boundary=") + 9;
  const std::string boundary = answer.substr(mark, 32);
  std::string expected;
  const auto part = [&](std::size_t first, std::size_t end) {
    expected += "\r\n--" + boundary + "\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes " +
                std::to_string(first) + "-" + std::to_string(end - 1) + "/300000\r\n\r\n" +
                pattern(300'000).substr(first, end - first);
  };
  part(0, 10);
  part(1000, 100'001);
  part(200'000, 220'001);
  part(299'990, 300'000);
  expected += "\r\n--" + boundary + "--\r\n";
  EXPECT_EQ(body(answer), expected);
  EXPECT_NE(answer.find("\r\nContent-Length: " + std::to_string(expected.size()) + "\r\n"),
            std::string::npos);
}

TEST_F(a_session, answers_pipelined_requests_of_every_kind_in_their_order) {
  const std::string answers = talk(get("/small.txt") + get("/small.txt", "If-None-Match: *\r\n") +
                                   get("/large.bin", "Range: bytes=5-5\r\n") + get("/large.bin", "", "HEAD") +
                                   get("/none") + get("/f") + get("/f/") + get("/large.bin") +
                                   get("/small.txt", "Range: bytes=9-\r\n") + last("/small.txt"));
  std::string codes;
  const std::string mark = "HTTP/1.1 ";
  for (std::size_t at = answers.find(mark); at != std::string::npos; at = answers.find(mark, at + 1)) {
    codes += answers.substr(at + mark.size(), 3) + " ";
  }
  EXPECT_EQ(codes, "200 304 206 200 404 301 200 200 416 200 ");
  EXPECT_TRUE(answers.ends_with("\r\n\r\nhello"));
}

// With such small buffers the socket is full in the middle of heads, of small files and of large files.
TEST_F(a_session, whose_socket_is_always_full_sends_every_byte) {
  constexpr int rounds = 2;
  folder_.write("inline.bin", pattern(18'000));
  std::string requests;
  for (int i = 0; i < rounds; ++i) requests += get("/inline.bin") + get("/large.bin");
  const client one(port_, 1);
  char first = 0;
  ASSERT_TRUE(one.send(get("/none")) && one.receive_one(first));  // it has been accepted
  shrink_send_buffer(one);
  ASSERT_TRUE(one.send(requests + last("/small.txt")));
  std::string answers(1, first);
  ASSERT_TRUE(one.receive_all(answers));
  const std::string body_mark = "\r\n\r\n";
  std::string bodies;
  for (std::size_t at = 0; at < answers.size();) {
    const std::size_t length = answers.find("Content-Length: ", at) + 16;
    const std::size_t size = std::stoul(answers.substr(length, 10));
    at = answers.find(body_mark, at) + body_mark.size();
    bodies.append(answers, at, size);
    at += size;
  }
  std::string expected = "404 Not Found\n";
  for (int i = 0; i < rounds; ++i) expected += pattern(18'000) + pattern(300'000);
  EXPECT_TRUE(bodies == expected + "hello");
}

TEST_F(a_session, lists_a_folder) {
  const std::string answer = talk(last("/f/"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_NE(answer.find("\r\nContent-Type: text/html; charset=utf-8\r\n"), std::string::npos);
  EXPECT_NE(answer.find("\r\nContent-Security-Policy: default-src 'none';"), std::string::npos);
  EXPECT_NE(answer.find("<a href=\"b.txt\">"), std::string::npos);
  EXPECT_EQ(answer.find("hidden"), std::string::npos);
  EXPECT_NE(answer.find("\r\nContent-Length: " + std::to_string(body(answer).size()) + "\r\n"),
            std::string::npos);
  const std::string head = talk(last("/f/", "", "HEAD"));
  EXPECT_EQ(body(head), "");
  EXPECT_NE(head.find("\r\nContent-Length: " + std::to_string(body(answer).size()) + "\r\n"),
            std::string::npos);
}

TEST_F(a_session, a_page_larger_than_the_buffer_arrives_whole) {
  for (int i = 0; i < 900; ++i) folder_.write("many/" + std::to_string(1000 + i) + std::string(80, 'n'), "");
  const std::string answer = talk(get("/small.txt") + last("/many/"));
  EXPECT_TRUE(answer.ends_with("</html>\n"));
  std::size_t rows = 0;
  for (std::size_t at = answer.find("<tr><td>"); at != std::string::npos;
       at = answer.find("<tr><td>", at + 1))
    ++rows;
  EXPECT_EQ(rows, 901U);
}

TEST_F(a_session, what_is_no_folder_is_404_also_with_a_slash) {
  EXPECT_TRUE(talk(last("/none/")).starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(talk(last("/small.txt/")).starts_with("HTTP/1.1 404 "));
}

TEST_F(a_session, listing_above_the_limit_is_503) {
  server_->listings() = listing_place::most;
  EXPECT_TRUE(talk(last("/f/")).starts_with("HTTP/1.1 503 "));
  server_->listings() = listing_place::most - 1;
  EXPECT_TRUE(talk(last("/f/")).starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(server_->listings(), listing_place::most - 1);
  server_->listings() = 0;
}

TEST_F(a_session, last_answer_arrives_even_if_the_client_sends_unread_data) {
  const client one(port_);
  ASSERT_TRUE(one.send(last("/large.bin") + std::string(100'000, 'x')));
  one.finish();
  std::string answer;
  EXPECT_TRUE(one.receive_all(answer)) << "the connection was reset";
  EXPECT_TRUE(body(answer) == pattern(300'000));
}

// The client closes with unread bytes, which resets the connection; the server's next send finds that.
TEST_F(a_session, a_client_that_resets_the_connection_is_in_the_log_with_its_address) {
  folder_.write("huge", "");
  std::filesystem::resize_file(folder_.at("huge"), std::size_t{64} << 20U);
  {
    const client one(port_, 1);
    char first = 0;
    ASSERT_TRUE(one.send(get("/huge")) && one.receive_one(first));
  }
  while (server_->snapshot().log_lines != 1) std::this_thread::yield();
  stop();
  const std::string line = read_file(logs_.at("log"));
  EXPECT_TRUE(line.starts_with("127.0.0.1 - - [")) << line;
}

class a_session_with_a_short_idle_timeout : public a_session {
 protected:
  [[nodiscard]] std::chrono::milliseconds idle_timeout(std::chrono::milliseconds /*usual*/) const override {
    return std::chrono::milliseconds(20);
  }
};

// The client can read what has arrived; the reset drops the rest.
TEST_F(a_session_with_a_short_idle_timeout, resets_a_client_that_reads_nothing) {
  folder_.write("huge", "");
  std::filesystem::resize_file(folder_.at("huge"), std::size_t{64} << 20U);
  std::optional<client> one;
  char first = 0;
  do {  // a client that asks too late is closed as idle
    one.emplace(port_, 1);
  } while (!one->send(get("/huge")) || !one->receive_one(first));
  while (server_->snapshot().log_lines == 0) std::this_thread::yield();
  stop();
  std::string rest;
  EXPECT_FALSE(one->receive_all(rest)) << "it ended as if all had been sent";
  EXPECT_LT(rest.size(), std::size_t{1} << 20U);
}

// More than all socket buffers hold, so the server is still sending when the file shrinks.
TEST_F(a_session, a_file_that_shrinks_while_it_is_sent_ends_the_connection) {
  constexpr std::size_t promised = std::size_t{64} << 20U;
  constexpr std::size_t left = std::size_t{1} << 20U;
  folder_.write("shrinks", "");
  std::filesystem::resize_file(folder_.at("shrinks"), promised);
  const client one(port_);
  ASSERT_TRUE(one.send(get("/shrinks") + get("/small.txt")));
  std::string answer(1, '\0');
  ASSERT_TRUE(one.receive_one(answer[0]));
  std::filesystem::resize_file(folder_.at("shrinks"), left);
  EXPECT_TRUE(one.receive_all(answer)) << "the connection was reset";
  EXPECT_NE(answer.find("\r\nContent-Length: " + std::to_string(promised) + "\r\n"), std::string::npos);
  EXPECT_LT(answer.size(), promised);
  EXPECT_FALSE(answer.ends_with("hello"));
}

/// Files of the kernel report a size of 4096 bytes but hold only a few.
class a_session_of_short_files : public a_session {
 protected:
  [[nodiscard]] std::string root() const override { return "/sys/kernel"; }
};

TEST_F(a_session_of_short_files, a_small_file_that_is_shorter_than_it_says_ends_the_connection) {
  const std::string name = "uevent_seqnum";
  std::error_code missing;
  if (std::filesystem::file_size(root() + "/" + name, missing) != 4096 || missing)
    GTEST_SKIP() << "no such file here";
  const std::string answers = talk(get("/none") + get("/" + name) + last("/none"));
  const std::string head = "\r\nContent-Length: 4096\r\n";
  ASSERT_NE(answers.find(head), std::string::npos);
  EXPECT_TRUE(answers.starts_with("HTTP/1.1 404 "));
  EXPECT_EQ(answers.find("HTTP/1.1 ", answers.find(head)), std::string::npos);
}

TEST_F(a_session, all_lines_are_in_the_log_when_the_server_has_ended) {
  static_cast<void>(
      talk(get("/small.txt") + get("/small.txt", "Range: bytes=0-1\r\n") + last("/f/", "", "HEAD")));
  static_cast<void>(talk("GET /a b HTTP/1.1\r\n"));
  static_cast<void>(talk("nonsense\"\r\n\r\n"));
  EXPECT_EQ(server_->snapshot().log_lines, 5U);
  stop();
  std::string lines;
  std::istringstream in(read_file(logs_.at("log")));
  for (std::string line; std::getline(in, line);) {
    EXPECT_TRUE(line.starts_with("127.0.0.1 - - [")) << line;
    lines += line.substr(line.find('"')) + "\n";
  }
  EXPECT_EQ(lines,
            "\"GET /small.txt HTTP/1.1\" 200 5\n"
            "\"GET /small.txt HTTP/1.1\" 206 2\n"
            "\"HEAD /f/ HTTP/1.1\" 200 0\n"
            "\"GET /a b HTTP/1.1\" 400 16\n"
            "\"nonsense\\x22\" 400 16\n");
}

class a_session_without_a_drain_timeout : public a_session {
 protected:
  [[nodiscard]] std::chrono::milliseconds drain_timeout() const override { return {}; }
};

TEST_F(a_session_without_a_drain_timeout, has_a_line_for_the_answer_that_the_drain_cuts) {
  folder_.write("huge", "");
  std::filesystem::resize_file(folder_.at("huge"), std::size_t{64} << 20U);
  const client one(port_, 1);
  char first = 0;
  ASSERT_TRUE(one.send(get("/huge")) && one.receive_one(first));
  stop();
  const std::string line = read_file(logs_.at("log"));
  EXPECT_NE(line.find("\"GET /huge HTTP/1.1\" 200 67108864\n"), std::string::npos) << line;
}

TEST_F(a_session, sighup_reopens_the_log) {
  static_cast<void>(talk(last("/small.txt")));
  while (std::filesystem::file_size(logs_.at("log")) == 0) {
  }
  std::filesystem::rename(logs_.at("log"), logs_.at("old"));
  ::raise(SIGHUP);
  while (!std::filesystem::exists(logs_.at("log"))) {
  }
  static_cast<void>(talk(last("/small.txt")));
  stop();
  EXPECT_GT(std::filesystem::file_size(logs_.at("log")), 0U);
  EXPECT_GT(std::filesystem::file_size(logs_.at("old")), 0U);
}

TEST_F(a_session, counts_answers_by_their_class) {
  static_cast<void>(
      talk(get("/small.txt") + get("/f") + get("/small.txt", "If-None-Match: *\r\n") + last("/none")));
  const stats seen = server_->snapshot();
  EXPECT_EQ(seen.requests, 4U);
  EXPECT_EQ(seen.responses_2xx, 1U);
  EXPECT_EQ(seen.responses_3xx, 2U);
  EXPECT_EQ(seen.responses_4xx, 1U);
}

}  // namespace
}  // namespace session_test
}  // namespace file_server::testing
