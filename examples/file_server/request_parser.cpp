#include "file_server/request_parser.hpp"

#include "file_server/head_fields.hpp"

namespace file_server {

parsed request_parser::parse(std::string_view input, request& into) noexcept {
  const auto [what, code] = scanner_.scan(input);
  if (what == head_scanner::found::need_more) return {};
  if (what == head_scanner::found::error) return refuse(input, code);

  const std::size_t used = scanner_.last();
  const std::string_view line = request_line(input);
  head_fields fields(spoken_);
  const status judged = fields.read(input.substr(scanner_.first(), used - scanner_.first()));
  if (judged != status::ok) return refuse(input, judged);
  scanner_.restart();
  into = fields.result();
  into.line = line;
  return {.what = verdict::complete, .used = used};
}

parsed request_parser::refuse(std::string_view input, status code) const noexcept {
  const bool is_head = input.substr(scanner_.first()).starts_with("HEAD ");
  return {
      .what = verdict::refused, .code = code, .body = is_head ? body_rule::forbidden : body_rule::allowed};
}

std::string_view request_parser::request_line(std::string_view input) const noexcept {
  input.remove_prefix(scanner_.first());
  return input.substr(0, input.find_first_of("\r\n"));
}

}  // namespace file_server
