#include "file_server/response.hpp"

#include <algorithm>
#include <charconv>

#include "file_server/http_date.hpp"

namespace file_server {
namespace {

/// Appends to a span, and remembers if something did not fit.
class text_writer {
 public:
  explicit text_writer(std::span<char> out) noexcept : out_(out) {}

  void add(std::string_view text) noexcept {
    if (text.size() > out_.size() - size_) {
      fits_ = false;
      return;
    }
    size_ += text.copy(out_.data() + size_, text.size());
  }

  void add(std::uint64_t number) noexcept {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, number);
    add(std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
  }

  void field(std::string_view name, std::string_view value) noexcept {
    add(name);
    add(": ");
    add(value);
    add("\r\n");
  }

  [[nodiscard]] std::size_t size() const noexcept { return fits_ ? size_ : 0; }

 private:
  std::span<char> out_;
  std::size_t size_ = 0;
  bool fits_ = true;
};

void add_status(text_writer& w, status code) noexcept {
  w.add(std::uint64_t{code_of(code)});
  w.add(" ");
  w.add(reason_phrase(code));
}

void add_connection(text_writer& w, const response& r) noexcept {
  if (r.connection == persistence::close) return w.field("Connection", "close");
  if (r.version == http_version::v1_0) w.field("Connection", "keep-alive");
}

}  // namespace

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
  w.field("Content-Type", r.type);
  w.field("X-Content-Type-Options", "nosniff");
  w.add("Content-Length: ");
  w.add(r.length);
  w.add("\r\n");
  if (r.last_modified) {
    // RFC 9110 §8.8.2.1: never later than Date.
    const auto text = http_date(std::min(*r.last_modified, now));
    w.field("Last-Modified", {text.data(), text.size()});
  }
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
