#include "tree_hash/options.hpp"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "tree_hash/lines.hpp"

namespace tree_hash {
namespace {

struct range {
  unsigned least;
  unsigned most;
};

void add_number(
    CLI::App& app, const std::string& name, unsigned& to, range allowed, const std::string& help) {
  const std::string bounds = std::to_string(allowed.least) + ".." + std::to_string(allowed.most);
  const auto take = [&to, allowed, bounds, name](const CLI::results_t& given) {
    const std::string& text = given.back();
    unsigned value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = failed == std::errc() && end == text.data() + text.size();
    if (!is_number || value < allowed.least || value > allowed.most) {
      throw CLI::ValidationError(name, "'" + text + "' is not a number in " + bounds);
    }
    to = value;
    return true;
  };
  app.add_option(name, take, help + " (" + bounds + ")")->type_name("N")->default_str(std::to_string(to));
}

/// The first choice is the default.
template <class Choice>
void add_choice(CLI::App& app,
                const std::string& name,
                Choice& to,
                std::initializer_list<std::pair<std::string, Choice>> choices,
                const std::string& help) {
  std::string words;
  for (const auto& [word, value] : choices) words += (words.empty() ? "" : "|") + word;
  const std::vector<std::pair<std::string, Choice>> known(choices);
  const auto take = [&to, known, words, name](const CLI::results_t& given) {
    for (const auto& [word, value] : known) {
      if (word != given.back()) continue;
      to = value;
      return true;
    }
    throw CLI::ValidationError(name, "'" + given.back() + "' is not one of " + words);
  };
  app.add_option(name, take, help)->type_name(words)->default_str(known.front().first);
}

std::string check_directory(const std::string& name) {
  struct stat about{};
  const bool good = ::stat(name.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
  return good ? "" : "'" + name + "' is not a directory";
}

void describe(CLI::App& app, options& o) {
  app.add_option("DIR", o.directory, "the directory whose files are hashed")
      ->check(check_directory)
      ->type_name("");
  add_number(app, "--workers", o.workers, {0, 4'096}, "worker threads; 0: one per processor");
  add_number(app,
             "--threads",
             o.threads,
             {0, most_threads},
             "files that are read at a time; 0: as many as there are workers");
  add_choice<directories>(
      app,
      "--directories",
      o.shown,
      {{"root", directories::root}, {"all", directories::all}, {"none", directories::none}},
      "whose digests are printed, as comments");
  add_choice<bar>(app,
                  "--progress",
                  o.progress,
                  {{"auto", bar::if_terminal}, {"always", bar::always}, {"never", bar::never}},
                  "on the standard error; auto: if that is a terminal");
}

}  // namespace

std::expected<options, early_end> parse_options(int argc, const char* const* argv) {
  options o;
  CLI::App app("SHA-256 of every file below a directory, as sha256sum prints it.", "tree_hash");
  describe(app, o);
  try {
    app.parse(argc, argv);
    if (o.directory.empty()) throw CLI::RequiredError("DIR");
  } catch (const CLI::CallForHelp&) {
    return std::unexpected(early_end{0, app.help()});
  } catch (const CLI::ParseError& e) {
    return std::unexpected(early_end{2, "tree_hash: " + printable(e.what()) + "\nTry tree_hash --help\n"});
  }
  return o;
}

}  // namespace tree_hash
