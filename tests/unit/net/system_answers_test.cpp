// Joint and separate questions to a fake system resolver: when one answer is enough (RFC 8305, section 3).
#include "net/resolve_system.hpp"
#include "unit/net/net_support.hpp"

#include <rota/net/resolve.hpp>
#include <rota/spawn.hpp>

#include <netdb.h>
#include <netinet/in.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <ostream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace rota::test::system_answers_test {
namespace {

using net::address_family;
using net::endpoint;
using net::resolve_errc;
using net::detail::system_question;
using addresses = net::result<std::vector<endpoint>>;
using texts = std::vector<std::string>;

constexpr auto for_ever = std::chrono::hours(1);
constexpr int never = 1000;  // not an EAI_* value: the call waits until the test ends

/// The resolver's answer for one family.
struct told {
  int said = never;
  texts addresses{};
  std::string name = "a.test";
  bool waits = false;  // waits for the gate
  int questions = 0;   // waits until this many questions have been asked
  int answers = 0;     // waits until this many answers have been given
  std::chrono::milliseconds pause{
      0};  // then sleeps this long, to show a question that does not wait; no test depends on it
};

/// The resolver of one test. Calls may outlive the question, but the destructor waits for them.
class resolver {
 public:
  resolver(told both, told four, told six)
      : says_{{AF_UNSPEC, std::move(both)}, {AF_INET, std::move(four)}, {AF_INET6, std::move(six)}} {
    ended_ = 0;
    now = this;
  }
  resolver(const resolver&) = delete;
  resolver& operator=(const resolver&) = delete;
  ~resolver() {
    open_the_gate();
    wait_until([this] { return ended_ == questions_; });
    now = nullptr;
  }

  void open_the_gate() {
    is_open_ = true;
    is_open_.notify_all();
  }
  [[nodiscard]] int questions() const noexcept { return questions_; }

  /// Replaces base::sys::look_up.
  static int look_up(const char* host,
                     int family,
                     std::vector<base::sys::found_address>& found,
                     std::string* name,
                     std::error_code& /*why*/) {
    resolver& me = *now;
    EXPECT_STREQ(host, "a.test");
    EXPECT_EQ(name == nullptr, family == AF_UNSPEC);
    const told& mine = me.says_.at(family);
    ++me.questions_;
    me.questions_.notify_all();
    if (mine.said == never || mine.waits) me.is_open_.wait(false);
    wait_for(me.questions_, mine.questions);
    wait_for(me.ended_, mine.answers);
    std::this_thread::sleep_for(mine.pause);
    for (const std::string& each : mine.addresses) {
      base::sys::found_address one{};
      one.length = static_cast<socklen_t>(endpoint::parse(each + ":0").value().to_native(&one.address));
      found.push_back(one);
    }
    if (name != nullptr) *name = mine.name;
    const int said = mine.said == never ? EAI_AGAIN : mine.said;
    ++me.ended_;  // from now on this object may be destroyed
    ended_.notify_all();
    return said;
  }

 private:
  static void wait_for(std::atomic<int>& count, int wanted) {
    for (int seen = count; seen < wanted; seen = count) count.wait(seen);
  }

