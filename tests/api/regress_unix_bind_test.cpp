// A unix socket is bound to a path, or to what unix_endpoint makes, without a step in between.
#include "support/scratch_folder.hpp"

#include <rota/gate/fan_in.hpp>
#include <rota/net/unix_datagram.hpp>
#include <rota/net/unix_listener.hpp>
#include <rota/runtime.hpp>

#include <gtest/gtest.h>

#include <string>
#include <system_error>

namespace rota::net {
namespace {

task<> binds_by_text(std::string folder) {
  const std::string path = folder + "/listener";
  auto listener = unix_listener::bind(path, {.unlink_at_end = true});
  EXPECT_TRUE(listener.has_value());
  EXPECT_EQ(listener->local_endpoint()->name(), path);
  const auto again = unix_listener::bind(path.c_str());
  EXPECT_EQ(again.error(), std::errc::address_in_use);
  auto client = co_await unix_stream::connect(*unix_endpoint::path(path));
  EXPECT_TRUE(client.has_value());

  auto datagram = unix_datagram::bind(folder + "/datagram");
  EXPECT_TRUE(datagram.has_value());
  EXPECT_EQ(datagram->local_endpoint()->name(), folder + "/datagram");
}

task<> tells_the_error_of_the_name() {
  const std::string too_long(unix_endpoint::most + 1, 'x');
  EXPECT_EQ(unix_listener::bind(too_long).error(), std::errc::filename_too_long);
  EXPECT_EQ(unix_listener::bind("").error(), std::errc::invalid_argument);
  EXPECT_EQ(unix_listener::bind(unix_endpoint::abstract(too_long)).error(), std::errc::filename_too_long);
  EXPECT_EQ(unix_datagram::bind(too_long).error(), std::errc::filename_too_long);
  EXPECT_EQ(unix_datagram::bind(unix_endpoint::abstract("")).error(), std::errc::invalid_argument);
  co_return;
}

TEST(regress_unix_bind, a_text_is_a_path) {
  const test::scratch_folder folder;
  rota::run(binds_by_text(folder.root()));
}

TEST(regress_unix_bind, an_error_of_the_name_is_the_error_of_bind) {
  rota::run(tells_the_error_of_the_name());
}

TEST(fan_in_state, to_string_names_each_state) {
  EXPECT_STREQ(to_string(gate::fan_in_state::ready), "ready");
  EXPECT_STREQ(to_string(gate::fan_in_state::empty), "empty");
  EXPECT_STREQ(to_string(gate::fan_in_state::ended), "ended");
}

}  // namespace
}  // namespace rota::net
