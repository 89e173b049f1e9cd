#include "file_server/multipart.hpp"

#include "file_server/response.hpp"

namespace file_server {

void multipart::begin(std::string_view type,
                      std::uint64_t whole,
                      std::span<const byte_range> parts,
                      randomness seed) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::size_t i = 0; i < boundary_.size(); ++i) {
    boundary_[i] = digits[(seed[i / 16] >> (4 * (i % 16))) & 0xfU];
  }
  text_writer w(type_of_all_);
  w.add("multipart/byteranges; boundary=");
  w.add(boundary());
  type_size_ = w.size();
  type_ = type;
  whole_ = whole;

  std::array<char, capacity> scratch;
  length_ = write_end(scratch);
  for (const byte_range& part : parts) length_ += write_part(scratch, part) + part.size;
}

std::size_t multipart::write_part(std::span<char> out, const byte_range& part) const noexcept {
  text_writer w(out);
  w.add("\r\n--");
  w.add(boundary());
  w.add("\r\n");
  w.field("Content-Type", type_);
  w.add("Content-Range: ");
  add_content_range(w, {.part = part, .whole = whole_});
  w.add("\r\n\r\n");
  return w.size();
}

std::size_t multipart::write_end(std::span<char> out) const noexcept {
  text_writer w(out);
  w.add("\r\n--");
  w.add(boundary());
  w.add("--\r\n");
  return w.size();
}

}  // namespace file_server
