// What clients of the chat see of each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/chat/server_fixture.hpp"

namespace chat::testing::server_test {
namespace {

TEST_F(a_chat, two_clients_in_a_room_see_the_same_lines_in_the_same_order) {
  constexpr int count = 200;
  start({.outbox = 1000});
  client ann(port_);
  client bob(port_);
  ann.enter("ann", "den");
  bob.enter("bob", "den");
  EXPECT_EQ(ann.line(), "-- bob joined den");
  std::string by_ann;
  std::string by_bob;
  for (int i = 0; i < count; ++i) {
    by_ann += std::to_string(i) + "\n";
    by_bob += std::to_string(i) + "\r\n";
  }
  EXPECT_TRUE(ann.send(by_ann));
  EXPECT_TRUE(bob.send(by_bob));
  std::vector<std::string> seen;
  for (int i = 0; i < 2 * count; ++i) seen.push_back(ann.line());
  for (const std::string& each : seen) EXPECT_EQ(bob.line(), each);
  for (const std::string nick : {"ann: ", "bob: "}) {
    int next = 0;
    for (const std::string& each : seen) {
      if (!each.starts_with(nick)) continue;
      EXPECT_EQ(each, nick + std::to_string(next++));
    }
    EXPECT_EQ(next, count);
  }
}

TEST_F(a_chat, messages_stay_in_their_room) {
  start();
  client ann(port_);
  client bob(port_);
  ann.enter("ann", "here");
  bob.enter("bob", "there");
  EXPECT_TRUE(ann.say("one"));
  EXPECT_EQ(ann.line(), "ann: one");
  EXPECT_TRUE(bob.say("two"));
  EXPECT_EQ(bob.line(), "bob: two");
  EXPECT_TRUE(ann.say("three"));
  EXPECT_EQ(ann.line(), "ann: three");
  EXPECT_TRUE(bob.say("/who"));
  EXPECT_EQ(bob.line(), "-- in there: bob");
}

TEST_F(a_chat, client_moves_from_room_to_room) {
  start();
  client ann(port_);
  client bob(port_);
  ann.enter("ann", "here");
  EXPECT_TRUE(bob.say("/nick bob\n/join HERE"));
  bob.skip_until("-- in here: ann, bob");
  EXPECT_EQ(ann.line(), "-- bob joined here");
  EXPECT_TRUE(bob.say("/join there"));
  EXPECT_EQ(ann.line(), "-- bob left");
  EXPECT_EQ(bob.line(), "-- you left here");
  EXPECT_EQ(bob.line(), "-- bob joined there");
  EXPECT_EQ(bob.line(), "-- in there: bob");
  EXPECT_EQ(rooms(), 2U);
  EXPECT_TRUE(bob.say("/leave\nhello"));
  EXPECT_EQ(bob.line(), "-- you left there");
  EXPECT_EQ(bob.line(), "!! you are in no room: /join ROOM");
  EXPECT_EQ(rooms(), 1U);
}

TEST_F(a_chat, an_empty_room_makes_room_for_another) {
  start({.max_rooms = 1});
  client ann(port_);
  client bob(port_);
  ann.enter("ann", "here");
  EXPECT_TRUE(bob.say("/join there"));
  bob.skip_until("!! /join ROOM: there are too many rooms");
  EXPECT_TRUE(ann.say("/leave\n/help"));
  ann.skip_until("-- /nick");
  EXPECT_EQ(rooms(), 0U);
  bob.enter("bob", "there");
  EXPECT_EQ(rooms(), 1U);
}

TEST_F(a_chat, nicknames_must_be_valid_and_unique) {
  start();
  client ann(port_);
  client bob(port_);
  ann.enter("ann", "den");
  EXPECT_TRUE(bob.say("/nick ANN\n/nick 1\n/nick\n/join a,b\n/nick bob\n/nick Bob"));
  bob.skip_until("!! /nick NAME: ANN is taken");
  EXPECT_EQ(bob.line(), "!! /nick NAME: a name begins with a letter, a to z");
  EXPECT_EQ(bob.line(), "!! /nick NAME: a name is missing");
  EXPECT_EQ(bob.line(), "!! /join ROOM: a name has letters, digits, - and _ only");
  EXPECT_EQ(bob.line(), "-- you are bob");
  EXPECT_EQ(bob.line(), "-- you are Bob");
  EXPECT_TRUE(ann.say("/nick eve"));
  EXPECT_EQ(ann.line(), "-- ann is now eve");
  EXPECT_TRUE(bob.say("/nick ann"));
  EXPECT_EQ(bob.line(), "-- you are ann");
}

TEST_F(a_chat, a_name_is_free_when_its_owner_has_gone) {
  start();
  client bob(port_);
  {
    client ann(port_);
    ann.enter("ann", "den");
    EXPECT_TRUE(ann.say("/quit"));
    EXPECT_EQ(ann.line(), "-- you left den");
    EXPECT_EQ(ann.line(), the_end);
  }
  EXPECT_TRUE(bob.say("/nick ann"));
  bob.skip_until("-- you are ann");
  EXPECT_EQ(rooms(), 0U);
}

TEST_F(a_chat, control_characters_are_removed_from_messages) {
  start();
  client ann(port_);
  ann.enter("ann", "den");
  EXPECT_TRUE(ann.say("\x1b[31mr\u00e9d\x07\t\u20ac\xff\n\n \x01 \n//quit\n/bogus x"));
  EXPECT_EQ(ann.line(), "ann: [31mr\u00e9d \u20ac\uFFFD");
  EXPECT_EQ(ann.line(), "ann: /quit");
  EXPECT_TRUE(ann.line().starts_with("!! /bogus is none of /nick NAME,"));
}

TEST_F(a_chat, a_line_that_is_too_long_is_an_error_and_the_end) {
  start({.max_line = 64});
  client ann(port_);
  client bob(port_);
  ann.enter("ann", "den");
  bob.enter("bob", "den");
  EXPECT_EQ(ann.line(), "-- bob joined den");
  EXPECT_TRUE(bob.say(std::string(64, 'x')));
  EXPECT_EQ(bob.line(), "bob: " + std::string(64, 'x'));
  // The server closes before it has read all of this; the client must still get the last line.
  bob.send(std::string(100'000, 'y'));
  bob.finish();
  EXPECT_EQ(bob.line(), "!! a line has at most 64 bytes");
  EXPECT_EQ(bob.line(), the_end);
  ann.skip_until("-- bob was disconnected: too long a line");
}

TEST_F(a_chat, whole_lines_are_answered_after_the_client_stops_sending) {
  start();
  client ann(port_);
  EXPECT_TRUE(ann.send("/nick ann\n/join den\nhello\nnot a whole line"));
  ann.finish();
  ann.skip_until("-- in den: ann");
  EXPECT_EQ(ann.line(), "ann: hello");
  EXPECT_EQ(ann.line(), "-- you left den");
  EXPECT_EQ(ann.line(), the_end);
}

TEST_F(a_chat, client_above_the_limit_is_told_and_disconnected) {
  start({.max_clients = 1});
  client ann(port_);
  ann.enter("ann", "den");
  client bob(port_);
  EXPECT_EQ(bob.line(), "!! there are too many clients, try again later");
  EXPECT_EQ(bob.line(), the_end);
  EXPECT_TRUE(ann.say("/quit"));
  ann.skip_until(the_end);
  ann.reset();
  // Other clients cannot observe when the reset client is removed.
  for (std::string answer; !answer.starts_with("-- you are");) {
    client eve(port_);
    answer = eve.line();
  }
}

TEST_F(a_chat, client_with_a_broken_connection_leaves_its_room) {
  start();
  client ann(port_);
  ann.enter("ann", "den");
  for (int i = 0; i < 20; ++i) {
    const std::string bob = "bob" + std::to_string(i);
    client other(port_);
    other.enter(bob, "den");
    EXPECT_EQ(ann.line(), "-- " + bob + " joined den");
    other.reset();
    EXPECT_EQ(ann.line(), "-- " + bob + " lost the connection");
    EXPECT_TRUE(ann.say("/who"));
    EXPECT_EQ(ann.line(), "-- in den: ann");
  }
}

TEST_F(a_chat, two_hundred_clients_see_the_same_lines) {
  constexpr int count = 200;
  start({.outbox = 1000});
  std::vector<client> all;
  for (int i = 0; i < count; ++i) {
    all.emplace_back(port_);
    all.back().enter("c" + std::to_string(i), "den");
  }
  for (client& each : all) EXPECT_TRUE(each.say("hello"));
  std::vector<std::string> first;
  for (client& each : all) {
    std::vector<std::string> seen;
    while (seen.size() < count) {
      std::string line = each.line();
      ASSERT_NE(line, the_end);
      if (line.ends_with(": hello")) seen.push_back(std::move(line));
    }
    if (first.empty()) first = seen;
    EXPECT_EQ(seen, first);
  }
  std::ranges::sort(first);
  EXPECT_TRUE(std::ranges::adjacent_find(first) == first.end()) << "each once";
  stop();
  for (client& each : all) EXPECT_EQ(each.lines_until(the_end).back(), the_end);
  EXPECT_EQ(server_->sums().clients, static_cast<std::uint64_t>(count));
  EXPECT_EQ(server_->sums().said, static_cast<std::uint64_t>(count));
  EXPECT_EQ(server_->sums().dropped, 0U);
}

}  // namespace
}  // namespace chat::testing::server_test
