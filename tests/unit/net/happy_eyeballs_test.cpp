// The start order of attempts, and which one wins. On a virtual clock, with invented attempts.
#include "net/happy_eyeballs.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/net/resolve.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/testing/virtual_clock.hpp>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace rota::test::happy_eyeballs_test {
namespace {

using net::endpoint;

/// The duration and the result of an attempt. The attempts are numbered by port, from 1 on.
struct planned {
  std::chrono::milliseconds takes;
  bool succeeds;
};

struct row {
  const char* name;
  std::vector<planned> attempts;
  std::chrono::milliseconds delay;
  std::vector<int> begins;  // in milliseconds from the start
  int winner;               // its port; 0: no attempt
  int over;
};
std::ostream& operator<<(std::ostream& out, const row& r) { return out << r.name; }

constexpr auto for_ever = std::chrono::milliseconds(std::chrono::hours(1));

const row rows[] = {
    {"the_first_is_quick", {{10ms, true}, {10ms, true}}, 250ms, {0}, 1, 10},
    {"the_first_is_slow_and_still_first", {{300ms, true}, {100ms, true}}, 250ms, {0, 250}, 1, 300},
    {"the_second_overtakes", {{400ms, true}, {100ms, true}}, 250ms, {0, 250}, 2, 350},
    {"a_failure_begins_the_next_at_once", {{20ms, false}, {30ms, true}}, 250ms, {0, 20}, 2, 50},
    {"a_late_failure_changes_nothing", {{260ms, false}, {500ms, true}}, 250ms, {0, 250}, 2, 750},
    {"a_failure_of_an_earlier_one_begins_the_next",
     {{300ms, false}, {for_ever, true}, {10ms, true}},
     250ms,
     {0, 250, 300},
     3,
     310},
    {"nobody_answers_but_the_last",
     {{for_ever, true}, {for_ever, true}, {1ms, true}},
     250ms,
     {0, 250, 500},
     3,
     501},
    {"all_fail", {{10ms, false}, {20ms, false}, {5ms, false}}, 250ms, {0, 10, 30}, 0, 35},
    {"no_delay_begins_all_at_once", {{30ms, true}, {20ms, true}, {10ms, true}}, 0ms, {0, 0, 0}, 3, 10},
    {"one_alone", {{70ms, true}}, 250ms, {0}, 1, 70},
};

class happy_eyeballs : public ::testing::TestWithParam<row> {};

struct attempts {
  const row* plan;
  testing::virtual_clock* clock;
  std::chrono::steady_clock::time_point start;
  std::vector<int> begins;
  int living = 0;
};

/// Returns the time since the start in milliseconds.
int since_start(const attempts& all) {
  return static_cast<int>(
      std::chrono::duration_cast<std::chrono::milliseconds>(all.clock->now() - all.start).count());
}

struct one_living {
  explicit one_living(int& of) noexcept : count(&of) { ++of; }
  one_living(const one_living&) = delete;
  one_living& operator=(const one_living&) = delete;
  ~one_living() { --*count; }
  int* count;
};

task<io::result<int>> make(attempts& all, endpoint to) {
  const one_living here(all.living);
  all.begins.push_back(since_start(all));
  const planned& mine = all.plan->attempts[to.port() - 1U];
  co_await sleep_for(mine.takes);
  if (!mine.succeeds) co_return std::unexpected(std::error_code(to.port(), std::generic_category()));
  co_return static_cast<int>(to.port());
}

TEST_P(happy_eyeballs, attempts_begin_and_end_at_the_planned_times) {
  testing::virtual_clock clock;
  runtime rt(with_workers(1), clock);
  const row& plan = GetParam();
  auto body = [&plan, &clock]() -> task<> {
    attempts all{&plan, &clock, clock.now(), {}, 0};
    std::vector<endpoint> to;
    for (std::size_t i = 0; i < plan.attempts.size(); ++i)
      to.push_back(endpoint::loopback_v4(static_cast<std::uint16_t>(i + 1)));
    const auto connect = [&all](endpoint one) { return make(all, one); };
    auto race = net::detail::first_connected<int>(to, plan.delay, connect);
    const auto end = co_await std::move(race);
    EXPECT_EQ(since_start(all), plan.over);
    EXPECT_EQ(all.begins, plan.begins);
    EXPECT_EQ(all.living, 0) << "the others have ended";
    EXPECT_EQ(end.value_or(0), plan.winner);
    if (!end.has_value()) {
      EXPECT_EQ(end.error().value(), static_cast<int>(plan.attempts.size())) << "the last error";
    }
  };
  rt.spawn(body()).join();
}

INSTANTIATE_TEST_SUITE_P(rfc_8305, happy_eyeballs, ::testing::ValuesIn(rows), [](const auto& one) {
  return std::string(one.param.name);
});

endpoint at(std::string_view text) { return *endpoint::parse(text); }

TEST(addresses, of_two_families_take_turns) {
  const std::vector<endpoint> sorted{
      at("[::1]:1"), at("[::2]:1"), at("[::3]:1"), at("1.1.1.1:1"), at("2.2.2.2:1")};
  const std::vector<endpoint> turns{
      at("[::1]:1"), at("1.1.1.1:1"), at("[::2]:1"), at("2.2.2.2:1"), at("[::3]:1")};
  EXPECT_EQ(net::detail::in_turns(sorted), turns);
  const std::vector<endpoint> four_first{at("1.1.1.1:1"), at("[::1]:1")};
  EXPECT_EQ(net::detail::in_turns(four_first), four_first);
  EXPECT_TRUE(net::detail::in_turns({}).empty());
}

/// Connects to a name in /etc/hosts.
task<void> connects_by_name() {
  auto listener = net::tcp_listener::bind(endpoint::loopback_v4(0));
  const std::uint16_t port = listener->local_endpoint()->port();
  net::connect_options how;
  how.family = net::address_family::v4;
  auto found = co_await net::connect("localhost", port, how);
  EXPECT_TRUE(found.has_value()) << found.error().message();
  auto accepted = co_await listener->accept();
  EXPECT_TRUE(accepted.has_value());
}

TEST(connect_by_name, a_host_is_connected_to_by_its_name) {
  runtime rt(with_workers(2));
  rt.block_on(connects_by_name());
}

task<void> finds_nobody() {
  auto listener = net::tcp_listener::bind(endpoint::loopback_v4(0));
  const std::uint16_t port = listener->local_endpoint()->port();
  {
    const auto gone = std::move(listener);
  }
  const auto refused = co_await net::connect("127.0.0.1", port);
  EXPECT_FALSE(refused.has_value());
  if (!refused.has_value()) {
    EXPECT_EQ(refused.error(), std::errc::connection_refused);
  }
}

TEST(connect_by_name, a_refused_connection_is_its_error) {
  runtime rt(with_workers(2));
  rt.block_on(finds_nobody());
}

}  // namespace
}  // namespace rota::test::happy_eyeballs_test
