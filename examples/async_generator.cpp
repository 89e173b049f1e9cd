// Splits a text that arrives in pieces into words. The generator waits for the next piece and yields one word
// after the other.
#include <rota/async_generator.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/rota.hpp>

#include <cstdio>
#include <string>
#include <utility>

namespace {

rota::async_generator<std::string> words(rota::channel::receiver<std::string> pieces) {
  std::string word;
  for (;;) {
    const auto piece = co_await pieces.recv();
    if (!piece) break;  // all senders are gone
    for (const char c : *piece) {
      if (c != ' ') {
        word += c;
      } else if (!word.empty()) {
        co_yield std::exchange(word, std::string());
      }
    }
  }
  if (!word.empty()) co_yield std::move(word);
}

rota::task<void> arrive(rota::channel::sender<std::string> to) {
  const std::string text = "one word after the other, however the text is cut";
  for (std::size_t at = 0; at < text.size(); at += 7) {
    const auto how = co_await to.send(text.substr(at, 7));
    if (how != rota::channel::send_status::sent) co_return;
    co_await rota::yield();
  }
}

rota::task<int> count(rota::channel::sender<std::string> to, rota::channel::receiver<std::string> from) {
  auto arriving = rota::spawn(arrive(std::move(to)));
  auto all = words(std::move(from));
  int n = 0;
  for (;;) {
    const auto word = co_await all.next();
    if (!word) break;
    std::printf("%s\n", word->c_str());
    ++n;
  }
  co_await arriving;
  co_return n;
}

}  // namespace

int main() {
  auto [to, from] = rota::channel::bounded<std::string>(2);
  const int n = rota::run(count(std::move(to), std::move(from)));
  return n == 10 ? 0 : 1;
}
