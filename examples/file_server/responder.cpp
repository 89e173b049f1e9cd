#include "file_server/responder.hpp"

#include <sys/random.h>

#include <array>
#include <cassert>

namespace file_server {
namespace {

constexpr persistence both(persistence a, persistence b) noexcept {
  return a == persistence::keep && b == persistence::keep ? persistence::keep : persistence::close;
}

constexpr body_rule rule_of(const request& r) noexcept {
  return r.verb == method::head ? body_rule::forbidden : body_rule::allowed;
}

response head_for(const request& r, persistence offered) noexcept {
  response head;
  head.connection = both(r.connection, offered);
  head.version = r.version;
  return head;
}

/// Sets the fields of an error. If no descriptor is left, the connection is closed: that returns one.
void settle_error(response& head, status code) noexcept {
  head.code = code;
  head.varies = code == status::not_acceptable;
  if (code == status::unavailable) head.connection = persistence::close;
}

multipart::randomness random_bits() noexcept {
  multipart::randomness bits{};
  // So few bytes come at once and completely, unless a signal arrives while the kernel still gathers entropy
  // after boot.
  while (::getrandom(bits.data(), sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
  }
  return bits;
}

}  // namespace

answer responder::file(const request& r,
                       persistence offered,
                       std::int64_t now,
                       std::span<char> out) noexcept {
  auto seen = files_->open(r.path, read_accept_encoding(r.accept_encoding));
  if (!seen) return error(r, seen.error(), offered, now, out);
  response head = head_for(r, offered);
  switch (seen->what) {
    case found::file: return representation(r, head, std::move(*seen), now, out);
    case found::listing: return {.connection = head.connection, .step = next_step::listing};
    case found::redirect: break;
  }
  if (r.path.size() + r.query.size() > longest_location)
    return error(r, status::uri_too_long, offered, now, out);
  head.location = r.path;
  head.query = r.query;
  head.code = status::moved_permanently;
  return write_error(head, rule_of(r), now, out);
}

answer responder::representation(
    const request& r, response head, opened_file file, std::int64_t now, std::span<char> out) noexcept {
  const entity_tag tag(file.identity, file.as);
  const validators v{tag.text(), file.identity.modified};
  head.varies = file.varies;
  switch (evaluate_conditions(r, v, now)) {
    case condition::failed:
      head.code = status::precondition_failed;
      return write_error(head, rule_of(r), now, out);
    case condition::not_modified:
      head.code = status::not_modified;
      head.tag = v.tag;
      return write(head, body_rule::forbidden, {}, now, out);
    case condition::holds: break;
  }
  head.tag = v.tag;
  head.is_ranged = true;
  choose_parts(r, head, file, v, now);
  if (head.code == status::range_not_satisfiable) return write_error(head, rule_of(r), now, out);
  head.last_modified = file.identity.modified;
  answer a = write(head, body_rule::forbidden, {}, now, out);
  if (r.verb == method::head || ranges_.items().empty()) return a;
  a.parts = ranges_.items();
  a.around = a.parts.size() > 1 ? &several_ : nullptr;
  a.body = head.length;
  a.file = std::move(file);
  return a;
}

/// Chooses the bytes of the file to send, and sets the fields of the head that describe them.
void responder::choose_parts(const request& r,
                             response& head,
                             const opened_file& file,
                             const validators& v,
                             std::int64_t now) noexcept {
  const std::uint64_t size = file.identity.size;
  head.type = file.type;
  head.encoding = file.as;
  head.length = size;
  // RFC 9110 §14.2: only for GET, and after the conditions.
  const bool is_asked = r.verb == method::get && !r.range.empty() && range_applies(r, v, now);
  range_verdict verdict = is_asked ? select_ranges(r.range, size, ranges_) : range_verdict::whole;
  // RFC 9110 does not say whether Content-Encoding applies to the parts or to the whole multipart body.
  if (ranges_.items().size() > 1 && file.as != coding::identity) verdict = range_verdict::whole;
  if (verdict == range_verdict::whole) {
    ranges_.clear();
    if (size != 0) ranges_.add({0, size});
    return;
  }
  if (verdict == range_verdict::unsatisfiable) {
    head.code = status::range_not_satisfiable;
    head.encoding = coding::identity;  // of the error text, which has no tag of the file
    head.tag = {};
    head.range = content_range{.whole = size};
    return;
  }
  head.code = status::partial_content;
  if (ranges_.items().size() > 1) return take_several(head, file);
  head.range = content_range{.part = ranges_.items()[0], .whole = size};
  head.length = ranges_.items()[0].size;
}

void responder::take_several(response& head, const opened_file& file) noexcept {
  several_.begin(file.type, file.identity.size, ranges_.items(), random_bits());
  head.type = several_.content_type();
  head.length = several_.length();
}

answer responder::text(const request& r,
                       std::string_view type,
                       std::string_view body,
                       persistence offered,
                       std::int64_t now,
                       std::span<char> out) noexcept {
  response head = head_for(r, offered);
  head.type = type;
  head.length = body.size();
  return write(head, rule_of(r), body, now, out);
}

answer responder::page(
    const request& r, std::size_t size, persistence offered, std::int64_t now, std::span<char> out) noexcept {
  response head = head_for(r, offered);
  head.type = "text/html; charset=utf-8";
  head.length = size;
  head.policy = "default-src 'none'; style-src 'unsafe-inline'";
  answer a = write(head, body_rule::forbidden, {}, now, out);
  if (r.verb == method::get) a.body = size;
  return a;
}

answer responder::error(
    const request& r, status code, persistence offered, std::int64_t now, std::span<char> out) noexcept {
  response head = head_for(r, offered);
  settle_error(head, code);
  return write_error(head, rule_of(r), now, out);
}

answer responder::refusal(status code, body_rule body, std::int64_t now, std::span<char> out) noexcept {
  response head;
  head.code = code;
  return write_error(head, body, now, out);
}

answer responder::write_error(response r, body_rule rule, std::int64_t now, std::span<char> out) noexcept {
  std::array<char, 64> text{};
  r.type = "text/plain; charset=utf-8";
  r.length = write_error_body(text, r.code);
  return write(r, rule, {text.data(), r.length}, now, out);
}

answer responder::write(const response& r,
                        body_rule rule,
                        std::string_view body,
                        std::int64_t now,
                        std::span<char> out) noexcept {
  const std::size_t head = write_head(out, r, now, date_.at(now));
  assert(head != 0 && "the buffer is smaller than answer_capacity");
  if (rule == body_rule::forbidden) body = {};
  assert(body.size() <= out.size() - head && "the buffer is too small for the text");
  const std::size_t written = body.copy(out.data() + head, out.size() - head);
  return {.code = r.code, .bytes = head + written, .connection = r.connection, .body = written};
}

}  // namespace file_server
