#include "http_get/options.hpp"

#include <CLI/CLI.hpp>

namespace http_get {

namespace {

constexpr unsigned most_redirects = 50;
constexpr int longest_seconds = 86'400;

void describe(CLI::App& app, options& o, std::string& from, int& timeout, int& idle, std::string& progress) {
  app.add_option("URL", from, "http://... or https://...")->required()->type_name("");
  app.add_option("-o,--output", o.output, "where it goes; -: the standard output; else as the URL ends")
      ->type_name("FILE");
  app.add_flag_callback(
      "-c,--resume", [&o] { o.beginning = starts::where_it_ended; }, "go on where FILE ends");
  app.add_option("--max-redirects", o.redirects, "so many are followed")
      ->check(CLI::Range(0U, most_redirects))
      ->capture_default_str();
  app.add_option("--timeout", timeout, "seconds for a connection and the head of an answer")
      ->check(CLI::Range(1, longest_seconds))
      ->capture_default_str();
  app.add_option("--idle-timeout", idle, "seconds between two parts of a body")
      ->check(CLI::Range(1, longest_seconds))
      ->capture_default_str();
  app.add_option("--ca-file", o.ca_file, "whom to trust, and nobody else")->type_name("FILE");
  app.add_flag("--insecure", o.is_insecure, "trust everybody: for tests");
  app.add_flag("--tls-1.2", o.takes_tls_1_2, "take TLS 1.2, too");
  app.add_option("--progress", progress, "a line that says how far it is")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

shows_progress progress_of(const std::string& text) {
  if (text == "always") return shows_progress::always;
  return text == "never" ? shows_progress::never : shows_progress::on_a_terminal;
}

early_end misuse(const std::string& what) { return {2, "http_get: " + what + "\nTry http_get --help\n"}; }

}  // namespace

std::expected<options, early_end> parse_options(int argc, const char* const* argv) {
  options o;
  std::string from;
  std::string progress = "auto";
  int timeout = 30;
  int idle = 30;
  CLI::App app("Fetches a file by HTTP or HTTPS.", "http_get");
  describe(app, o, from, timeout, idle, progress);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return std::unexpected(early_end{0, app.help()});
  } catch (const CLI::ParseError& e) {
    return std::unexpected(misuse(e.what()));
  }
  const auto url = parse_url(from);
  if (!url.has_value()) return std::unexpected(misuse("not a URL that can be fetched: " + from));
  o.from = *url;
  o.timeout = std::chrono::seconds(timeout);
  o.idle = std::chrono::seconds(idle);
  o.progress = progress_of(progress);
  if (o.output.empty()) o.output = file_name_of(o.from);
  if (o.output == "-" && o.beginning == starts::where_it_ended)
    return std::unexpected(misuse("the standard output cannot be resumed"));
  return o;
}

}  // namespace http_get
