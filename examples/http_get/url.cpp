#include "http_get/url.hpp"

#include <algorithm>
#include <charconv>

namespace http_get {

namespace {

std::uint16_t usual_port(scheme how) { return how == scheme::https ? 443 : 80; }

/// Returns true if no byte of the text could end a line or a part of a request.
bool is_clean(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

/// Removes "http://" or "https://" from the front.
std::optional<scheme> take_scheme(std::string_view& text) {
  const auto is = [&text](std::string_view what) {
    if (text.size() < what.size()) return false;
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
    if (!std::ranges::equal(text.substr(0, what.size()), what, same)) return false;
    text.remove_prefix(what.size());
    return true;
  };
  if (is("http://")) return scheme::http;
  if (is("https://")) return scheme::https;
  return std::nullopt;
}

bool set_port(url& of, std::string_view text) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), of.port);
  return failed == std::errc() && end == text.data() + text.size() && of.port != 0;
}

/// Parses "host", "host:port" or "[address]:port".
bool set_authority(url& of, std::string_view text) {
  of.port = usual_port(of.how);
  if (text.find('@') != std::string_view::npos) return false;
  std::size_t end = text.find(':');
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return false;
    of.host = text.substr(1, bracket - 1);
    end = bracket + 1 == text.size() ? std::string_view::npos : bracket + 1;
    if (end != std::string_view::npos && text[end] != ':') return false;
  } else {
    of.host = text.substr(0, end);
  }
  return !of.host.empty() && (end == std::string_view::npos || set_port(of, text.substr(end + 1)));
}

}  // namespace

std::optional<url> parse_url(std::string_view text) {
  if (!is_clean(text)) return std::nullopt;
  url made;
  const auto how = take_scheme(text);
  if (!how.has_value()) return std::nullopt;
  made.how = *how;
  text = text.substr(0, text.find('#'));
  const std::size_t end = text.find_first_of("/?");
  if (!set_authority(made, text.substr(0, end))) return std::nullopt;
  made.target = end == std::string_view::npos ? "" : std::string(text.substr(end));
  if (!made.target.starts_with('/')) made.target.insert(0, "/");
  return made;
}

std::optional<url> follow(const url& from, std::string_view location) {
  location = location.substr(0, location.find('#'));
  if (location.find("://") < location.find_first_of("/?")) return parse_url(location);
  if (location.starts_with("//"))
    return parse_url((from.how == scheme::https ? "https:" : "http:") + std::string(location));
  if (!is_clean(location)) return std::nullopt;
  url to = from;
  if (location.starts_with('/')) {
    to.target = location;
    return to;
  }
  const std::string path = from.target.substr(0, from.target.find('?'));
  const bool is_query = location.empty() || location.starts_with('?');
  to.target = (is_query ? path : path.substr(0, path.rfind('/') + 1)) + std::string(location);
  return to;
}

std::string host_field(const url& of) {
  const bool is_v6 = of.host.find(':') != std::string::npos;
  std::string text = is_v6 ? "[" + of.host + "]" : of.host;
  if (of.port != usual_port(of.how)) text += ":" + std::to_string(of.port);
  return text;
}

std::string to_text(const url& of) {
  return (of.how == scheme::https ? "https://" : "http://") + host_field(of) + of.target;
}

std::string file_name_of(const url& of) {
  const std::string path = of.target.substr(0, of.target.find('?'));
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "-") return "./-";
  return name.empty() || name == "." || name == ".." ? "index.html" : name;
}

}  // namespace http_get
