// Two questions for one name, and when one answer is enough (RFC 8305, section 3).
#include "net/name_sources.hpp"
#include "net/resolve_ares.hpp"
#include "unit/net/name_server.hpp"

#include <rota/net/resolve.hpp>
#include <rota/spawn.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace rota::test::name_answers_test {
namespace {

using net::address_family;
using net::endpoint;
using net::detail::name_question;
using addresses = net::result<std::vector<endpoint>>;

#define ROTA_NEEDS_NAME_SERVERS() \
  if (!net::detail::can_ask_name_servers()) GTEST_SKIP() << "built without c-ares"

constexpr auto for_ever = std::chrono::hours(1);

/// Asks the test's server as `asked` says. `questions` becomes the number of questions that it has received.
addresses answered(name_question asked, int& questions) {
  addresses got = std::unexpected(std::error_code());
  run([&]() -> task<> {
    name_server server;
    auto datagrams = spawn(server.answer_datagrams());
    asked.servers = {server.at()};
    auto asking = net::detail::ask_name_servers(std::move(asked));
    got = co_await std::move(asking);
    questions = server.questions();
    datagrams.cancel();
    const auto end = co_await datagrams.result();
    EXPECT_TRUE(end.is_cancelled());
  });
  return got;
}
addresses answered(name_question asked) {
  int questions = 0;
  return answered(std::move(asked), questions);
}

std::vector<std::string> sorted_texts(const addresses& got) {
  std::vector<std::string> all;
  if (!got.has_value()) return {got.error().message()};
  for (const endpoint& each : *got) all.push_back(each.to_string());
  std::ranges::sort(all);
  return all;
}

using texts = std::vector<std::string>;

// c-ares repeats a question after some seconds: one question per family shows that the answer did not wait.
TEST(name_answers, of_one_family_are_enough_when_the_other_one_never_comes) {
  ROTA_NEEDS_NAME_SERVERS();
  int questions = 0;
  const name_question four{.host = "only4.test", .port = 80, .limit = for_ever};
  EXPECT_EQ(sorted_texts(answered(four, questions)), texts{"10.0.0.1:80"});
  EXPECT_LE(questions, 2) << "no server was asked again";
  const name_question six{.host = "only6.test", .port = 80, .limit = for_ever};
  EXPECT_EQ(sorted_texts(answered(six, questions)), texts{"[fd00::1]:80"});
  EXPECT_LE(questions, 2) << "no server was asked again";
}

TEST(name_answers, of_the_later_family_are_waited_for_within_the_delay) {
  ROTA_NEEDS_NAME_SERVERS();
  const name_question asked{.host = "late6.test", .port = 80, .limit = for_ever, .delay = for_ever};
  EXPECT_EQ(sorted_texts(answered(asked)), (texts{"10.0.0.1:80", "[fd00::1]:80"}));
}

TEST(name_answers, of_one_family_are_a_result_when_the_limit_ends) {
  ROTA_NEEDS_NAME_SERVERS();
  const name_question asked{.host = "only4.test", .port = 80, .limit = 2s, .delay = for_ever};
  EXPECT_EQ(sorted_texts(answered(asked)), texts{"10.0.0.1:80"});
}

TEST(name_answers, are_late_when_neither_family_has_one_at_the_limit) {
  ROTA_NEEDS_NAME_SERVERS();
  const addresses got = answered({.host = "silent.test", .port = 80, .limit = 50ms});
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error(), errc::timed_out);
}

TEST(name_answers, of_one_family_need_no_other_question) {
  ROTA_NEEDS_NAME_SERVERS();
  const name_question four{.host = "late6.test", .port = 80, .family = address_family::v4, .limit = for_ever};
  EXPECT_EQ(sorted_texts(answered(four)), texts{"10.0.0.1:80"});
  const name_question six{.host = "only6.test", .port = 80, .family = address_family::v6, .limit = for_ever};
  EXPECT_EQ(sorted_texts(answered(six)), texts{"[fd00::1]:80"});
}

