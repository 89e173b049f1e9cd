// The names of the values of status and option enumerations: one row per value, in order of declaration.
#include <array>
#include <cstddef>
#include <string_view>

#include <gtest/gtest.h>

#include <rota/cancel_reason.hpp>
#include <rota/channel/status.hpp>
#include <rota/detail/send_status.hpp>
#include <rota/fs/metadata.hpp>
#include <rota/io/result.hpp>
#include <rota/net/socket_options.hpp>
#include <rota/pool/events.hpp>
#include <rota/pool/parallel.hpp>
#include <rota/pool/pool_options.hpp>
#include <rota/pool/queue_order.hpp>
#include <rota/pool/work_options.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/once_cell.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/sync/strand.hpp>
#include <rota/unhandled.hpp>

namespace rota {
namespace {

// Value `i` has the name `names[i]`, and the value behind the last one has none. So a value that is added to
// an enumeration fails its row until it has a name here.
template <class Enum, std::size_t N>
void expect_status_names(const std::array<std::string_view, N>& names) {
  for (std::size_t i = 0; i != N; ++i) EXPECT_EQ(to_string(static_cast<Enum>(i)), names[i]) << "value " << i;
  EXPECT_STREQ(to_string(static_cast<Enum>(N)), "unknown");
}

template <class... Names>
constexpr auto row_of(Names... names) {
  return std::array<std::string_view, sizeof...(Names)>{names...};
}

TEST(StatusNames, name_each_status_of_channels) {
  expect_status_names<channel::send_status>(
      row_of("sent", "full", "dropped", "closed", "timed out", "forked"));
  expect_status_names<channel::recv_status>(row_of("empty", "closed", "timed out", "lagged", "forked"));
}

TEST(StatusNames, name_each_status_of_gates) {
  expect_status_names<gate::send_status>(row_of("sent", "full", "closed", "forked"));
}

TEST(StatusNames, name_each_status_of_files) {
  expect_status_names<fs::file_type>(row_of(
      "unknown", "regular", "directory", "symlink", "block device", "character device", "fifo", "socket"));
}

TEST(StatusNames, name_each_status_of_streams) {
  expect_status_names<io::finish_outcome>(row_of("end of stream", "limit reached"));
}

TEST(StatusNames, name_each_status_of_sync_primitives) {
  expect_status_names<sync::event_state>(row_of("unset", "set"));
  expect_status_names<sync::acquire_refusal>(row_of("empty", "closed"));
  expect_status_names<sync::set_refusal>(row_of("full", "busy"));
  expect_status_names<sync::turn_refusal>(row_of("busy", "closed"));
}

TEST(StatusNames, name_each_source_of_an_unhandled_exception) {
  expect_status_names<unhandled_from>(row_of("task", "pool job", "pool handler", "mailbox"));
}

TEST(StatusNames, name_each_status_of_pools) {
  expect_status_names<pool::error_from>(row_of("work",
                                               "callback",
                                               "default callback",
                                               "pool started",
                                               "pool idle",
                                               "running changed",
                                               "work started",
                                               "work ended",
                                               "work stopped",
                                               "work cancelled",
                                               "work timed out",
                                               "pool timed out",
                                               "work rejected",
                                               "work discarded",
                                               "work abandoned",
                                               "running timer",
                                               "thread hook",
                                               "rejection choice",
                                               "retry filter"));
}

TEST(StatusNames, name_each_option_of_pools) {
  expect_status_names<pool::queue_order>(row_of("fifo", "lifo", "deque"));
  expect_status_names<pool::priority_scope>(row_of("per worker", "global"));
  expect_status_names<pool::steal_amount>(row_of("half", "one"));
  expect_status_names<pool::rejection>(
      row_of("abort", "caller runs", "discard newest", "discard queued", "block", "custom"));
  expect_status_names<pool::start_mode>(row_of("running", "suspended"));
  expect_status_names<pool::pause_mode>(row_of("running only", "queued too"));
  expect_status_names<pool::chunking>(row_of("fixed", "dynamic", "guided"));
}

TEST(StatusNames, name_each_option_of_works) {
  expect_status_names<pool::on_timeout>(row_of("notify", "stop", "force stop"));
  expect_status_names<pool::timeout_from>(row_of("start", "submit"));
  expect_status_names<pool::retry_where>(row_of("immediately", "requeued"));
  expect_status_names<pool::placement>(row_of("idle then least loaded", "idle then local", "local"));
  expect_status_names<pool::stopped_counts>(row_of("as failure", "as success"));
}

TEST(StatusNames, name_each_option_of_sockets) {
  expect_status_names<net::address_family>(row_of("any", "IPv4", "IPv6"));
}

TEST(StatusNames, are_constant_expressions) {
  static_assert(std::string_view(to_string(channel::send_status::timed_out)) == "timed out");
  static_assert(std::string_view(to_string(io::finish_outcome::limit_reached)) == "limit reached");
  EXPECT_STREQ(to_string(gate::send_status::closed), "closed");
}

}  // namespace
}  // namespace rota
