// Turns the output of Beast's parser for one complete head into a request.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <string_view>

#include "file_server/request.hpp"
#include "file_server/status.hpp"
#include "file_server/target.hpp"

namespace file_server {

/// Keeps views of the few fields that matter. Stores nothing else and allocates nothing.
class head_fields final : public boost::beast::http::basic_parser<true> {
 public:
  explicit head_fields(scheme spoken) noexcept;

  /// Parses `head`, which ends with its blank line. Returns ok, or the reason to refuse the request; then
  /// `request_` is incomplete.
  [[nodiscard]] status read(std::string_view head) noexcept;

  [[nodiscard]] const request& result() const noexcept { return request_; }

 private:
  using error_code = boost::beast::error_code;
  using view = boost::beast::string_view;
  using length = boost::optional<std::uint64_t>;

  void on_request_impl(boost::beast::http::verb, view, view target, int version, error_code&) override;
  void on_response_impl(int, view, int, error_code&) override {}
  void on_field_impl(boost::beast::http::field, view name, view value, error_code&) override;
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const length&, error_code&) override {}
  std::size_t on_body_impl(view, error_code&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, view, error_code&) override { return 0; }
  void on_finish_impl(error_code&) override {}

  void on_connection(view value) noexcept;
  [[nodiscard]] status check_framing() const noexcept;
  [[nodiscard]] status check_host() const noexcept;
  [[nodiscard]] status check_method() const noexcept;
  [[nodiscard]] status check_body() const noexcept;
  [[nodiscard]] status take_target() noexcept;
  void settle_connection() noexcept;
  void settle_fields() noexcept;

  struct once {
    std::string_view value;
    std::uint32_t count = 0;
    void add(view v) noexcept;
    [[nodiscard]] std::string_view only() const noexcept { return count == 1 ? value : std::string_view(); }
  };

  const scheme spoken_;
  request request_;
  boost::beast::http::verb verb_ = boost::beast::http::verb::unknown;
  std::string_view target_;
  once host_;
  once content_length_;
  once transfer_encoding_;
  once if_modified_since_;
  once if_unmodified_since_;
  once range_;
  once if_range_;
  bool says_close_ = false;
  bool says_keep_alive_ = false;
};

}  // namespace file_server