// Calls the public function, with its own delay and limit.
TEST(name_answers, are_given_by_resolve_though_one_question_is_never_answered) {
  ROTA_NEEDS_NAME_SERVERS();
  run([]() -> task<> {
    name_server server;
    auto datagrams = spawn(server.answer_datagrams());
    net::resolve_options how;
    how.name_servers = {server.at()};
    auto asking = net::resolve("only4.test", 80, how);
    const addresses got = co_await std::move(asking);
    EXPECT_EQ(sorted_texts(got), texts{"10.0.0.1:80"});
    EXPECT_LE(server.questions(), 2) << "no server was asked again";
    datagrams.cancel();
    const auto end = co_await datagrams.result();
    EXPECT_TRUE(end.is_cancelled());
  });
}

TEST(name_answers, come_from_the_servers_in_turns_when_they_rotate) {
  ROTA_NEEDS_NAME_SERVERS();
  run([]() -> task<> {
    name_server servers[2];
    auto one = spawn(servers[0].answer_datagrams());
    auto two = spawn(servers[1].answer_datagrams());
    name_question asked{.host = "v4.test", .port = 80, .family = address_family::v4, .limit = for_ever};
    asked.servers = {servers[0].at(), servers[1].at()};
    asked.rotates = true;
    for (int round = 1; round <= 3; ++round) {
      for (int call = 0; call < 2; ++call) {
        auto asking = net::detail::ask_name_servers(asked);
        const addresses got = co_await std::move(asking);
        EXPECT_TRUE(got.has_value());
      }
      EXPECT_EQ(servers[0].questions(), round);
      EXPECT_EQ(servers[1].questions(), round);
    }
    for (auto* each : {&one, &two}) each->cancel();
    const auto first = co_await one.result();
    const auto second = co_await two.result();
    EXPECT_TRUE(first.is_cancelled() && second.is_cancelled());
  });
}

// ---- what is read from resolv.conf

TEST(resolver_settings, are_read_from_options) {
  const auto none = net::detail::read_settings("nameserver 10.0.0.1\n#options timeout:3\n");
  EXPECT_FALSE(none.timeout.has_value() || none.attempts.has_value() || none.rotates);
  const auto both =
      net::detail::read_settings("search a.test\noptions rotate timeout:3\n options attempts:2 ndots:2");
  EXPECT_EQ(both.timeout, 3);
  EXPECT_EQ(both.attempts, 2);
  EXPECT_TRUE(both.rotates);
  const auto bounded = net::detail::read_settings("options timeout:100 attempts:100\n");
  EXPECT_EQ(bounded.timeout, 30);
  EXPECT_EQ(bounded.attempts, 5);
  EXPECT_FALSE(bounded.rotates);
  EXPECT_FALSE(
      net::detail::read_settings("#options rotate\nsearch rotate\noptions rotate:1 norotate\n").rotates);
  for (const char* wrong : {"options timeout:",
                            "options timeout:x",
                            "options timeout:0",
                            "options timeout:-1",
                            "options timeout:3s",
                            "options attempts:99999999999"}) {
    const auto got = net::detail::read_settings(wrong);
    EXPECT_FALSE(got.timeout.has_value() || got.attempts.has_value()) << wrong;
  }
}

TEST(search_names, follow_the_search_list_and_the_dots) {
  using net::detail::search_names;
  const std::vector<std::string> domains{"a.test", "b.test."};
  EXPECT_EQ(search_names("host", domains, 1), (texts{"host.a.test.", "host.b.test.", "host."}));
  EXPECT_EQ(search_names("host.x", domains, 1), (texts{"host.x.", "host.x.a.test.", "host.x.b.test."}));
  EXPECT_EQ(search_names("host.x", domains, 2), (texts{"host.x.a.test.", "host.x.b.test.", "host.x."}));
  EXPECT_EQ(search_names("host.x.", domains, 5), texts{"host.x."});
  EXPECT_EQ(search_names("host", {}, 1), texts{"host."});
  EXPECT_EQ(search_names("host", {std::string(252, 'a')}, 1), texts{"host."});
}

}  // namespace
}  // namespace rota::test::name_answers_test
