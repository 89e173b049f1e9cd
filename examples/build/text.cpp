#include "build/text.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace build {
namespace {

bool is_plain_in_a_shell(char c) noexcept {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return is_letter || std::string_view("_+-./=,@%").contains(c);
}

}  // namespace

std::string expand(const text& t, const bindings& variables) {
  std::string out;
  for (const piece& each : t) {
    if (!each.is_variable) {
      out += each.text;
    } else if (const auto found = variables.find(each.text); found != variables.end()) {
      out += found->second;
    }
  }
  return out;
}

std::string rule_scope::value_of(std::string_view name, unsigned depth) const {
  if (const auto found = own_.find(name); found != own_.end()) return found->second;
  if (const auto found = of_statement_.find(name); found != of_statement_.end()) return found->second;
  if (const auto found = of_rule_.find(name); found != of_rule_.end()) {
    if (depth > of_rule_.size()) throw std::runtime_error("'" + found->first + "' refers to itself");
    std::string out;
    for (const piece& each : found->second)
      out += each.is_variable ? value_of(each.text, depth + 1) : each.text;
    return out;
  }
  const auto found = of_file_.find(name);
  return found == of_file_.end() ? std::string() : found->second;
}

std::string shell_word(std::string_view path) {
  if (!path.empty() && std::all_of(path.begin(), path.end(), is_plain_in_a_shell)) return std::string(path);
  std::string out = "'";
  for (const char c : path) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string shell_words(const std::string* paths, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += (i == 0 ? "" : " ") + shell_word(paths[i]);
  return out;
}

std::string tidy_path(std::string_view path) {
  std::string out = std::filesystem::path(path).lexically_normal().string();
  if (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

}  // namespace build