  static inline std::atomic<resolver*> now = nullptr;
  std::map<int, told> says_;
  std::atomic<bool> is_open_ = false;
  std::atomic<int> questions_ = 0;
  static inline std::atomic<int> ended_ = 0;  // static: the last notify may come after the object's end
};

system_question question_of(std::chrono::nanoseconds head_start = 0ns) {
  return {.host = "a.test",
          .port = 80,
          .limit = for_ever,
          .head_start = head_start,
          .look_up = &resolver::look_up};
}

/// The gate must open before the runtime ends, since the runtime waits for the calls.
addresses answered(resolver& by, const system_question& asked) {
  addresses got = std::unexpected(std::error_code());
  run([&]() -> task<> {
    auto asking = net::detail::ask_system(asked);
    got = co_await std::move(asking);
    by.open_the_gate();
  });
  return got;
}

texts sorted_texts(const addresses& got) {
  texts all;
  if (!got.has_value()) return {got.error().message()};
  for (const endpoint& each : *got) all.push_back(each.to_string());
  std::ranges::sort(all);
  return all;
}

const told four{.said = 0, .addresses = {"10.0.0.1"}};
const told six{.said = 0, .addresses = {"[fd00::1]"}};

TEST(system_answers, of_one_family_are_enough_when_the_other_one_never_comes) {
  {
    resolver holds_six_up({}, four, {});
    EXPECT_EQ(sorted_texts(answered(holds_six_up, question_of())), texts{"10.0.0.1:80"});
  }
  resolver holds_four_up({}, {}, six);
  EXPECT_EQ(sorted_texts(answered(holds_four_up, question_of())), texts{"[fd00::1]:80"});
}

TEST(system_answers, of_one_family_are_a_result_when_the_limit_ends) {
  resolver system({}, four, {});
  system_question asked = question_of();
  asked.limit = 2s;
  asked.delay = for_ever;
  EXPECT_EQ(sorted_texts(answered(system, asked)), texts{"10.0.0.1:80"});
}

TEST(system_answers, are_late_when_neither_family_has_one_at_the_limit) {
  for (const told& of_four : {told{}, told{.said = EAI_NODATA}}) {
    resolver system({}, of_four, {});
    system_question asked = question_of();
    asked.limit = 50ms;
    EXPECT_EQ(answered(system, asked).error(), errc::timed_out);
  }
}

// Only the joint answer shows that both families come from one source, such as a hosts file or search domain.
TEST(system_answers, for_both_families_need_no_other_question_when_they_come_in_time) {
  resolver system({.said = 0, .addresses = {"10.0.0.5", "10.0.0.5"}}, four, six);
  EXPECT_EQ(sorted_texts(answered(system, question_of(for_ever))), texts{"10.0.0.5:80"});
  EXPECT_EQ(system.questions(), 1);
}

TEST(system_answers, for_both_families_count_when_they_come_late_and_first) {
  resolver system({.said = 0, .addresses = {"10.0.0.5"}, .questions = 3}, {}, {});
  EXPECT_EQ(sorted_texts(answered(system, question_of())), texts{"10.0.0.5:80"});
}

TEST(system_answers, for_both_families_count_when_each_has_answered_before) {
  resolver system({.said = 0, .addresses = {"10.0.0.5"}, .answers = 2, .pause = 50ms}, four, six);
  system_question asked = question_of();
  asked.delay = for_ever;
  EXPECT_EQ(sorted_texts(answered(system, asked)), texts{"10.0.0.5:80"});
}

TEST(system_answers, of_each_family_are_joined) {
  resolver system({}, four, six);
  system_question asked = question_of();
  asked.delay = 10s;
  EXPECT_EQ(sorted_texts(answered(system, asked)), (texts{"10.0.0.1:80", "[fd00::1]:80"}));
}

TEST(system_answers, of_two_names_are_not_joined) {
  told other = six;
  other.name = "a.test.b.test";
  resolver system({}, four, other);
  system_question asked = question_of();
  asked.delay = 1s;
  EXPECT_EQ(answered(system, asked).value().size(), 1U);
}

struct failure_row {
  const char* name;
  int both;
  int four;
  int six;
  resolve_errc expected;
};
std::ostream& operator<<(std::ostream& out, const failure_row& r) { return out << r.name; }

class system_failures : public ::testing::TestWithParam<failure_row> {};

TEST_P(system_failures, are_returned_as_errors) {
  const failure_row& row = GetParam();
  resolver system({.said = row.both, .questions = 3}, {.said = row.four}, {.said = row.six});
  const addresses got = answered(system, question_of());
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error(), row.expected) << got.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    rows,
    system_failures,
    ::testing::Values(failure_row{"neither_knows_it", never, EAI_NONAME, EAI_NONAME, resolve_errc::not_found},
                      failure_row{"one_knows_it", never, EAI_NONAME, EAI_NODATA, resolve_errc::no_address},
                      failure_row{"six_failed", never, EAI_NODATA, EAI_AGAIN, resolve_errc::try_again},
                      failure_row{"four_failed", never, EAI_FAIL, EAI_NONAME, resolve_errc::failed},
                      failure_row{"the_whole_failed", EAI_FAIL, never, never, resolve_errc::failed},
                      failure_row{
                          "the_whole_knows_nothing", EAI_NONAME, never, never, resolve_errc::not_found}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(system_answers, of_the_wanted_family_need_one_question) {
  resolver system({}, four, six);
  system_question asked = question_of();
  asked.family = address_family::v4;
  EXPECT_EQ(sorted_texts(answered(system, asked)), texts{"10.0.0.1:80"});
  asked.family = address_family::v6;
  EXPECT_EQ(sorted_texts(answered(system, asked)), texts{"[fd00::1]:80"});
  EXPECT_EQ(system.questions(), 2);
}

// The calls own what they use: otherwise a sanitizer reports a use after free.
TEST(system_answers, are_not_waited_for_when_the_question_is_cancelled) {
  resolver system({}, {}, {});
  run([&]() -> task<> {
    auto asking = spawn(net::detail::ask_system(question_of()));
    while (system.questions() < 3) co_await yield();
    asking.cancel();
    const auto end = co_await asking.result();
    EXPECT_TRUE(end.is_cancelled());
    EXPECT_EQ(system.questions(), 3);
    system.open_the_gate();
  });
}

runtime_options with_one_blocking_thread() {
  runtime_options how = with_workers(1);
  how.blocking.max_threads = 1;
  return how;
}

// The call for both families has the only thread, so the calls for one family are queued.
TEST(system_answers, are_not_asked_for_when_the_question_is_over) {
  resolver system({}, four, six);
  runtime rt(with_one_blocking_thread());
  rt.block_on([&]() -> task<> {
    auto asking = spawn(net::detail::ask_system(question_of()));
    while (system.questions() < 1 || rt.stats().blocking_queued < 2) co_await yield();
    asking.cancel();
    const auto end = co_await asking.result();
    EXPECT_TRUE(end.is_cancelled());
    system.open_the_gate();
    auto last = spawn_blocking([] {});
    co_await last;
  });
  EXPECT_EQ(system.questions(), 1);
}

TEST(system_answers, do_without_a_call_that_the_pool_refuses) {
  resolver system({.said = 0, .addresses = {"10.0.0.5"}, .waits = true}, four, six);
  runtime_options how = with_one_blocking_thread();
  how.blocking.queue_limit = 1;
  runtime rt(how);
  rt.block_on([&]() -> task<> {
    auto asking = spawn(net::detail::ask_system(question_of()));
    while (system.questions() < 1) co_await yield();
    for (int i = 0; i < 10; ++i) co_await yield();
    EXPECT_FALSE(asking.is_done());
    system.open_the_gate();
    const addresses got = co_await asking;
    EXPECT_TRUE(got.has_value()) << got.error().message();
  });
}

}  // namespace
}  // namespace rota::test::system_answers_test
