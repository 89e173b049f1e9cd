#include "http_get/fetch.hpp"

#include <chrono>
#include <expected>
#include <optional>
#include <span>
#include <utility>

#include <rota/error.hpp>
#include <rota/net/resolve.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/time.hpp>
#include <rota/tls/client.hpp>

#include "http_get/answer.hpp"
#include "http_get/output.hpp"

namespace http_get {

namespace {

using rota::io::result;
using rota::net::tcp_stream;

/// The result of one answer: done, a redirect, or a failure.
struct verdict {
  std::string why{};
  std::optional<url> next{};
};
verdict failed(std::string why) { return {.why = std::move(why)}; }

struct job {
  const options& asked;
  output& to;
  progress& shown;
};

std::string request_for(const url& what, std::uint64_t offset) {
  std::string text = "GET " + what.target + " HTTP/1.1\r\nHost: " + host_field(what) +
                     "\r\nUser-Agent: rota-http_get\r\nAccept: */*\r\nAccept-Encoding: identity\r\n";
  if (offset != 0) text += "Range: bytes=" + std::to_string(offset) + "-\r\n";
  return text + "Connection: close\r\n\r\n";
}

/// Receives some bytes. Returns an error, or an empty text.
template <rota::io::stream S>
rota::task<std::string> receive(S& from, answer& into) {
  const std::span<std::byte> room = into.room();
  if (room.empty()) co_return "the answer cannot be read";
  const result<std::size_t> got = co_await from.read(room);
  if (!got.has_value()) co_return got.error().message();
  *got == 0 ? into.ended() : into.arrived(*got);
  co_return into.error();
}

template <rota::io::stream S>
rota::task<std::string> ask(S& over, const url& what, std::uint64_t offset, answer& into) {
  const std::string request = request_for(what, offset);
  const auto sent = co_await over.write_all(std::as_bytes(std::span(request)));
  if (!sent.has_value()) co_return sent.error().message();
  while (!into.has_head()) {
    const std::string why = co_await receive(over, into);
    if (!why.empty()) co_return why;
  }
  co_return std::string();
}

template <rota::io::stream S>
rota::task<verdict> take_body(job j, S& over, answer& from, std::optional<std::uint64_t> whole) {
  for (;;) {
    for (;;) {
      const std::string_view part = from.next();
      if (part.empty()) break;
      const std::string why = co_await j.to.write(part);
      if (!why.empty()) co_return failed(why);
      j.shown.show(j.to.size(), whole);
    }
    if (!from.error().empty()) co_return failed(from.error());
    if (from.is_done()) break;
    const auto more = co_await rota::timeout(j.asked.idle, receive(over, from));
    if (!more.has_value()) co_return failed("nothing more has come in time");
    if (!more->empty()) co_return failed(*more);
  }
  j.shown.finish(j.to.size(), whole);
  co_return verdict{};
}

bool leads_on(unsigned status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

verdict led_on(const url& from, const std::string& location) {
  std::optional<url> next = follow(from, location);
  if (!next.has_value()) return failed("it leads to what cannot be fetched: " + location);
  if (from.how == scheme::https && next->how == scheme::http)
    return failed("it leads from https to http: " + to_text(*next));
  return {.next = std::move(next)};
}

std::string with_reason(const head& h) { return std::to_string(h.status) + " " + h.reason; }

/// Checks the head against the file. Returns an error, or the size of the whole file.
rota::task<std::expected<std::optional<std::uint64_t>, std::string>> agree(job j, const head& h) {
  const content_range range = parse_content_range(h.content_range);
  if (h.status == 206) {
    if (j.to.size() == 0 || range.first != j.to.size())
      co_return std::unexpected("a part that nobody has asked for: " + h.content_range);
    co_return range.whole;
  }
  if (h.status != 200) co_return std::unexpected(with_reason(h));
  // A 200 carries the whole file. A server without ranges also answers a range request like that.
  const std::string why = co_await j.to.start_anew();
  if (!why.empty()) co_return std::unexpected(why);
  co_return h.length;
}

template <rota::io::stream S>
rota::task<verdict> exchange(job j, const url& what, S& over) {
  answer got;
  const auto asked = co_await rota::timeout(j.asked.timeout, ask(over, what, j.to.size(), got));
  if (!asked.has_value()) co_return failed("no answer in time");
  if (!asked->empty()) co_return failed(*asked);
  const head h = got.about();
  if (leads_on(h.status) && !h.location.empty()) co_return led_on(what, h.location);
  // The file is already complete.
  if (h.status == 416 && j.to.size() != 0 && parse_content_range(h.content_range).whole == j.to.size())
    co_return verdict{};
  const auto whole = co_await agree(j, h);
  if (!whole.has_value()) co_return failed(whole.error());
  verdict end = co_await take_body(j, over, got, *whole);
  // The part may be shorter than the part that was asked for.
  if (end.why.empty() && h.status == 206 && whole->has_value() && j.to.size() != **whole)
    co_return failed("only a part of the rest came: " + h.content_range);
  co_return end;
}

rota::tls::client_config config_of(const options& o) {
  rota::tls::client_config c;
  c.ca_file = o.ca_file;
  c.alpn = {"http/1.1"};
  if (o.is_insecure) c.verify = rota::tls::verification::none;
  if (o.takes_tls_1_2) c.minimum_version = rota::tls::version::tls_1_2;
  return c;
}

rota::task<verdict> fetch_one(job j, const rota::tls::client& client, const url& what) {
  auto socket = co_await rota::timeout(j.asked.timeout, rota::net::connect(what.host, what.port));
  if (!socket.has_value()) co_return failed(what.host + ": " + socket.error().message());
  if (what.how == scheme::http) co_return co_await exchange(j, what, *socket);
  auto secure = co_await rota::timeout(j.asked.timeout, client.connect(std::move(*socket), what.host));
  if (!secure.has_value()) co_return failed(what.host + ": " + secure.error().message());
  verdict end = co_await exchange(j, what, *secure);
  static_cast<void>(co_await rota::timeout(std::chrono::seconds(1), secure->shutdown_write()));
  co_return end;
}

}  // namespace

rota::task<std::string> fetch(const options& o) {
  output to(o);
  if (!to.error().empty()) co_return to.error();
  progress shown(o.progress);
  const rota::tls::client client(config_of(o));
  const job j{o, to, shown};
  url at = o.from;
  for (unsigned redirects = 0;; ++redirects) {
    verdict end = co_await fetch_one(j, client, at);
    if (!end.why.empty()) co_return to_text(at) + ": " + end.why;
    if (!end.next.has_value()) co_return co_await to.finish();
    if (redirects == o.redirects) co_return to_text(*end.next) + ": too many redirects";
    at = std::move(*end.next);
  }
}

}  // namespace http_get
