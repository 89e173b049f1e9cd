// The JSON of /-/stats.
#include "file_server/stats.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace file_server::testing::stats_test {
namespace {

TEST(stats, are_one_line_of_json_in_the_documented_order) {
  stats s;
  s.uptime_ms = 1;
  s.workers = 2;
  s.connections_open = 3;
  s.connections_accepted = 4;
  s.connections_refused = 5;
  s.connections_out_of_memory = 21;
  s.requests = 6;
  s.responses_2xx = 7;
  s.responses_3xx = 14;
  s.responses_4xx = 8;
  s.responses_5xx = 9;
  s.header_timeouts = 10;
  s.idle_timeouts = 11;
  s.handshakes = 18;
  s.handshake_failures = 19;
  s.handshake_timeouts = 20;
  s.bytes_received = 12;
  s.bytes_sent = 13;
  s.log_lines = 15;
  s.log_lines_dropped = 16;
  s.log_lines_lost = 17;
  EXPECT_EQ(to_json(s),
            "{\"uptime_ms\":1,\"workers\":2,\"connections_open\":3,\"connections_accepted\":4,"
            "\"connections_refused\":5,\"connections_out_of_memory\":21,\"requests\":6,\"responses_2xx\":7,"
            "\"responses_3xx\":14,\"responses_4xx\":8,"
            "\"responses_5xx\":9,\"header_timeouts\":10,\"idle_timeouts\":11,\"handshakes\":18,"
            "\"handshake_failures\":19,\"handshake_timeouts\":20,\"bytes_received\":12,"
            "\"bytes_sent\":13,\"log_lines\":15,\"log_lines_dropped\":16,\"log_lines_lost\":17}\n");
}

TEST(stats, are_read_back_by_a_json_parser) {
  stats s;
  s.bytes_sent = std::numeric_limits<std::uint64_t>::max();
  const auto read = nlohmann::json::parse(to_json(s));
  EXPECT_EQ(read.size(), 21U);
  EXPECT_EQ(read.at("bytes_sent").get<std::uint64_t>(), s.bytes_sent);
  EXPECT_EQ(read.at("uptime_ms").get<std::uint64_t>(), 0U);
}

}  // namespace
}  // namespace file_server::testing::stats_test
