// Requests for one file, and their answers.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

#include "file_server/responder.hpp"
#include "support/scratch_folder.hpp"

namespace file_server::testing {

using rota::test::scratch_folder;

inline constexpr std::int64_t modified = 784'111'777;
inline constexpr std::string_view modified_text = "Sun, 06 Nov 1994 08:49:37 GMT";

/// The file "0123456789", last modified in 1994, and an empty file.
class a_representation : public ::testing::Test {
 protected:
  a_representation() {
    write("a.txt", "0123456789");
    write("empty.txt", "");
    write("folder/index.html", "<p>");
    source_ = std::make_unique<file_source>(folder_.root());
    responder_ = std::make_unique<responder>(*source_);
    tag_ = field(head_of(ask("HEAD", "/a.txt", "")), "ETag");
  }

  void write(std::string_view name, std::string_view content, std::int64_t time = modified) {
    folder_.write(name, content);
    const std::array<timespec, 2> times{timespec{time, 0}, timespec{time, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, folder_.at(name).c_str(), times.data(), 0), 0);
  }

  answer ask(std::string_view verb,
             std::string_view path,
             std::string_view fields,
             std::int64_t now = modified + 60) {
    bytes_ = std::string(verb) + " " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) +
             "\r\n";
    request_parser parser{limits{.request_line = 65'536}};
    request r;
    EXPECT_EQ(parser.parse(bytes_, r).what, verdict::complete) << bytes_;
    return responder_->file(r, persistence::keep, now, out_);
  }
  answer get(std::string_view fields) { return ask("GET", "/a.txt", fields); }

  [[nodiscard]] std::string head_of(const answer& a) const { return {out_.data(), a.bytes}; }

  static std::string field(const std::string& head, std::string_view name) {
    const std::size_t at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }

  /// Returns the body as the session would send it.
  static std::string body_of(const answer& a) {
    std::string out;
    std::array<char, multipart::capacity> text;
    for (const byte_range& part : a.parts) {
      if (a.around != nullptr) out.append(text.data(), a.around->write_part(text, part));
      std::string bytes(part.size, '\0');
      EXPECT_EQ(::pread(a.file.fd.get(), bytes.data(), part.size, static_cast<off_t>(part.first)),
                static_cast<ssize_t>(part.size));
      out += bytes;
    }
    if (a.around != nullptr) out.append(text.data(), a.around->write_end(text));
    return out;
  }

  scratch_folder folder_;
  std::unique_ptr<file_source> source_;
  std::unique_ptr<responder> responder_;
  std::array<char, responder::answer_capacity> out_{};
  std::string bytes_;
  std::string tag_;
};

}  // namespace file_server::testing
