// Requests, and the answers from a folder of a few files: conditions, ranges, codings, redirects. The answers
// do not depend on how the bytes are cut, and each keeps what its head promises.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "../support/scratch_folder.hpp"
#include "../unit/file_server/transcript.hpp"
#include "file_server/responder.hpp"
#include "fuzz.hpp"

namespace {

using namespace file_server;
using fuzz::check;

constexpr std::int64_t modified = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT

class served_folder {
 public:
  served_folder() {
    write("a.txt", "0123456789abcdefghijklmnopqrstuvwxyz");
    write("a.txt.gz", "gzipped gzipped gzipped");
    write("a.txt.br", "brotli");
    write("b.png", std::string(100, 'b'));
    write("empty.txt", "");
    write("f/index.html", "<p>");
    write("g/x", "");
  }
  [[nodiscard]] std::string root() const { return folder_.root(); }

 private:
  void write(std::string_view name, std::string_view content) {
    folder_.write(name, content);
    const std::array<timespec, 2> times{timespec{modified, 0}, timespec{modified, 0}};
    check(::utimensat(AT_FDCWD, folder_.at(name).c_str(), times.data(), 0) == 0, "utimensat");
  }
  rota::test::scratch_folder folder_;
};

const file_source& files() {
  static const served_folder folder;
  static const file_source source(folder.root(), {.listings = feature::on});
  return source;
}

std::string_view field(std::string_view head, std::string_view name) {
  const std::size_t at = head.find("\r\n" + std::string(name) + ": ");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = head.substr(at + name.size() + 4);
  return rest.substr(0, rest.find("\r\n"));
}

/// The body has as many bytes as the head says, all of them from the file.
void check_body(const answer& a, std::string_view head, std::string_view content) {
  std::uint64_t size = content.size();
  std::array<char, multipart::capacity> text;
  for (const byte_range& part : a.parts) {
    check(part.size != 0 && part.first + part.size <= a.file.identity.size, "a part lies in the file");
    size += part.size + (a.around == nullptr ? 0 : a.around->write_part(text, part));
  }
  if (a.around != nullptr) size += a.around->write_end(text);
  check(a.around == nullptr || a.parts.size() > 1, "one part is no multipart");
  check(size == a.body, "the log has the size of the body");
  if (a.body != 0)
    check(field(head, "Content-Length") == std::to_string(size), "the length is that of the body");
}

void check_answer(const request& r, const answer& a, std::string_view sent) {
  const std::size_t end = sent.find("\r\n\r\n");
  check(sent.starts_with("HTTP/1.1 ") && end != std::string_view::npos, "an answer has a head");
  const std::string_view head = sent.substr(0, end + 2);
  check(head.find("\r\n\r\n") == std::string_view::npos, "and one only");
  check_body(a, head, sent.substr(end + 4));
  const bool has_place = !field(head, "Content-Range").empty();
  const bool is_multipart = field(head, "Content-Type").starts_with("multipart/byteranges");
  check((a.code == status::partial_content) ==
            ((has_place || is_multipart) && a.code != status::range_not_satisfiable),
        "206 has a place or is a multipart");
  if (a.code == status::range_not_satisfiable)
    check(field(head, "Content-Range").starts_with("bytes */"), "416 says how much there is");
  if (a.code == status::partial_content)
    check(r.verb == method::get && !r.range.empty(), "206 is for GET with a Range");
  if (r.verb == method::head || a.code == status::not_modified)
    check(a.body == 0, "HEAD and 304 have no body");
  if (a.code == status::not_modified) check(field(head, "Content-Length").empty(), "304 has no length");
  if (a.code == status::ok || a.code == status::not_modified)
    check(!field(head, "ETag").empty(), "a file has a tag");
  if (a.code == status::moved_permanently)
    check(field(head, "Location").starts_with(r.path), "a redirect adds to the path");
  if (!field(head, "Content-Encoding").empty())
    check(!r.accept_encoding.is_absent(), "a coding is asked for");
}

/// The head without its random part, and the parts.
std::string line_of(const answer& a, std::string_view sent) {
  std::string out(a.around == nullptr ? sent : sent.substr(0, 12));
  for (const byte_range& part : a.parts)
    out += std::to_string(part.first) + "+" + std::to_string(part.size) + " ";
  return out + (a.connection == persistence::keep ? "keep\n" : "close\n");
}

/// Feeds pieces to a parser and a responder, as a connection does.
class conversation {
 public:
  void feed(std::string_view piece) {
    pending_ += piece;
    while (!over_ && step()) {
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool step() {
    const testing::exact_copy input(pending_);
    request r;
    const parsed p = parser_.parse(input.view(), r);
    if (p.what == verdict::need_more) return false;
    over_ = p.what == verdict::refused;
    if (over_) {
      text_ += "refused " + std::to_string(code_of(p.code)) + "\n";
      return false;
    }
    const answer a = responder_.file(r, persistence::keep, modified + 60, out_);
    if (a.step == next_step::listing) {
      text_ += "listing\n";
    } else {
      const std::string_view sent(out_.data(), a.bytes);
      check_answer(r, a, sent);
      text_ += line_of(a, sent);
    }
    over_ = a.connection == persistence::close;
    pending_.erase(0, p.used);
    return true;
  }

  request_parser parser_{limits{}};
  responder responder_{files()};
  std::array<char, responder::answer_capacity> out_{};
  std::string pending_;
  std::string text_;
  bool over_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes = fuzz::text_of(data, size);
  const std::string_view steps = fuzz::take(bytes, 4);
  conversation whole;
  whole.feed(bytes);
  conversation cut;
  std::size_t from = 0;
  for (const std::size_t at : fuzz::cuts_of(steps, bytes.size())) {
    cut.feed(bytes.substr(from, at - from));
    from = at;
  }
  cut.feed(bytes.substr(from));
  check(cut.text() == whole.text(), "pieces get the same answers as the whole");
  return 0;
}
