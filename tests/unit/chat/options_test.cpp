#include "chat/options.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace chat::options_test {
namespace {

std::expected<options, early_end> parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "chat");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(options, all_have_defaults) {
  const auto o = parsed({});
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(o->port, 7000);
  EXPECT_EQ(o->slow, slow_policy::drop);
  EXPECT_EQ(o->write_timeout, std::chrono::seconds(30));
}

TEST(options, all_can_be_given) {
  const auto o = parsed({"--bind",          "::1",   "--port",          "0",          "--workers",     "2",
                         "--max-clients",   "3",     "--max-rooms",     "4",          "--max-line",    "100",
                         "--outbox",        "5",     "--slow",          "disconnect", "--send-buffer", "0",
                         "--write-timeout", "250ms", "--flush-timeout", "2m"});
  ASSERT_TRUE(o.has_value()) << o.error().text;
  EXPECT_EQ(o->address, "::1");
  EXPECT_EQ(o->port, 0);
  EXPECT_EQ(o->workers, 2U);
  EXPECT_EQ(o->max_clients, 3U);
  EXPECT_EQ(o->max_rooms, 4U);
  EXPECT_EQ(o->max_line, 100U);
  EXPECT_EQ(o->outbox, 5U);
  EXPECT_EQ(o->slow, slow_policy::disconnect);
  EXPECT_EQ(o->send_buffer, 0);
  EXPECT_EQ(o->write_timeout, std::chrono::milliseconds(250));
  EXPECT_EQ(o->flush_timeout, std::chrono::minutes(2));
}

TEST(options, what_is_wrong_is_named) {
  const std::vector<std::vector<const char*>> wrong{{"--port", "65536"},
                                                    {"--bind", "here"},
                                                    {"--workers", "-1"},
                                                    {"--max-clients", "0"},
                                                    {"--max-rooms", "0"},
                                                    {"--max-line", "63"},
                                                    {"--outbox", "1"},
                                                    {"--slow", "down"},
                                                    {"--write-timeout", "9ms"},
                                                    {"--flush-timeout", "61m"},
                                                    {"--flush-timeout", "5"},
                                                    {"--none", ""}};
  for (const auto& each : wrong) {
    const auto o = parsed(each);
    ASSERT_FALSE(o.has_value()) << each[0];
    EXPECT_EQ(o.error().exit_code, 2);
    EXPECT_NE(o.error().text.find(each[0]), std::string::npos) << o.error().text;
  }
}

TEST(options, help_is_no_error) {
  const auto o = parsed({"--help"});
  ASSERT_FALSE(o.has_value());
  EXPECT_EQ(o.error().exit_code, 0);
  EXPECT_NE(o.error().text.find("--slow"), std::string::npos);
}

}  // namespace
}  // namespace chat::options_test
