// Sends what does not fit into the buffer of a session.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <expected>
#include <new>
#include <system_error>
#include <utility>

#include <rota/error.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>

#include "listing.hpp"
#include "session.hpp"

namespace file_server {

namespace {

/// A client that takes less than one piece within three idle timeouts is disconnected.
constexpr std::size_t piece = std::size_t{256} * 1024;

using page = std::expected<std::string, status>;

/// Reads a folder. Blocks.
page read_page(const file_source& files, std::string_view path) {
  try {
    const auto folder = list_folder(files, path);
    if (!folder) return std::unexpected(folder.error());
    const auto name = folder_name(path);
    return to_html(*folder, *name);
  } catch (const std::bad_alloc&) {
    return std::unexpected(status::unavailable);
  }
}

/// Called after a failed send. After a timeout, closing alone would leave megabytes of unsent data in the
/// kernel for as long as the client likes, and no limit of this program counts them. So the connection is
/// reset instead.
void leave_nothing(rota::net::tcp_stream& socket, std::error_code why) noexcept {
  if (why == rota::errc::timed_out) static_cast<void>(socket.reset_on_close());
}

}  // namespace

/// Reads the folder in the blocking pool: it may be long, and the disk slow.
rota::task<session::next> session::send_listing(const request& r, answer& a) {
  const listing_place place(server_.listings());
  page text = std::unexpected(status::unavailable);
  if (place.is_free()) {
    // The session awaits the job, so the objects that the job refers to stay alive.
    rota::join_handle<page> job =
        rota::spawn_blocking([&files = server_.files(), path = r.path] { return read_page(files, path); });
    text = co_await job;
  }
  const std::int64_t now = std::time(nullptr);
  if (!text) {
    a = responder_.error(r, text.error(), offered(), now, room());
    out_used_ += a.bytes;
    co_return next::read_on;
  }
  a = responder_.page(r, text->size(), offered(), now, room());
  out_used_ += a.bytes;
  if (r.verb == method::head) co_return next::read_on;
  const next sent = co_await send_text(*text);
  co_return sent;
}

rota::task<session::next> session::send_text(std::string_view text) {
  while (!text.empty()) {
    const std::span<char> space = room();
    const std::size_t copied = text.copy(space.data(), space.size());
    out_used_ += copied;
    text.remove_prefix(copied);
    if (text.empty()) break;
    const next flushed = co_await flush();
    if (flushed == next::close) co_return next::close;
  }
  co_return next::read_on;
}

rota::task<session::next> session::send_parts(const answer& a) {
  for (const byte_range& part : a.parts) {
    if (room().size() < multipart::capacity) {
      const next flushed = co_await flush();
      if (flushed == next::close) co_return next::close;
    }
    if (a.around != nullptr) out_used_ += a.around->write_part(room(), part);
    const next sent = co_await send_part(a.file.fd.get(), part);
    if (sent == next::close) co_return next::close;
  }
  if (a.around == nullptr) co_return next::read_on;
  if (room().size() < multipart::capacity) {
    const next flushed = co_await flush();
    if (flushed == next::close) co_return next::close;
  }
  out_used_ += a.around->write_end(room());
  co_return next::read_on;
}

rota::task<session::next> session::send_part(int file, byte_range part) {
  if (part.size > inline_size) {
    const next sent = co_await send_file(file, part);
    co_return sent;
  }
  if (room().size() < part.size) {
    const next flushed = co_await flush();
    if (flushed == next::close) co_return next::close;
  }
  co_return read_part(file, part) ? next::read_on : next::close;
}

/// Reads a part of a file into the buffer, which has space for it. Returns false if the file has become
/// shorter.
bool session::read_part(int file, byte_range part) {
  const std::span<char> into = room().first(part.size);
  std::size_t at = 0;
  while (at < into.size()) {
    const ssize_t got =
        ::pread(file, into.data() + at, into.size() - at, static_cast<off_t>(part.first + at));
    if (got <= 0) return false;
    at += static_cast<std::size_t>(got);
  }
  out_used_ += at;
  return true;
}

/// Sends a file by the kernel, unless the connection is encrypted.
rota::task<session::next> session::send_file(int file, byte_range part) {
  if (over_.secure() != nullptr) {
    const next copied = co_await copy_file(file, part);
    co_return copied;
  }
  if (!push_out()) {
    const next flushed = co_await flush();
    if (flushed == next::close) co_return next::close;
  }
  const std::uint64_t end = part.first + part.size;
  for (std::uint64_t at = part.first; at < end;) {
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(piece, end - at));
    const auto limit = 3 * server_.settings().idle_timeout;
    const rota::net::result<std::size_t> sent =
        co_await rota::timeout(limit, over_.socket().send_file(file, static_cast<std::int64_t>(at), size));
    if (!sent.has_value()) leave_nothing(over_.socket(), sent.error());
    // Fewer bytes than announced: the file has become shorter, and the client must not wait for the rest.
    if (!sent.has_value() || *sent != size) co_return next::close;
    counters::add(server_.counts().sent, *sent);
    at += size;
  }
  co_return next::read_on;
}

/// Sends a file through the buffer. The first bytes of the file fill the rest of the buffer, so TLS records
/// are as large as possible.
rota::task<session::next> session::copy_file(int file, byte_range part) {
  const std::uint64_t end = part.first + part.size;
  for (std::uint64_t at = part.first; at < end;) {
    const std::uint64_t size = std::min<std::uint64_t>(room().size(), end - at);
    if (size != 0 && !read_part(file, {at, size})) co_return next::close;
    at += size;
    if (at == end) break;
    const next flushed = co_await flush();
    if (flushed == next::close) co_return next::close;
  }
  co_return next::read_on;
}

/// Sends the buffer as far as the socket takes it now, with MSG_MORE. The kernel then waits for the first
/// bytes of the file and sends one segment (two system calls fewer than TCP_CORK). Returns false if something
/// is left, or if the send failed.
bool session::push_out() noexcept {
  constexpr int flags = MSG_MORE | MSG_DONTWAIT | MSG_NOSIGNAL;
  const ssize_t sent = ::send(over_.socket().native_handle(), out_.data(), out_used_, flags);
  if (sent < 0) return false;
  const auto size = static_cast<std::size_t>(sent);
  counters::add(server_.counts().sent, size);
  std::memmove(out_.data(), out_.data() + size, out_used_ - size);
  out_used_ -= size;
  return out_used_ == 0;
}

rota::task<session::next> session::flush() {
  if (out_used_ == 0) co_return next::read_on;
  const auto bytes = std::as_bytes(std::span(out_).first(out_used_));
  const auto limit = 3 * server_.settings().idle_timeout;
  rota::net::result<std::size_t> sent = 0;
  if (secure_stream* const secure = over_.secure(); secure != nullptr) {
    sent = co_await rota::timeout(limit, secure->write_all(bytes));
  } else {
    sent = co_await rota::timeout(limit, over_.socket().write_all(bytes));
  }
  out_used_ = 0;
  if (!sent.has_value()) {
    leave_nothing(over_.socket(), sent.error());
    co_return next::close;
  }
  counters::add(server_.counts().sent, *sent);
  co_return next::read_on;
}

}  // namespace file_server
