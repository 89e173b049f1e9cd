#include "session.hpp"

#include <unistd.h>
#include <ctime>
#include <utility>

#include <rota/time.hpp>

namespace file_server {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t out_size = std::size_t{64} * 1024;
/// Files up to this size are read and sent together with their head: one system call to send instead of three.
constexpr std::size_t inline_size = std::size_t{32} * 1024;
/// A client that takes less than one piece in three idle timeouts is given up.
constexpr std::size_t piece = std::size_t{256} * 1024;

std::int64_t unix_time() noexcept { return static_cast<std::int64_t>(std::time(nullptr)); }

/// Reads the whole file behind the head; false if it has become shorter.
bool read_file(int fd, std::span<char> into) noexcept {
  std::size_t at = 0;
  while (at < into.size()) {
    const ssize_t got = ::pread(fd, into.data() + at, into.size() - at, static_cast<off_t>(at));
    if (got <= 0) return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

rota::task<void> linger(rota::net::tcp_stream& stream) {
  static_cast<void>(stream.shutdown(rota::net::shutdown_how::write));
  std::array<std::byte, 4096> unread;
  const auto until = clock::now() + std::chrono::seconds(1);
  while (clock::now() < until) {
    const rota::net::result<std::size_t> got =
        co_await rota::timeout(until - clock::now(), stream.read(unread));
    if (!got.has_value() || *got == 0) break;
  }
}

session::session(server& s, rota::net::tcp_stream stream, connections::place here)
    : server_(s),
      stream_(std::move(stream)),
      here_(here),
      in_(s.settings().parser.head_bytes()),
      parser_(s.settings().parser),
      responder_(s.files()) {}

rota::task<void> session::serve() {
  for (;;) {
    const next after_answers = co_await answer_pending();
    if (after_answers == next::close) break;
    const next after_read = co_await fill();
    if (after_read == next::close) break;
  }
}

persistence session::offered() const noexcept {
  return server_.open_connections().is_draining() ? persistence::close : persistence::keep;
}

void session::count(status code) noexcept {
  counters& c = server_.counts();
  const int group = static_cast<int>(code) / 100;
  counters::add(group == 2 ? c.answered_2xx : group == 4 ? c.answered_4xx : c.answered_5xx, 1);
}

std::span<char> session::room() {
  if (out_.empty()) out_.resize(out_size);
  return std::span(out_).subspan(out_used_);
}

/// Waits for bytes: for as long as a client may be idle, or may take for the head of a request.
rota::task<session::next> session::fill() {
  const next flushed = co_await flush();
  if (flushed == next::close) co_return next::close;
  const bool idle = in_.is_empty();
  if (!idle && head_until_ == clock::time_point{})
    head_until_ = clock::now() + server_.settings().header_timeout;
  const clock::duration limit = idle ? server_.settings().idle_timeout : head_until_ - clock::now();

  here_->idle.store(idle);
  // Either this sees the drain, or the drain sees an idle connection and cancels it.
  if (idle && server_.open_connections().is_draining()) co_return next::close;
  const std::span<std::byte> space = in_.space();
  const rota::net::result<std::size_t> got = co_await rota::timeout(limit, stream_.read(space));
  here_->idle.store(false);

  if (got.has_value() && *got != 0) {
    in_.commit(*got);
    counters::add(server_.counts().received, *got);
    co_return next::read_on;
  }
  if (got.has_value() || got.error() != rota::errc::timed_out) co_return next::close;
  counters::add(idle ? server_.counts().idle_timeouts : server_.counts().header_timeouts, 1);
  if (!idle) {
    const parsed late = parser_.refuse(in_.pending(), status::request_timeout);
    co_await refuse(late);
  }
  co_return next::close;
}

/// Answers every request that has arrived whole.
rota::task<session::next> session::answer_pending() {
  for (;;) {
    request r;
    const parsed p = parser_.parse(in_.pending(), r);
    if (p.what == verdict::need_more) co_return next::read_on;
    if (p.what == verdict::refused) {
      const next refused = co_await refuse(p);
      co_return refused;
    }
    head_until_ = {};
    counters::add(server_.counts().requests, 1);
    if (room().size() < responder::answer_capacity + inline_size) {
      const next flushed = co_await flush();
      if (flushed == next::close) co_return next::close;
    }
    answer a = make_answer(r);
    const bool with_body = r.verb == method::get;
    in_.consume(p.used);
    const persistence after = a.connection;
    const next sent = co_await send(std::move(a), with_body);
    if (sent == next::close) co_return next::close;
    if (after == persistence::close) {
      const next flushed = co_await flush();
      static_cast<void>(flushed);
      co_return next::close;
    }
  }
}

answer session::make_answer(const request& r) {
  const persistence offer = offered();
  if (route_of(r) == route::file) return responder_.file(r, offer, unix_time(), room());
  const std::string body = to_json(server_.snapshot());
  return responder_.text(r, json_type, body, offer, unix_time(), room());
}

/// The head is in the buffer already; a small file joins it, a large one follows from the kernel's cache.
rota::task<session::next> session::send(answer a, bool with_body) {
  count(a.code);
  out_used_ += a.bytes;
  if (!a.file.fd.is_open() || !with_body) co_return next::read_on;
  if (a.file.size <= inline_size) {
    const std::span<char> body = room().first(a.file.size);
    if (!read_file(a.file.fd.get(), body)) co_return next::close;
    out_used_ += body.size();
    co_return next::read_on;
  }
  const next sent = co_await send_file_of(a);
  co_return sent;
}

rota::task<session::next> session::send_file_of(const answer& a) {
  const rota::net::result<void> corked = stream_.set_cork(true);
  const next flushed = co_await flush();
  if (flushed == next::close) co_return next::close;
  for (std::uint64_t at = 0; at < a.file.size;) {
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(piece, a.file.size - at));
    const auto limit = 3 * server_.settings().idle_timeout;
    const rota::net::result<std::size_t> sent = co_await rota::timeout(
        limit, stream_.send_file(a.file.fd.get(), static_cast<std::int64_t>(at), size));
    // Fewer bytes than promised: the file has become shorter, and the client must not wait for the rest.
    if (!sent.has_value() || *sent != size) co_return next::close;
    counters::add(server_.counts().sent, *sent);
    at += size;
  }
  if (corked.has_value()) static_cast<void>(stream_.set_cork(false));
  co_return next::read_on;
}

rota::task<session::next> session::refuse(parsed why) {
  const next flushed = co_await flush();
  if (flushed == next::close) co_return next::close;
  const answer a = responder_.refusal(why.code, why.body, unix_time(), room());
  count(a.code);
  out_used_ += a.bytes;
  const next sent = co_await flush();
  if (sent == next::close) co_return next::close;
  co_await linger(stream_);
  co_return next::close;
}

rota::task<session::next> session::flush() {
  if (out_used_ == 0) co_return next::read_on;
  const auto bytes = std::as_bytes(std::span(out_).first(out_used_));
  const auto limit = 3 * server_.settings().idle_timeout;
  const rota::net::result<std::size_t> sent = co_await rota::timeout(limit, stream_.write_all(bytes));
  out_used_ = 0;
  if (!sent.has_value()) co_return next::close;
  counters::add(server_.counts().sent, *sent);
  co_return next::read_on;
}

}  // namespace file_server
