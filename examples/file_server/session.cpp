#include "session.hpp"

#include <ctime>
#include <new>
#include <utility>

#include <rota/time.hpp>

namespace file_server {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t out_size = std::size_t{64} * 1024;
static_assert(responder::answer_capacity + inline_size <= out_size);

std::int64_t unix_time() noexcept { return static_cast<std::int64_t>(std::time(nullptr)); }

}  // namespace

session::session(server& s, transport over, connections::place here)
    : server_(s),
      over_(std::move(over)),
      here_(here),
      in_(s.settings().parser.head_bytes()),
      parser_(s.settings().parser, over_.secure() == nullptr ? scheme::http : scheme::https),
      responder_(s.files()),
      client_(s.is_logging() ? client_of(over_.socket()) : std::string()) {}

rota::task<void> session::serve() {
  for (;;) {
    const next after_answers = co_await answer_pending();
    if (after_answers == next::close) break;
    const next after_read = co_await fill();
    if (after_read == next::close) break;
  }
}

/// Sends the goodbye. Does nothing if the session has lingered: then it has been sent.
rota::task<void> session::say_goodbye() {
  secure_stream* const secure = over_.secure();
  if (secure == nullptr || is_midway_) co_return;
  static_cast<void>(co_await secure->finish());
}

persistence session::offered() const noexcept {
  return server_.open_connections().is_draining() ? persistence::close : persistence::keep;
}

std::span<char> session::room() {
  if (out_.empty()) out_.resize(out_size);
  return std::span(out_).subspan(out_used_);
}

/// Waits for bytes, within the idle timeout or, once a request has begun, within the timeout of its head.
rota::task<session::next> session::fill() {
  const next flushed = co_await flush();
  if (flushed == next::close) co_return next::close;
  is_midway_ = false;
  const bool idle = in_.is_empty();
  if (!idle && head_until_ == clock::time_point{})
    head_until_ = clock::now() + server_.settings().header_timeout;
  const clock::duration limit = idle ? server_.settings().idle_timeout : head_until_ - clock::now();

  here_->idle.store(idle);
  // Either this thread sees the drain, or the drain sees an idle connection and cancels it.
  if (idle && server_.open_connections().is_draining()) {
    here_->idle.store(false);
    if (has_answered_) co_await linger(over_);
    co_return next::close;
  }
  const std::span<std::byte> space = in_.space();
  rota::net::result<std::size_t> got = 0;
  if (secure_stream* const secure = over_.secure(); secure != nullptr) {
    got = co_await rota::timeout(limit, secure->read(space));
  } else {
    got = co_await rota::timeout(limit, over_.socket().read(space));
  }
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

/// Answers every request that has arrived completely.
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
    const next answered = co_await answer_one(r);
    in_.consume(p.used);
    if (answered == next::close) co_return next::close;
  }
}

/// Counts and logs an answer when it is over, also if the end of the drain cancels it.
class session::record {
 public:
  record(session& of, const request& r, const answer& a) noexcept : of_(of), request_(r), answer_(a) {}
  record(const record&) = delete;
  record& operator=(const record&) = delete;
  ~record() {
    if (answer_.bytes == 0) return;  // cancelled before an answer was written
    counters::add(of_.server_.counts().of(answer_.code), 1);
    of_.log(request_.line, answer_);
  }

 private:
  session& of_;
  const request& request_;
  const answer& answer_;
};

/// The head is already in the buffer. A small file is added to it; a large one follows from the page cache.
rota::task<session::next> session::send(const request& r, answer& a) {
  const record at_end(*this, r, a);
  if (a.step == next_step::listing) {
    const next listed = co_await send_listing(r, a);
    co_return listed;
  }
  out_used_ += a.bytes;
  const bool is_inlined = a.parts.size() == 1 && a.parts[0].size <= inline_size;
  if (is_inlined) co_return read_part(a.file.fd.get(), a.parts[0]) ? next::read_on : next::close;
  if (a.parts.empty()) co_return next::read_on;
  const next sent = co_await send_parts(a);
  co_return sent;
}

rota::task<session::next> session::answer_one(const request& r) {
  is_midway_ = true;
  answer a = make_answer(r);
  const next after = co_await send(r, a);
  has_answered_ = true;
  if (after == next::read_on && a.connection == persistence::keep) co_return next::read_on;
  // Flushes also after a failure: the buffer may hold answers to earlier requests.
  const next flushed = co_await flush();
  if (after == next::read_on && flushed == next::read_on) co_await linger(over_);
  co_return next::close;
}

answer session::make_answer(const request& r) {
  const persistence offer = offered();
  if (route_of(r) == route::file) return responder_.file(r, offer, unix_time(), room());
  const std::string body = to_json(server_.snapshot());
  return responder_.text(r, json_type, body, offer, unix_time(), room());
}

rota::task<session::next> session::refuse(parsed why) {
  is_midway_ = true;
  const next flushed = co_await flush();
  if (flushed == next::close) co_return next::close;
  const answer a = responder_.refusal(why.code, why.body, unix_time(), room());
  counters::add(server_.counts().of(a.code), 1);
  log(parser_.request_line(in_.pending()), a);
  out_used_ += a.bytes;
  const next sent = co_await flush();
  if (sent == next::close) co_return next::close;
  co_await linger(over_);
  co_return next::close;
}

void session::log(std::string_view line, const answer& a) noexcept {
  if (!server_.is_logging()) return;
  server_.log(
      {.client = client_, .request_line = line, .time = unix_time(), .code = a.code, .bytes = a.body});
}

}  // namespace file_server
