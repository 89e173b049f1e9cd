#include "file_server/responder.hpp"

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

}  // namespace

answer responder::file(const request& r,
                       persistence offered,
                       std::int64_t now,
                       std::span<char> out) noexcept {
  response head{.connection = both(r.connection, offered), .version = r.version};
  auto found = files_->open(r.path);
  if (!found) {
    head.code = found.error();
    // Every connection that ends gives back a descriptor, which is what is missing.
    if (head.code == status::unavailable) head.connection = persistence::close;
    return error(head, rule_of(r), now, out);
  }
  head.type = found->type;
  head.length = found->size;
  head.last_modified = found->modified;
  answer a = write(head, body_rule::forbidden, {}, now, out);
  if (r.verb == method::get && found->size != 0) a.file = std::move(*found);
  return a;
}

answer responder::text(const request& r,
                       std::string_view type,
                       std::string_view body,
                       persistence offered,
                       std::int64_t now,
                       std::span<char> out) noexcept {
  const response head{
      .type = type, .length = body.size(), .connection = both(r.connection, offered), .version = r.version};
  return write(head, rule_of(r), body, now, out);
}

answer responder::refusal(status code, body_rule body, std::int64_t now, std::span<char> out) noexcept {
  return error(response{.code = code}, body, now, out);
}

answer responder::error(response r, body_rule rule, std::int64_t now, std::span<char> out) noexcept {
  std::array<char, 64> text{};
  r.type = "text/plain; charset=utf-8";
  r.length = write_error_body(text, r.code);
  return write(r, rule, {text.data(), r.length}, now, out);
}

answer responder::write(
    response r, body_rule rule, std::string_view body, std::int64_t now, std::span<char> out) noexcept {
  const std::size_t head = write_head(out, r, now, date_.at(now));
  assert(head != 0 && "the buffer is smaller than answer_capacity");
  if (rule == body_rule::forbidden) body = {};
  assert(body.size() <= out.size() - head && "the buffer is too small for the text");
  return {.code = r.code,
          .bytes = head + body.copy(out.data() + head, out.size() - head),
          .connection = r.connection};
}

}  // namespace file_server
