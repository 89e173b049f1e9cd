#include "net/name_sources.hpp"

#include "net/host_name.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

namespace rota::net::detail {

namespace {

constexpr std::string_view blank = " \t\r";

/// Removes the text before the next `end`, and `end` itself, and returns the text.
std::string_view take_until(std::string_view& text, char end) noexcept {
  const std::size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

/// Removes and returns the next word, or returns an empty view if there is none.
std::string_view take_word(std::string_view& text) noexcept {
  const std::size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find_first_of(blank));
  text.remove_prefix(word.size());
  return word;
}

std::string text_of_file(const char* path, bool& is_there) {
  std::ifstream file(path);
  is_there = static_cast<bool>(file);
  if (!is_there) return {};
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Sets `into` to the number behind `name`, limited to `most`. Ignores any other text.
void read_option(std::string_view word, std::string_view name, int most, std::optional<int>& into) noexcept {
  if (!word.starts_with(name)) return;
  word.remove_prefix(name.size());
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc() && end == word.data() + word.size() && value > 0) into = std::min(value, most);
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
  bool is_there = false;
  const std::string text = text_of_file("/etc/nsswitch.conf", is_there);
  // Without the file the system asks files and name servers.
  if (!is_there) return true;
  return only_files_and_name_servers(text);
}

resolver_settings read_settings(std::string_view resolv_conf) noexcept {
  constexpr int most_seconds = 30;
  constexpr int most_attempts = 5;
  resolver_settings made;
  while (!resolv_conf.empty()) {
    std::string_view line = take_until(resolv_conf, '\n');
    if (take_word(line) != "options") continue;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      read_option(word, "timeout:", most_seconds, made.timeout);
      read_option(word, "attempts:", most_attempts, made.attempts);
      if (word == "rotate") made.rotates = true;
    }
  }
  return made;
}

resolver_settings settings_of_system() {
  bool is_there = false;
  return read_settings(text_of_file("/etc/resolv.conf", is_there));
}

std::vector<std::string> search_names(const std::string& host,
                                      const std::vector<std::string>& domains,
                                      int ndots) {
  if (host.ends_with('.')) return {host};
  const bool is_first = std::ranges::count(host, '.') >= ndots;
  std::vector<std::string> all;
  if (is_first) all.push_back(host + ".");
  for (const std::string& domain : domains) {
    std::string name = host + "." + domain;
    if (!name.ends_with('.')) name += ".";
    // A name that is too long is skipped.
    if (is_well_formed(name)) all.push_back(std::move(name));
  }
  if (!is_first) all.push_back(host + ".");
  return all;
}

}  // namespace rota::net::detail
