// The command line, and its error messages.
#include "file_server/options.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace file_server::testing::options_test {
namespace {

using std::chrono::milliseconds;

std::expected<options, early_end> parse(std::initializer_list<const char*> arguments) {
  std::vector<const char*> argv{"file_server"};
  argv.insert(argv.end(), arguments);
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

void expect_error(std::initializer_list<const char*> arguments,
                  std::initializer_list<std::string_view> parts) {
  const auto o = parse(arguments);
  ASSERT_FALSE(o);
  EXPECT_EQ(o.error().exit_code, 2);
  for (const auto part : parts) EXPECT_NE(o.error().text.find(part), std::string::npos) << o.error().text;
}

TEST(options, have_defaults) {
  const auto o = parse({"/tmp"});
  ASSERT_TRUE(o) << o.error().text;
  EXPECT_EQ(o->directory, "/tmp");
  EXPECT_EQ(o->address, "127.0.0.1");
  EXPECT_EQ(o->port, 8080);
  EXPECT_EQ(o->workers, 0U);
  EXPECT_EQ(o->max_connections, 4096U);
  EXPECT_EQ(o->header_timeout, milliseconds(5'000));
  EXPECT_EQ(o->idle_timeout, milliseconds(10'000));
  EXPECT_EQ(o->drain_timeout, milliseconds(10'000));
  EXPECT_EQ(o->listings, feature::off);
  EXPECT_EQ(o->precompressed, feature::on);
  EXPECT_EQ(o->certificate, "");
  EXPECT_EQ(o->key, "");
  EXPECT_EQ(o->handshake_timeout, milliseconds(5'000));
  EXPECT_EQ(o->access_log, "");
  EXPECT_EQ(o->log_rotation.size, 0U);
  EXPECT_EQ(o->log_rotation.keep, 5U);
  EXPECT_EQ(o->parser.request_line, 4096U);
  EXPECT_EQ(o->parser.header_bytes, 16384U);
  EXPECT_EQ(o->parser.header_fields, 64U);
}

TEST(options, can_all_be_set) {
  const auto o = parse({"--port",     "0",
                        "--bind=::1", "--workers",
                        "3",          "--max-connections",
                        "7",          "--header-timeout",
                        "250ms",      "--idle-timeout",
                        "2m",         "--drain-timeout",
                        "0",          "--max-request-line",
                        "100",        "--max-header-bytes",
                        "300",        "--max-header-fields",
                        "9",          "/"});
  ASSERT_TRUE(o) << o.error().text;
  EXPECT_EQ(o->directory, "/");
  EXPECT_EQ(o->address, "::1");
  EXPECT_EQ(o->port, 0);
  EXPECT_EQ(o->workers, 3U);
  EXPECT_EQ(o->max_connections, 7U);
  EXPECT_EQ(o->header_timeout, milliseconds(250));
  EXPECT_EQ(o->idle_timeout, milliseconds(120'000));
  EXPECT_EQ(o->drain_timeout, milliseconds(0));
  EXPECT_EQ(o->parser.request_line, 100U);
  EXPECT_EQ(o->parser.header_bytes, 300U);
  EXPECT_EQ(o->parser.header_fields, 9U);
}

TEST(options, of_listing_and_log_can_be_set) {
  const auto o = parse({"/",
                        "--listing",
                        "--no-precompressed",
                        "--access-log",
                        "-",
                        "--access-log-size",
                        "1000000",
                        "--access-log-keep",
                        "3"});
  ASSERT_TRUE(o) << o.error().text;
  EXPECT_EQ(o->listings, feature::on);
  EXPECT_EQ(o->precompressed, feature::off);
  EXPECT_EQ(o->access_log, "-");
  EXPECT_EQ(o->log_rotation.size, 1'000'000U);
  EXPECT_EQ(o->log_rotation.keep, 3U);
}

TEST(options, certificate_and_key_require_each_other) {
  const auto o = parse({"/", "--certificate", "a.pem", "--key", "b.pem", "--handshake-timeout", "1s"});
  ASSERT_TRUE(o) << o.error().text;
  EXPECT_EQ(o->certificate, "a.pem");
  EXPECT_EQ(o->key, "b.pem");
  EXPECT_EQ(o->handshake_timeout, milliseconds(1'000));
  expect_error({"/", "--certificate", "a.pem"}, {"--certificate requires --key"});
  expect_error({"/", "--key", "b.pem"}, {"--key requires --certificate"});
  expect_error({"/", "--certificate", "", "--key", "b.pem"}, {"--certificate", "a file name is missing"});
  expect_error({"/", "--certificate", "a.pem", "--key", ""}, {"--key", "a file name is missing"});
  expect_error({"/", "--handshake-timeout", "9ms"}, {"--handshake-timeout", "10ms..3600s"});
}

TEST(options, flags_can_be_switched_on_and_off) {
  EXPECT_EQ(parse({"/", "--no-listing"})->listings, feature::off);
  EXPECT_EQ(parse({"/", "--precompressed"})->precompressed, feature::on);
}

TEST(options, directory_can_be_given_with_the_root_option) {
  EXPECT_EQ(parse({"--root", "/tmp"})->directory, "/tmp");
  EXPECT_EQ(parse({"--root=/tmp"})->directory, "/tmp");
  expect_error({"--root", "/no/such"}, {"--root", "'/no/such' is not a directory"});
  expect_error({"--root", "/tmp", "/"}, {"--root"});
}

TEST(options, a_time_without_unit_is_in_seconds) {
  EXPECT_EQ(parse({"/", "--idle-timeout", "3"})->idle_timeout, milliseconds(3'000));
  EXPECT_EQ(parse({"/", "--idle-timeout", "3s"})->idle_timeout, milliseconds(3'000));
}

TEST(options, need_a_directory) { expect_error({}, {"DIR", "required"}); }

TEST(options, reject_a_path_that_is_no_directory) {
  expect_error({"/dev/null"}, {"DIR", "'/dev/null' is not a directory"});
  expect_error({"/no/such"}, {"DIR", "'/no/such' is not a directory"});
}

TEST(options, reject_an_invalid_address) {
  expect_error({"/", "--bind", "localhost"}, {"--bind", "'localhost' is not an IPv4 or IPv6 address"});
  expect_error({"/", "--bind", "1.2.3"}, {"--bind", "'1.2.3'"});
}

TEST(options, reject_a_number_out_of_range_and_name_the_range) {
  expect_error({"/", "--port", "65536"}, {"--port", "'65536' is not a number in 0..65535"});
  expect_error({"/", "--workers", "4097"}, {"--workers", "0..4096"});
  expect_error({"/", "--max-connections", "0"}, {"--max-connections", "1..1000000"});
  expect_error({"/", "--access-log-size", "1099511627777"}, {"--access-log-size", "0..1099511627776"});
  expect_error({"/", "--access-log-keep", "0"}, {"--access-log-keep", "1..1000"});
  expect_error({"/", "--max-request-line", "63"}, {"--max-request-line", "64..65536"});
  expect_error({"/", "--max-header-bytes", "1048577"}, {"--max-header-bytes", "256..1048576"});
  expect_error({"/", "--max-header-fields", "0"}, {"--max-header-fields", "1..1024"});
}

TEST(options, reject_a_malformed_number) {
  for (const char* text : {"", "x", "80x", "-1", "+80", " 80", "0x50", "80.5", "99999999999999999999"}) {
    expect_error({"/", "--port", text}, {"--port", "is not a number in 0..65535"});
  }
}

TEST(options, reject_a_time_out_of_range_and_name_the_range) {
  expect_error({"/", "--header-timeout", "9ms"}, {"--header-timeout", "'9ms' is not a time in 10ms..3600s"});
  expect_error({"/", "--idle-timeout", "61m"}, {"--idle-timeout", "10ms..3600s"});
  expect_error({"/", "--drain-timeout", "3601"}, {"--drain-timeout", "0s..3600s"});
}

// The last text would mean 5000 ms if the multiplication could wrap.
TEST(options, reject_a_malformed_time) {
  for (const char* text : {"",
                           "s",
                           "5h",
                           "5 s",
                           "-5s",
                           "1.5s",
                           "99999999999999999999s",
                           "9999999999999m",
                           "2305843009213693957s"}) {
    expect_error({"/", "--idle-timeout", text}, {"--idle-timeout", "written as 250ms, 5s or 2m"});
  }
}

TEST(options, reject_unknown_options_and_missing_values) {
  expect_error({"/", "--colour"}, {"--colour"});
  expect_error({"/", "/tmp"}, {"/tmp"});
  expect_error({"/", "--port"}, {"--port"});
  expect_error({"/", "--access-log", ""}, {"--access-log", "is missing"});
  expect_error({"/", "--listing=perhaps"}, {"listing"});
}

TEST(options, help_lists_the_options) {
  const auto o = parse({"--help"});
  ASSERT_FALSE(o);
  EXPECT_EQ(o.error().exit_code, 0);
  for (const auto* part : {"DIR",
                           "--port",
                           "--bind",
                           "--workers",
                           "--max-connections",
                           "--header-timeout",
                           "--idle-timeout",
                           "--drain-timeout",
                           "--root",
                           "--listing",
                           "--no-precompressed",
                           "--certificate",
                           "--key",
                           "--handshake-timeout",
                           "--access-log",
                           "--access-log-size",
                           "--access-log-keep",
                           "--max-request-line",
                           "--max-header-bytes",
                           "--max-header-fields",
                           "0..65535",
                           "8080"}) {
    EXPECT_NE(o.error().text.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace file_server::testing::options_test
