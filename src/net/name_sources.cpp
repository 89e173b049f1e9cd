#include "net/name_sources.hpp"

#include <fstream>
#include <iterator>
#include <string>

namespace rota::net::detail {

namespace {

constexpr std::string_view blank = " \t\r";

/// Takes what stands before the next `end` off.
std::string_view take_until(std::string_view& text, char end) noexcept {
  const std::size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

/// The next word; empty: there is none.
std::string_view take_word(std::string_view& text) noexcept {
  const std::size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find_first_of(blank));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

bool only_files_and_name_servers(std::string_view nsswitch) noexcept {
  while (!nsswitch.empty()) {
    std::string_view line = take_until(nsswitch, '\n');
    line = take_until(line, '#');
    std::string_view name = take_until(line, ':');
    if (take_word(name) != "hosts" || !take_word(name).empty()) continue;
    for (std::string_view source = take_word(line); !source.empty(); source = take_word(line)) {
      if (source != "files" && source != "dns") return false;
    }
    return true;
  }
  return true;
}

bool system_has_only_files_and_name_servers() {
  std::ifstream file("/etc/nsswitch.conf");
  // Without one the system asks files and name servers.
  if (!file) return true;
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return only_files_and_name_servers(text);
}

}  // namespace rota::net::detail
