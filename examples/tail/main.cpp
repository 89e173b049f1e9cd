// Prints the last lines of a file, and what is written to it from then on, until Ctrl-C: tail [-n LINES]
// FILE.
#include "follower.hpp"

#include <rota/rota.hpp>
#include <rota/unix_signal.hpp>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

struct options {
  std::size_t lines = 10;
  std::string path;
};

std::optional<options> parse(int count, char** words) {
  options made;
  int next = 1;
  if (next + 1 < count && std::string_view(words[next]) == "-n") {
    const std::string_view number = words[next + 1];
    const auto end = number.data() + number.size();
    const auto read = std::from_chars(number.data(), end, made.lines);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    next += 2;
  }
  if (next + 1 != count || std::string_view(words[next]).starts_with('-')) return std::nullopt;
  made.path = words[next];
  return made;
}

rota::task<int> follow(options how) {
  auto signals = rota::unix_signal::open({SIGINT, SIGTERM});
  if (!signals.has_value()) co_return 1;
  tail::follower of(how.path, how.lines);
  auto both = co_await rota::when_any(of.run(), signals->next());
  if (both.index() == 1) co_return 0;
  const rota::fs::result<void> end = std::move(both).get<0>();
  std::fprintf(stderr, "tail: %s: %s\n", how.path.c_str(), end.error().message().c_str());
  co_return 1;
}

}  // namespace

int main(int count, char** words) {
  std::optional<options> how = parse(count, words);
  if (!how.has_value()) {
    std::fprintf(stderr, "usage: tail [-n LINES] FILE\n");
    return 2;
  }
  return rota::run(follow(std::move(*how)));
}
