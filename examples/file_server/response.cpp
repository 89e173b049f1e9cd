#include "file_server/response.hpp"

#include <algorithm>

#include "file_server/http_date.hpp"

namespace file_server {
namespace {

void add_status(text_writer& w, status code) noexcept {
  w.add(std::uint64_t{code_of(code)});
  w.add(" ");
  w.add(reason_phrase(code));
}

/// Fields that identify the representation. A 304 has them, too.
void add_validators(text_writer& w, const response& r) noexcept {
  if (!r.tag.empty()) w.field("ETag", r.tag);
  if (r.varies) w.field("Vary", "Accept-Encoding");
}

void add_content(text_writer& w, const response& r, std::int64_t now) noexcept {
  w.field("Content-Type", r.type);
  if (r.encoding != coding::identity) w.field("Content-Encoding", coding_name(r.encoding));
  w.field("X-Content-Type-Options", "nosniff");
  if (!r.policy.empty()) w.field("Content-Security-Policy", r.policy);
  w.add("Content-Length: ");
  w.add(r.length);
  w.add("\r\n");
  if (r.range) {
    w.add("Content-Range: ");
    add_content_range(w, *r.range);
    w.add("\r\n");
  }
  if (r.is_ranged) w.field("Accept-Ranges", "bytes");
  if (r.last_modified) {
    // RFC 9110 §8.8.2.1: Last-Modified is never later than Date.
    const auto text = http_date(std::min(*r.last_modified, now));
    w.field("Last-Modified", {text.data(), text.size()});
  }
}

void add_location(text_writer& w, const response& r) noexcept {
  w.add("Location: ");
  w.add(r.location);
  w.add("/");
  if (!r.query.empty()) w.add("?");
  w.add(r.query);
  w.add("\r\n");
}

void add_connection(text_writer& w, const response& r) noexcept {
  if (r.connection == persistence::close) return w.field("Connection", "close");
  if (r.version == http_version::v1_0) w.field("Connection", "keep-alive");
}

}  // namespace

void add_content_range(text_writer& w, const content_range& range) noexcept {
  w.add("bytes ");
  if (range.part) {
    w.add(range.part->first);
    w.add("-");
    w.add(range.part->last());
  } else {
    w.add("*");
  }
  w.add("/");
  w.add(range.whole);
}

std::size_t write_head(std::span<char> out,
                       const response& r,
                       std::int64_t now,
                       std::string_view date) noexcept {
  text_writer w(out);
  w.add("HTTP/1.1 ");
  add_status(w, r.code);
  w.add("\r\n");
  w.field("Date", date);
  w.field("Server", "rota");
  if (r.code != status::not_modified) add_content(w, r, now);
  add_validators(w, r);
  if (!r.location.empty()) add_location(w, r);
  if (r.code == status::method_not_allowed) w.field("Allow", "GET, HEAD");
  add_connection(w, r);
  w.add("\r\n");
  return w.size();
}

std::size_t write_error_body(std::span<char> out, status code) noexcept {
  text_writer w(out);
  add_status(w, code);
  w.add("\n");
  return w.size();
}

}  // namespace file_server
