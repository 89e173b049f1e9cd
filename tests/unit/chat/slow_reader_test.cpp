// Clients that do not read. The shutdown does not wait for them for ever.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <thread>

#include "unit/chat/server_fixture.hpp"

namespace chat::testing::slow_reader_test {
namespace {

/// A small buffer: the kernel stores little for a client that does not read.
constexpr int small = 8 * 1024;

/// The client writes lines and reads each one, so it never blocks the room. Returns at this beginning.
void talk_until(client& who, const std::string& nick, std::string_view beginning) {
  const std::string long_line(400, 'x');
  for (;;) {
    ASSERT_TRUE(who.say(long_line));
    std::string line = who.line();
    if (line.starts_with(beginning)) return;
    ASSERT_EQ(line, nick + ": " + long_line);
  }
}

struct account {
  int lines = 0;
  int dropped = 0;
};

/// Reads the lines "ann: I xxx" up to the number `last`.
account read_up_to(client& who, int last) {
  account all;
  for (int number = -1; number != last;) {
    const std::string line = who.line();
    int dropped = 0;
    if (std::sscanf(line.c_str(), "-- %d line", &dropped) == 1) {
      all.dropped += dropped;
      continue;
    }
    const int before = number;
    if (std::sscanf(line.c_str(), "ann: %d ", &number) != 1) {
      ADD_FAILURE() << line;
      return all;
    }
    EXPECT_LT(before, number);
    ++all.lines;
  }
  return all;
}

TEST_F(a_chat, slow_reader_is_told_how_many_lines_were_dropped) {
  constexpr int count = 1500;
  constexpr std::size_t kept = 8;
  start({.outbox = kept, .slow = slow_policy::drop, .send_buffer = small});
  client ann(port_);
  client zed(port_, small);
  ann.enter("ann", "den");
  zed.enter("zed", "den");
  EXPECT_EQ(ann.line(), "-- zed joined den");
  const std::string rest = " " + std::string(400, 'x');
  for (int i = 0; i < count; ++i) {
    ASSERT_TRUE(ann.say(std::to_string(i) + rest));
    EXPECT_EQ(ann.line(), "ann: " + std::to_string(i) + rest);
    // Two outboxes, one line on its way into each, and two requests of the clients. The figure may count
    // lines that have just been served, but not for ever.
    while (server_->waiting() > 2 * (kept + 1) + 2) std::this_thread::yield();
  }
  account all = read_up_to(zed, count - 1);
  // The room has delivered or counted all lines before this one.
  ASSERT_TRUE(ann.say(std::to_string(count) + " last"));
  const account last = read_up_to(zed, count);
  EXPECT_GT(all.dropped, 0);
  EXPECT_EQ(all.lines + all.dropped + last.lines + last.dropped, count + 1) << "every line, or word of it";
  EXPECT_TRUE(zed.say("/quit"));
  zed.skip_until(the_end);
}

TEST_F(a_chat, slow_reader_is_disconnected_if_that_is_the_policy) {
  start({.outbox = 16, .slow = slow_policy::disconnect, .send_buffer = small});
  client ann(port_);
  client zed(port_, small);
  ann.enter("ann", "den");
  zed.enter("zed", "den");
  EXPECT_EQ(ann.line(), "-- zed joined den");
  talk_until(ann, "ann", "-- zed was disconnected: too slow");
  const std::string end = zed.lines_until("<").back();
  EXPECT_TRUE(end == the_end || end == a_reset) << end;
}

TEST_F(a_chat, slow_reader_is_disconnected_after_the_write_timeout) {
  start({.outbox = 16, .send_buffer = small, .write_timeout = std::chrono::milliseconds(20)});
  client ann(port_);
  client zed(port_, small);
  ann.enter("ann", "den");
  zed.enter("zed", "den");
  EXPECT_EQ(ann.line(), "-- zed joined den");
  talk_until(ann, "ann", "-- zed was disconnected: it does not read");
  const std::string end = zed.lines_until("<").back();
  EXPECT_TRUE(end == the_end || end == a_reset) << end;
}

TEST_F(a_chat, client_that_writes_and_does_not_read_blocks_no_other) {
  start({.outbox = 16, .slow = slow_policy::disconnect, .send_buffer = small});
  client ann(port_);
  client zed(port_, small);
  ann.enter("ann", "den");
  zed.enter("zed", "other");
  while (zed.send("/who\n/who\n/who\n/who\n")) continue;
  EXPECT_TRUE(ann.say("hello"));
  EXPECT_EQ(ann.line(), "ann: hello");
}

TEST_F(a_chat, signal_ends_the_server_and_notifies_all_clients) {
  start();
  client ann(port_);
  client bob(port_);
  client eve(port_);
  ann.enter("ann", "den");
  bob.enter("bob", "den");
  eve.skip_until("-- you are");
  stop();
  ann.skip_until("-- bob joined den");
  for (client* const each : {&ann, &bob, &eve}) {
    EXPECT_EQ(each->line(), "-- the server is going down");
    EXPECT_EQ(each->line(), the_end);
  }
  EXPECT_FALSE(client(port_).is_connected());
  EXPECT_EQ(rooms(), 0U);
}

TEST_F(a_chat, messages_from_before_the_signal_are_delivered) {
  constexpr int count = 100;
  start({.outbox = 1000});
  client ann(port_);
  client bob(port_);
  ann.enter("ann", "den");
  bob.enter("bob", "den");
  ann.skip_until("-- bob joined den");
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(ann.say(std::to_string(i)));
    EXPECT_EQ(ann.line(), "ann: " + std::to_string(i));
  }
  // The room delivers a line to all clients before it handles the next line.
  EXPECT_TRUE(ann.say("/who"));
  EXPECT_EQ(ann.line(), "-- in den: ann, bob");
  stop();
  for (int i = 0; i < count; ++i) EXPECT_EQ(bob.line(), "ann: " + std::to_string(i));
  EXPECT_EQ(bob.line(), "-- the server is going down");
  EXPECT_EQ(bob.line(), the_end);
}

TEST_F(a_chat, server_ends_although_a_client_does_not_read) {
  start({.outbox = 16, .send_buffer = small, .flush_timeout = std::chrono::seconds(1)});
  client ann(port_);
  client zed(port_, small);
  ann.enter("ann", "den");
  zed.enter("zed", "den");
  EXPECT_EQ(ann.line(), "-- zed joined den");
  const std::string rest(400, 'x');
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(ann.say(rest));
    EXPECT_EQ(ann.line(), "ann: " + rest);
  }
  stop();
  EXPECT_EQ(ann.line(), "-- the server is going down");
  EXPECT_EQ(ann.line(), the_end);
  EXPECT_EQ(server_->sums().clients, 2U);
  EXPECT_GT(server_->sums().dropped, 0U);
}

}  // namespace
}  // namespace chat::testing::slow_reader_test
