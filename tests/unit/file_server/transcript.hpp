// The parser's results for a stream of bytes, as text; used by the tests and by the fuzzer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "file_server/request_parser.hpp"

namespace file_server::testing {

/// Holds the bytes in a block of exactly their size: the address sanitizer detects a read past the end and a
/// view that outlives the call.
class exact_copy {
 public:
  explicit exact_copy(std::string_view text) : bytes_(new char[text.size()]), size_(text.size()) {
    text.copy(bytes_.get(), size_);
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

inline void add_field(std::string& out, std::string_view name, std::string_view value) {
  if (!value.empty()) ((((out += ' ') += name) += "=[") += value) += ']';
}

inline void add_field(std::string& out, std::string_view name, const field_lines& field) {
  if (field.is_absent()) return;
  ((out += ' ') += name) += '=';
  for (const std::string_view line : field.lines()) ((out += '[') += line) += ']';
}

inline std::string line_of(const request& r) {
  std::string out = r.verb == method::get ? "GET" : "HEAD";
  out += r.version == http_version::v1_0 ? " 1.0" : " 1.1";
  out += r.connection == persistence::keep ? " keep" : " close";
  for (const auto view : {r.path, r.query, r.host}) (out += " [").append(view) += ']';
  add_field(out, "if-match", r.if_match);
  add_field(out, "if-none-match", r.if_none_match);
  add_field(out, "if-modified-since", r.if_modified_since);
  add_field(out, "if-unmodified-since", r.if_unmodified_since);
  add_field(out, "range", r.range);
  add_field(out, "if-range", r.if_range);
  add_field(out, "accept-encoding", r.accept_encoding);
  return out + "\n";
}

inline std::string line_of(const parsed& p) {
  const std::string rest = p.body == body_rule::forbidden ? " without body\n" : "\n";
  return "refused " + std::to_string(code_of(p.code)) + rest;
}

/// Feeds piece after piece, as a connection does. The text ends with "more" or with a refusal.
class transcript {
 public:
  explicit transcript(const limits& l = {}) : parser_(l) {}

  void feed(std::string_view piece) {
    if (refused_) return;
    pending_ += piece;
    while (step()) {
    }
  }

  [[nodiscard]] std::string text() const { return refused_ ? text_ : text_ + "more\n"; }

 private:
  bool step() {
    const exact_copy input(pending_);
    request r;
    const parsed p = parser_.parse(input.view(), r);
    if (p.what == verdict::need_more) return false;
    refused_ = p.what == verdict::refused;
    text_ += refused_ ? line_of(p) : line_of(r);
    pending_.erase(0, p.used);
    return !refused_;
  }

  request_parser parser_;
  std::string pending_;
  std::string text_;
  bool refused_ = false;
};

inline std::string read_whole(std::string_view bytes, const limits& l = {}) {
  transcript t(l);
  t.feed(bytes);
  return t.text();
}

/// `cuts` are the ends of the pieces, in increasing order.
inline std::string read_cut(std::string_view bytes,
                            const std::vector<std::size_t>& cuts,
                            const limits& l = {}) {
  transcript t(l);
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    t.feed(bytes.substr(from, cut - from));
    from = cut;
  }
  t.feed(bytes.substr(from));
  return t.text();
}

}  // namespace file_server::testing
