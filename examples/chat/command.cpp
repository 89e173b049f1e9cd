#include "chat/command.hpp"

#include <array>
#include <utility>

#include "chat/text.hpp"

namespace chat {
namespace {

constexpr std::array<std::pair<std::string_view, verb>, 6> words{{
    {"/nick", verb::nick},
    {"/join", verb::join},
    {"/leave", verb::leave},
    {"/who", verb::who},
    {"/quit", verb::quit},
    {"/help", verb::help},
}};

}  // namespace

command parse(std::string_view line) noexcept {
  line = trimmed(line);
  if (line.empty()) return {};
  if (line.starts_with("//")) return {verb::say, line.substr(1)};
  if (!line.starts_with('/')) return {verb::say, line};
  const std::string_view word = line.substr(0, line.find(' '));
  for (const auto& [name, what] : words) {
    if (word == name) return {what, trimmed(line.substr(word.size()))};
  }
  return {verb::unknown, word};
}

}  // namespace chat
