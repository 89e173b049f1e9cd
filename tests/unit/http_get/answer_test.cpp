// An answer is assembled from bytes, however they arrive.
#include "http_get/answer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "http_get/url.hpp"

namespace http_get::answer_test {
namespace {

constexpr std::string_view chunked_head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

struct taken {
  std::string body{};
  int parts = 0;
};

/// Feeds all bytes, at most `at_a_time` at once, and takes the results.
taken feed(answer& to, std::string_view bytes, std::size_t at_a_time) {
  taken t;
  while (!bytes.empty() && to.error().empty()) {
    const auto room = to.room();
    const std::size_t n = std::min({room.size(), bytes.size(), at_a_time});
    if (n == 0) break;
    std::memcpy(room.data(), bytes.data(), n);
    bytes.remove_prefix(n);
    to.arrived(n);
    if (!to.has_head()) continue;
    for (std::string_view part = to.next(); !part.empty(); part = to.next()) {
      t.body += part;
      ++t.parts;
    }
  }
  return t;
}

std::string chunks_of_one(std::string_view body) {
  std::string text;
  for (const char each : body) text += std::string("1\r\n") + each + "\r\n";
  return text + "0\r\n\r\n";
}

std::string letters(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}

TEST(answer, gathers_small_chunks) {
  answer a;
  const std::string body = letters(100'000);
  const std::string all = std::string(chunked_head) + chunks_of_one(body);
  const taken t = feed(a, all, all.size());
  EXPECT_TRUE(a.error().empty()) << a.error();
  EXPECT_TRUE(a.is_done());
  EXPECT_EQ(t.body, body);
  // The connection gives 64 KiB at a time: each chunk becomes one part.
  EXPECT_LE(t.parts, static_cast<int>(all.size() / 60'000) + 1);
}

TEST(answer, is_the_same_for_any_split_of_its_bytes) {
  const std::string body = letters(3000);
  const std::string all = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" +
                          std::string(chunked_head) + chunks_of_one(body);
  for (const std::size_t at_a_time : {1U, 2U, 7U, 100U, 50'000U}) {
    answer a;
    const taken t = feed(a, all, at_a_time);
    EXPECT_TRUE(a.error().empty()) << a.error();
    EXPECT_TRUE(a.is_done());
    EXPECT_EQ(a.about().status, 200U) << "those before it are none";
    EXPECT_EQ(t.body, body) << at_a_time;
  }
}

TEST(answer, gives_what_comes_before_an_error) {
  answer a;
  const taken t = feed(a, std::string(chunked_head) + "3\r\nabc\r\nno size\r\n", 1000);
  EXPECT_EQ(t.body, "abc");
  EXPECT_FALSE(a.error().empty());
}

TEST(answer, reports_an_error_when_only_interim_responses_arrive) {
  answer a;
  const taken t = feed(a, "HTTP/1.1 100 Continue\r\n\r\n", 1000);
  EXPECT_EQ(t.parts, 0);
  EXPECT_FALSE(a.has_head());
  a.ended();
  EXPECT_FALSE(a.error().empty());
}

TEST(answer, that_switches_protocols_is_final) {
  answer a;
  feed(a, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 1000);
  EXPECT_TRUE(a.has_head());
  EXPECT_EQ(a.about().status, 101U);
}

TEST(file_name, is_the_end_of_the_path) {
  const auto name_of = [](std::string_view text) { return file_name_of(parse_url(text).value()); };
  EXPECT_EQ(name_of("http://x/a/b.tar?c=/d"), "b.tar");
  EXPECT_EQ(name_of("http://x/a/"), "index.html");
  EXPECT_EQ(name_of("http://x/.."), "index.html");
  EXPECT_EQ(name_of("http://x/-"), "./-") << "not the standard output";
  EXPECT_EQ(name_of("http://x/--"), "--");
}

}  // namespace
}  // namespace http_get::answer_test
