#include "chat/command.hpp"

#include <gtest/gtest.h>

namespace chat::command_test {
namespace {

TEST(parse, what_has_no_slash_is_said) {
  EXPECT_EQ(parse("hello you"), (command{verb::say, "hello you"}));
  EXPECT_EQ(parse("  a / b "), (command{verb::say, "a / b"}));
}

TEST(parse, two_slashes_give_a_message_with_one_slash) {
  EXPECT_EQ(parse("//quit"), (command{verb::say, "/quit"}));
  EXPECT_EQ(parse("//"), (command{verb::say, "/"}));
}

TEST(parse, empty_text_gives_no_command) {
  EXPECT_EQ(parse(""), command{});
  EXPECT_EQ(parse("   "), command{});
}

TEST(parse, reads_commands_with_and_without_an_argument) {
  EXPECT_EQ(parse("/nick ann"), (command{verb::nick, "ann"}));
  EXPECT_EQ(parse("/nick"), (command{verb::nick, ""}));
  EXPECT_EQ(parse("/join   a b  "), (command{verb::join, "a b"}));
  EXPECT_EQ(parse("/leave").what, verb::leave);
  EXPECT_EQ(parse("/who").what, verb::who);
  EXPECT_EQ(parse("/quit").what, verb::quit);
  EXPECT_EQ(parse(" /help ").what, verb::help);
}

TEST(parse, other_words_are_unknown) {
  EXPECT_EQ(parse("/nicks ann"), (command{verb::unknown, "/nicks"}));
  EXPECT_EQ(parse("/"), (command{verb::unknown, "/"}));
  EXPECT_EQ(parse("/ join x"), (command{verb::unknown, "/"}));
  EXPECT_EQ(parse("/NICK x"), (command{verb::unknown, "/NICK"}));
}

}  // namespace
}  // namespace chat::command_test
