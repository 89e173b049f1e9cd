#include "http_get/answer.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

namespace http_get {

namespace http = boost::beast::http;

struct answer::parser : http::response_parser<http::buffer_body> {};

namespace {

constexpr std::uint32_t most_head_bytes = 65'536;

std::string field(const http::response<http::buffer_body>& of, http::field name) {
  const auto found = of.find(name);
  return found == of.end() ? std::string() : std::string(found->value());
}

/// 101 is final: the client has not asked for another protocol.
bool is_interim(unsigned status) { return status >= 100 && status < 200 && status != 101; }

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

answer::answer() : buffer_(capacity, '\0'), out_(capacity, '\0') { begin(); }
answer::~answer() = default;

void answer::begin() {
  parser_ = std::make_unique<parser>();
  parser_->header_limit(most_head_bytes);
  parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
}

std::span<std::byte> answer::room() {
  // Moves the unread bytes to the front only if no space is left behind them, or if there are none.
  if (end_ == capacity || first_ == end_) {
    std::memmove(buffer_.data(), buffer_.data() + first_, end_ - first_);
    end_ -= std::exchange(first_, 0);
  }
  return std::as_writable_bytes(std::span(buffer_)).subspan(end_);
}

void answer::arrived(std::size_t count) {
  end_ += count;
  while (error_.empty() && !parser_->is_header_done()) {
    static_cast<void>(parse());
    if (!parser_->is_header_done() || !is_interim(parser_->get().result_int())) return;
    begin();
    if (first_ == end_) return;
  }
}

std::size_t answer::parse() {
  boost::system::error_code why;
  const std::size_t used = parser_->put(boost::asio::buffer(buffer_.data() + first_, end_ - first_), why);
  first_ += used;
  if (why && why != http::error::need_more && why != http::error::need_buffer) error_ = why.message();
  return used;
}

void answer::ended() {
  if (!error_.empty() || parser_->is_done()) return;
  boost::system::error_code why;
  if (!parser_->is_header_done()) {
    error_ = "the connection ended before the answer";
    return;
  }
  parser_->put_eof(why);
  if (why) error_ = "the connection ended before the answer did";
}

bool answer::has_head() const { return parser_->is_header_done(); }
bool answer::is_done() const { return parser_->is_done(); }

head answer::about() const {
  const auto& message = parser_->get();
  head h;
  h.status = message.result_int();
  h.reason = std::string(message.reason());
  h.location = field(message, http::field::location);
  h.content_range = field(message, http::field::content_range);
  const std::string tag = field(message, http::field::etag);
  if (tag.starts_with('"')) h.tag = tag;
  const auto length = parser_->content_length();
  if (length) h.length = *length;
  return h;
}

std::string_view answer::next() {
  auto& body = parser_->get().body();
  body.data = out_.data();
  body.size = out_.size();
  // The head of a chunk yields no body bytes; the bytes behind it do.
  while (error_.empty() && !parser_->is_done() && first_ != end_ && body.size != 0) {
    if (parse() == 0) break;
  }
  return {out_.data(), out_.size() - body.size};
}

content_range parse_content_range(std::string_view text) {
  content_range r;
  if (!text.starts_with("bytes ")) return r;
  text.remove_prefix(6);
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return r;
  r.whole = number(text.substr(slash + 1));
  r.first = number(text.substr(0, std::min(text.find('-'), slash)));
  return r;
}

}  // namespace http_get
