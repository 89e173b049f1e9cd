// Answers over TLS, and the beginning and end of their connections.
#include "unit/file_server/https_support.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include <rota/error.hpp>
#include <rota/tls/error.hpp>

namespace file_server::testing::https_with_tls_test {
namespace {

/// More than all socket buffers hold.
constexpr std::size_t huge = std::size_t{32} << 20U;

TEST_F(https, sends_small_and_large_files_byte_for_byte) {
  start();
  EXPECT_EQ(body(talk(last("/small.txt"))), "hello");
  EXPECT_TRUE(body(talk(last("/large.bin"))) == pattern(300'000));
  EXPECT_EQ(server_->snapshot().handshakes, 2U);
}

TEST_F(https, sends_small_and_large_ranges) {
  start();
  const std::string whole = pattern(300'000);
  EXPECT_EQ(body(talk(last("/large.bin", "Range: bytes=1000-1009\r\n"))), whole.substr(1000, 10));
  EXPECT_TRUE(body(talk(last("/large.bin", "Range: bytes=1000-270000\r\n"))) == whole.substr(1000, 269'001));
  const std::string several = talk(last("/large.bin", "Range: bytes=0-9,1000-100000\r\n"));
  EXPECT_NE(several.find("\r\n\r\n" + whole.substr(0, 10) + "\r\n--"), std::string::npos);
  EXPECT_NE(several.find("\r\n\r\n" + whole.substr(1000, 99'001) + "\r\n--"), std::string::npos);
}

TEST_F(https, a_connection_takes_one_request_after_the_other) {
  start();
  const std::string answers =
      talk(get("/small.txt") + get("/large.bin", "", "HEAD") + get("/none") + get("/large.bin") +
           get("/small.txt", "Range: bytes=9-\r\n") + last("/small.txt"));
  std::string codes;
  const std::string mark = "HTTP/1.1 ";
  for (std::size_t at = answers.find(mark); at != std::string::npos; at = answers.find(mark, at + 1)) {
    codes += answers.substr(at + mark.size(), 3) + " ";
  }
  EXPECT_EQ(codes, "200 200 404 200 416 200 ");
  EXPECT_NE(answers.find("\r\n\r\n" + pattern(300'000) + mark), std::string::npos);
  EXPECT_TRUE(answers.ends_with("\r\n\r\nhello"));
}

TEST_F(https, absolute_target_is_accepted_only_with_the_https_scheme) {
  start();
  EXPECT_TRUE(talk(last("https://a/small.txt")).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(talk(last("http://a/small.txt")).starts_with("HTTP/1.1 400 "));
}

TEST_F(https, speaks_http_1_1_and_nothing_else) {
  start();
  const auto agreed = [this](std::string& into) -> rota::task<void> {
    const result<tls_client_stream> over = co_await connect();
    into = over.has_value() ? over->alpn() : over.error().message();
  };
  std::string protocol;
  runtime_->block_on(agreed(protocol));
  EXPECT_EQ(protocol, "http/1.1");
  trusting_.alpn = {"h2"};
  const auto refused = [this](std::error_code& why) -> rota::task<void> {
    const result<tls_client_stream> over = co_await connect();
    if (!over.has_value()) why = over.error();
  };
  std::error_code why;
  runtime_->block_on(refused(why));
  EXPECT_EQ(why, rota::tls::alert::no_application_protocol);
}

TEST_F(https, plain_http_request_fails_the_handshake_and_is_disconnected) {
  options_.handshake_timeout = std::chrono::hours(1);
  start();
  const client one(options_.port);
  ASSERT_TRUE(one.send(get("/small.txt")));
  std::string answer;
  static_cast<void>(one.receive_all(answer));
  EXPECT_EQ(answer, "");
  wait_for_connections(0);
  EXPECT_EQ(server_->snapshot().handshake_failures, 2U);
  EXPECT_EQ(server_->snapshot().requests, 0U);
}

TEST_F(https, client_that_disconnects_in_the_handshake_frees_its_connection_slot) {
  options_.handshake_timeout = std::chrono::hours(1);
  options_.max_connections = 1;
  start();
  {
    const client one(options_.port);
    ASSERT_TRUE(one.send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01", 8)));  // the front of a ClientHello
    wait_for_connections(1);
  }
  wait_for_connections(0);
  EXPECT_EQ(server_->snapshot().handshake_failures, 2U);
  EXPECT_EQ(body(talk(last("/small.txt"))), "hello");
}

TEST_F(https, silent_client_is_disconnected_at_the_handshake_timeout) {
  options_.handshake_timeout = std::chrono::seconds(1);
  options_.max_connections = 1;
  start();
  const client silent(options_.port);
  std::string answer;
  EXPECT_TRUE(silent.receive_all(answer));
  EXPECT_EQ(answer, "");
  wait_for_connections(0);
  EXPECT_EQ(server_->snapshot().handshake_timeouts, 1U);
  EXPECT_EQ(server_->snapshot().handshake_failures, 1U);
}

TEST_F(https, one_connection_too_many_reads_503) {
  options_.max_connections = 1;
  start();
  const client first(options_.port);
  wait_for_connections(1);
  EXPECT_TRUE(talk("").starts_with("HTTP/1.1 503 "));
  EXPECT_EQ(server_->snapshot().connections_refused, 1U);
}

TEST_F(https, idle_client_gets_close_notify_at_the_idle_timeout) {
  options_.idle_timeout = std::chrono::seconds(1);
  start();
  EXPECT_EQ(body(talk(get("/small.txt"))), "hello");  // the connection ends with a close_notify, not an error
  EXPECT_EQ(server_->snapshot().idle_timeouts, 1U);
}

TEST_F(https, incomplete_request_head_gets_408_at_the_header_timeout) {
  options_.header_timeout = std::chrono::milliseconds(50);
  start();
  EXPECT_TRUE(talk("GET / HT").starts_with("HTTP/1.1 408 "));
}

TEST_F(https, close_notify_of_the_client_is_answered_with_close_notify) {
  start();
  const auto finish = [this](heard& into) -> rota::task<void> {
    result<tls_client_stream> over = co_await connect();
    EXPECT_TRUE(over.has_value());
    const result<void> said = co_await over->shutdown_write();
    EXPECT_TRUE(said.has_value());
    co_await hear(*over, into);
  };
  heard all;
  runtime_->block_on(finish(all));
  EXPECT_FALSE(all.end) << all.end.message();
}

// The client reads nothing until the signal has come.
TEST_F(https, drain_lets_a_running_download_finish) {
  folder_.write("huge", pattern(huge));
  options_.drain_timeout = std::chrono::hours(1);
  start();
  const auto download = [this](heard& into) -> rota::task<void> {
    result<tls_client_stream> over = co_await connect();
    EXPECT_TRUE(over.has_value());
    const result<std::size_t> sent = co_await send(*over, get("/huge") + get("/small.txt"));
    EXPECT_TRUE(sent.has_value());
    std::byte first{};
    const result<std::size_t> got = co_await over->read(std::span(&first, 1));
    EXPECT_TRUE(got.has_value());
    into.text.push_back(static_cast<char>(first));
    ::raise(SIGTERM);
    while (can_connect(options_.port)) std::this_thread::yield();
    co_await hear(*over, into);
  };
  heard all;
  runtime_->block_on(download(all));
  EXPECT_FALSE(all.end) << all.end.message();
  const std::size_t second = all.text.find("HTTP/1.1 ", 9);
  EXPECT_TRUE(body(all.text.substr(0, second)) == pattern(huge));
  EXPECT_TRUE(all.text.ends_with("\r\n\r\nhello"));
  EXPECT_NE(all.text.find("\r\nConnection: close\r\n", second), std::string::npos);
  join();
}

TEST_F(https, drain_ends_handshakes_and_sends_close_notify_to_idle_clients) {
  options_.handshake_timeout = options_.idle_timeout = options_.drain_timeout = std::chrono::hours(1);
  start();
  const client silent(options_.port);
  const auto wait = [this](heard& into) -> rota::task<void> {
    result<tls_client_stream> over = co_await connect();
    EXPECT_TRUE(over.has_value());
    const result<std::size_t> sent = co_await send(*over, get("/small.txt"));
    EXPECT_TRUE(sent.has_value());
    while (server_->snapshot().requests != 1) std::this_thread::yield();
    wait_for_connections(2);
    ::raise(SIGTERM);
    co_await hear(*over, into);
  };
  heard all;
  runtime_->block_on(wait(all));
  EXPECT_FALSE(all.end) << all.end.message();
  EXPECT_EQ(body(all.text), "hello");
  join();
}

/// Checks the end of an answer that `cut` interrupts after its first byte has arrived.
class https_cut : public https {
 protected:
  template <class F>
  void expect_no_good_end(F cut) {
    folder_.write("huge", pattern(huge));
    start();
    const auto download = [this, &cut](heard& into) -> rota::task<void> {
      result<tls_client_stream> over = co_await connect();
      EXPECT_TRUE(over.has_value());
      const result<std::size_t> sent = co_await send(*over, get("/huge"));
      EXPECT_TRUE(sent.has_value());
      std::byte first{};
      const result<std::size_t> got = co_await over->read(std::span(&first, 1));
      EXPECT_TRUE(got.has_value());
      cut();
      co_await hear(*over, into);
    };
    heard all;
    runtime_->block_on(download(all));
    EXPECT_EQ(all.end, rota::errc::end_of_stream) << all.end.message();
    EXPECT_LT(all.text.size(), huge);
  }
};

TEST_F(https_cut, sends_no_close_notify_when_the_drain_times_out) {
  options_.drain_timeout = std::chrono::milliseconds(0);
  expect_no_good_end([this] {
    ::raise(SIGTERM);
    wait_for_connections(0);
  });
  join();
}

// The client reads all, so the server could send a close_notify here. It must not.
TEST_F(https_cut, sends_no_close_notify_when_the_file_shrinks) {
  expect_no_good_end([this] { std::filesystem::resize_file(folder_.at("huge"), 1); });
}

}  // namespace
}  // namespace file_server::testing::https_with_tls_test
