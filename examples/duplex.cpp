// A small protocol over any stream. The client sends a command on a line; the server answers with a length
// and as many bytes. Here both sides run in one program and talk through memory; over TCP the code would be
// the same.
#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_reader.hpp>
#include <rota/io/buffered_writer.hpp>
#include <rota/io/duplex.hpp>
#include <rota/io/limited.hpp>
#include <rota/io/lines.hpp>
#include <rota/runtime.hpp>
#include <rota/when.hpp>

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using rota::io::result;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Answers "say TEXT" with the length of TEXT on a line, followed by TEXT.
template <rota::io::stream S>
rota::task<int> serve(S stream) {
  rota::io::buffered_reader<S> in(stream);
  rota::io::buffered_writer<S> out(stream);
  int served = 0;
  auto commands = rota::io::lines(in, 1000);
  for (;;) {
    const auto command = co_await commands.next();
    if (!command || !command->has_value()) break;  // the end of the stream, or a line that is too long
    if (!(*command)->starts_with("say ")) continue;
    const std::string_view what = (*command)->substr(4);
    const std::string head = std::to_string(what.size()) + "\n";
    const result<void> first = co_await out.write_all(bytes_of(head));
    if (!first.has_value()) break;
    const result<void> second = co_await out.write_all(bytes_of(what));
    if (!second.has_value()) break;
    const result<void> sent = co_await out.flush();
    if (!sent.has_value()) break;
    ++served;
  }
  co_return served;
}

template <rota::io::reader R>
rota::task<std::string> answer(rota::io::buffered_reader<R>& in) {
  const result<std::optional<std::string_view>> head = co_await in.until("\n", 20);
  if (!head.has_value() || !head->has_value()) co_return "";
  std::size_t length = 0;
  std::from_chars((*head)->data(), (*head)->data() + (*head)->size(), length);
  rota::io::limited_reader body(in, length);
  std::vector<std::byte> bytes;
  const result<std::size_t> got = co_await rota::io::read_to_end(body, bytes, 1000);
  co_return got == length ? std::string(reinterpret_cast<const char*>(bytes.data()), length) : "";
}

template <rota::io::stream S>
rota::task<std::string> ask(S stream) {
  rota::io::buffered_reader<S> in(stream);
  std::string all;
  for (const std::string_view question : {"say hello\r\n", "say what you like\n"}) {
    const result<void> asked = co_await rota::io::write_all(stream, bytes_of(question));
    if (!asked.has_value()) break;
    all += co_await answer(in) + ";";
  }
  co_return all;
}

rota::task<bool> talk() {
  // the buffer is shorter than a line, so each side must wait for the other
  auto [ours, theirs] = rota::io::duplex(8);
  auto [answers, served] = co_await rota::when_all(ask(std::move(ours)), serve(std::move(theirs)));
  std::printf("%s %d served\n", answers.c_str(), served);
  co_return answers == "hello;what you like;" && served == 2;
}

}  // namespace

int main() { return rota::run(talk()) ? 0 : 1; }
