// A protocol of messages with a length prefix: four bytes, the most significant first, then as many bytes of
// body. The server answers each message with the same text in capitals. Here both sides run in one program
// and talk through memory; over TCP the code would be the same.
#include <rota/error.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_reader.hpp>
#include <rota/io/duplex.hpp>
#include <rota/runtime.hpp>
#include <rota/when.hpp>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace {

using rota::io::result;

constexpr std::size_t header_size = 4;
constexpr std::size_t longest_body = 1000;

std::string framed(std::string_view body) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8)
    frame += static_cast<char>(static_cast<unsigned char>(body.size() >> static_cast<unsigned>(shift)));
  return frame.append(body);
}

std::size_t length_of(std::span<const std::byte> header) {
  std::size_t length = 0;
  for (const std::byte b : header.first(header_size)) length = length << 8U | std::to_integer<std::size_t>(b);
  return length;
}

/// Returns the next message, or an empty optional at the end of the stream. Cancel-safe: if it is cancelled
/// between the header and the body, it has consumed neither.
template <rota::io::reader R>
rota::task<result<std::optional<std::string>>> next_message(rota::io::buffered_reader<R>& in) {
  const auto header = co_await in.fill(header_size);
  if (!header.has_value()) co_return std::unexpected(header.error());
  if (header->empty()) co_return std::optional<std::string>();
  const std::size_t length = length_of(*header);
  if (length > longest_body) co_return std::unexpected(make_error_code(rota::errc::too_long));
  const auto whole = co_await in.fill(header_size + length);
  if (!whole.has_value()) co_return std::unexpected(whole.error());
  const auto body = whole->subspan(header_size, length);
  std::string text(reinterpret_cast<const char*>(body.data()), body.size());
  in.consume(header_size + length);
  co_return std::optional<std::string>(std::move(text));
}

template <rota::io::stream S>
rota::task<int> serve(S stream) {
  rota::io::buffered_reader<S> in(stream);
  int served = 0;
  for (;;) {
    auto message = co_await next_message(in);
    if (!message.has_value() || !message->has_value()) break;  // an error, or the end of the stream
    std::string text = std::move(**message);
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::string answer = framed(text);
    const result<void> sent = co_await rota::io::write_all(stream, std::as_bytes(std::span(answer)));
    if (!sent.has_value()) break;
    ++served;
  }
  co_return served;
}

template <rota::io::stream S>
rota::task<std::string> ask(S stream) {
  rota::io::buffered_reader<S> in(stream);
  std::string all;
  for (const std::string_view question : {"hello", "", "length first"}) {
    const std::string frame = framed(question);
    const result<void> asked = co_await rota::io::write_all(stream, std::as_bytes(std::span(frame)));
    if (!asked.has_value()) break;
    const auto answer = co_await next_message(in);
    if (!answer.has_value() || !answer->has_value()) break;
    all += **answer + ";";
  }
  co_return all;
}

rota::task<bool> talk() {
  // the buffer is shorter than a message, so each message arrives in parts
  auto [ours, theirs] = rota::io::duplex(7);
  auto [answers, served] = co_await rota::when_all(ask(std::move(ours)), serve(std::move(theirs)));
  std::printf("%s %d served\n", answers.c_str(), served);
  co_return answers == "HELLO;;LENGTH FIRST;" && served == 3;
}

}  // namespace

int main() { return rota::run(talk()) ? 0 : 1; }
