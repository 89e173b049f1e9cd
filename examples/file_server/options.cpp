#include "file_server/options.hpp"

#include <arpa/inet.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <functional>
#include <optional>

namespace file_server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_time{3'600'000};
constexpr range log_size_range{0, std::size_t{1} << 40U};
constexpr range log_keep_range{1, 1'000};

std::optional<std::uint64_t> number_at(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// Parses "250ms", "5s", "2m", or a plain number of seconds. Returns nullopt if it is none of these or too
/// large.
std::optional<milliseconds> duration_of(std::string_view text) {
  const auto number = number_at(text);
  if (!number || *number > 1'000'000'000) return std::nullopt;
  const auto count = static_cast<milliseconds::rep>(*number);
  if (text == "ms") return milliseconds(count);
  if (text.empty() || text == "s") return milliseconds(1'000 * count);
  if (text == "m") return milliseconds(60'000 * count);
  return std::nullopt;
}

std::string as_text(milliseconds d) {
  const auto ms = d.count();
  return ms % 1'000 == 0 ? std::to_string(ms / 1'000) + "s" : std::to_string(ms) + "ms";
}

template <class Number>
void add_number(CLI::App& app, const std::string& name, Number& to, range allowed, const std::string& help) {
  const std::string bounds = std::to_string(allowed.least) + ".." + std::to_string(allowed.most);
  const auto take = [&to, allowed, bounds, name](const CLI::results_t& given) {
    std::string_view text = given.back();
    const auto value = number_at(text);
    if (!value || !text.empty() || *value < allowed.least || *value > allowed.most) {
      throw CLI::ValidationError(name, "'" + given.back() + "' is not a number in " + bounds);
    }
    to = static_cast<Number>(*value);
    return true;
  };
  app.add_option(name, take, help + " (" + bounds + ")")->type_name("N")->default_str(std::to_string(to));
}

void add_duration(
    CLI::App& app, const std::string& name, milliseconds& to, milliseconds least, const std::string& help) {
  const std::string bounds = as_text(least) + ".." + as_text(longest_time);
  const auto take = [&to, least, bounds, name](const CLI::results_t& given) {
    const auto value = duration_of(given.back());
    if (!value || *value < least || *value > longest_time) {
      throw CLI::ValidationError(
          name, "'" + given.back() + "' is not a time in " + bounds + ", written as 250ms, 5s or 2m");
    }
    to = *value;
    return true;
  };
  app.add_option(name, take, help + " (" + bounds + ")")->type_name("TIME")->default_str(as_text(to));
}

/// Adds the flags --name and --no-name.
void add_feature(CLI::App& app, const std::string& name, feature& to, const std::string& help) {
  const std::string is = to == feature::on ? "on" : "off";
  const std::function<void(std::int64_t)> take = [&to](std::int64_t times) {
    to = times > 0 ? feature::on : feature::off;
  };
  const std::string negated = "--no-" + name.substr(2);
  app.add_flag(name + ",!" + negated, take, help + "; " + is + " unless it is said")->disable_flag_override();
}

std::string check_directory(const std::string& name) {
  struct stat about{};
  const bool good = ::stat(name.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
  return good ? "" : "'" + name + "' is not a directory";
}

std::string check_address(const std::string& text) {
  in6_addr room{};
  const bool good =
      ::inet_pton(AF_INET, text.c_str(), &room) == 1 || ::inet_pton(AF_INET6, text.c_str(), &room) == 1;
  return good ? "" : "'" + text + "' is not an IPv4 or IPv6 address";
}

void describe_tls(CLI::App& app, options& o) {
  const auto is_a_name = [](const std::string& text) -> std::string {
    return text.empty() ? "a file name is missing" : "";
  };
  CLI::Option* const certificate =
      app.add_option("--certificate", o.certificate, "HTTPS with it: PEM, then those that lead to its root");
  CLI::Option* const key = app.add_option("--key", o.key, "that of the certificate: PEM, not encrypted");
  certificate->check(is_a_name)->type_name("FILE")->needs(key);
  key->check(is_a_name)->type_name("FILE")->needs(certificate);
  add_duration(app,
               "--handshake-timeout",
               o.handshake_timeout,
               milliseconds(10),
               "for a whole TLS handshake; then close");
}

void describe_log(CLI::App& app, options& o) {
  const auto is_a_name = [](const std::string& text) -> std::string {
    return text.empty() ? "a file name, or - for the standard output, is missing" : "";
  };
  app.add_option("--access-log", o.access_log, "a line for each request; -: the standard output")
      ->check(is_a_name)
      ->type_name("FILE");
  add_number(app,
             "--access-log-size",
             o.log_rotation.size,
             log_size_range,
             "bytes; then FILE becomes FILE.1; 0: never");
  add_number(
      app, "--access-log-keep", o.log_rotation.keep, log_keep_range, "old files, FILE.1 being the newest");
}

void describe(CLI::App& app, options& o) {
  CLI::Option* const dir = app.add_option("DIR", o.directory, "the directory whose files are served");
  CLI::Option* const root = app.add_option("--root", o.directory, "another way to name it");
  dir->check(check_directory)->type_name("");
  root->check(check_directory)->type_name("DIR")->excludes(dir);
  app.add_option("--bind", o.address, "the address to listen on")
      ->check(check_address)
      ->type_name("ADDRESS")
      ->capture_default_str();
  add_number(app, "--port", o.port, {0, 65'535}, "the port to listen on; 0: any that is free");
  add_number(app, "--workers", o.workers, {0, 4'096}, "worker threads; 0: one per processor");
  add_number(
      app, "--max-connections", o.max_connections, {1, 1'000'000}, "connections at a time; more get 503");
  add_duration(
      app, "--header-timeout", o.header_timeout, milliseconds(10), "for a whole request head; then 408");
  add_duration(app, "--idle-timeout", o.idle_timeout, milliseconds(10), "between two requests; then close");
  add_duration(
      app, "--drain-timeout", o.drain_timeout, milliseconds(0), "after SIGINT or SIGTERM, to finish answers");
  add_feature(app, "--listing", o.listings, "show what is in a directory without index.html");
  add_feature(app, "--precompressed", o.precompressed, "send FILE.br or FILE.gz to those who take it");
  describe_tls(app, o);
  describe_log(app, o);
  add_number(app, "--max-request-line", o.parser.request_line, request_line_range, "bytes; more get 414");
  add_number(app, "--max-header-bytes", o.parser.header_bytes, header_bytes_range, "bytes; more get 431");
  add_number(app, "--max-header-fields", o.parser.header_fields, header_fields_range, "fields; more get 431");
}

}  // namespace

std::expected<options, early_end> parse_options(int argc, const char* const* argv) {
  options o;
  CLI::App app("Serves the files below a directory over HTTP/1.1, or HTTPS.", "file_server");
  describe(app, o);
  try {
    app.parse(argc, argv);
    if (o.directory.empty()) throw CLI::RequiredError("DIR");
  } catch (const CLI::CallForHelp&) {
    return std::unexpected(early_end{0, app.help()});
  } catch (const CLI::ParseError& e) {
    return std::unexpected(
        early_end{2, "file_server: " + std::string(e.what()) + "\nTry file_server --help\n"});
  }
  return o;
}

}  // namespace file_server
