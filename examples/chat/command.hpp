// Parses a line into the command that it asks for.
#pragma once

#include <string_view>

namespace chat {

enum class verb : unsigned char { nothing, say, nick, join, leave, who, quit, help, unknown };

struct command {
  verb what = verb::nothing;
  std::string_view argument;  // of say: the text; of unknown: the word
  friend bool operator==(const command&, const command&) = default;
};

/// Parses "/word argument", or text to say. A text that begins with a slash is written with two: "//" stands
/// for one.
[[nodiscard]] command parse(std::string_view line) noexcept;

inline constexpr std::string_view usage =
    "/nick NAME, /join ROOM, /leave, /who, /quit, /help; anything else is said in your room";

}  // namespace chat
