#include "file_server/head_fields.hpp"

#include <boost/beast/http/rfc7230.hpp>
#include <initializer_list>
#include <limits>

namespace file_server {
namespace {

namespace http = boost::beast::http;

}  // namespace

head_fields::head_fields(scheme spoken) noexcept : spoken_(spoken) {
  skip(true);  // a body is never read: check_body() refuses every request that has one
  header_limit(std::numeric_limits<std::uint32_t>::max());  // head_scanner has already checked the limits
}

status head_fields::read(std::string_view head) noexcept {
  error_code failed;
  const std::size_t used = put(boost::asio::const_buffer(head.data(), head.size()), failed);
  if (failed || used != head.size() || !is_header_done()) return status::bad_request;
  for (const status judged : {check_framing(), check_host(), check_method(), check_body(), take_target()}) {
    if (judged != status::ok) return judged;
  }
  settle_connection();
  settle_fields();
  return status::ok;
}

void head_fields::on_request_impl(http::verb verb, view, view target, int version, error_code&) {
  verb_ = verb;
  target_ = {target.data(), target.size()};
  request_.verb = verb == http::verb::head ? method::head : method::get;
  request_.version = version == 10 ? http_version::v1_0 : http_version::v1_1;
}

void head_fields::on_field_impl(http::field name, view, view value, error_code&) {
  switch (name) {
    case http::field::host: return host_.add(value);
    case http::field::connection: return on_connection(value);
    case http::field::content_length: return content_length_.add(value);
    case http::field::transfer_encoding: return transfer_encoding_.add(value);
    case http::field::if_match: return request_.if_match.add({value.data(), value.size()});
    case http::field::if_none_match: return request_.if_none_match.add({value.data(), value.size()});
    case http::field::accept_encoding: return request_.accept_encoding.add({value.data(), value.size()});
    case http::field::if_modified_since: return if_modified_since_.add(value);
    case http::field::if_unmodified_since: return if_unmodified_since_.add(value);
    case http::field::range: return range_.add(value);
    case http::field::if_range: return if_range_.add(value);
    default: return;
  }
}

/// Beast's keep_alive() lets "keep-alive" win over "close" in HTTP/1.0, and also obeys Proxy-Connection.
void head_fields::on_connection(view value) noexcept {
  for (const view option : http::opt_token_list(value)) {
    if (boost::beast::iequals(option, "close")) says_close_ = true;
    if (boost::beast::iequals(option, "keep-alive")) says_keep_alive_ = true;
  }
}

/// Refuses every framing that two parsers might understand differently (request smuggling): RFC 9112 §6.1
/// and §6.3.
status head_fields::check_framing() const noexcept {
  if (content_length_.count > 1 || transfer_encoding_.count > 1) return status::bad_request;
  if (content_length_.value.find(',') != std::string_view::npos) return status::bad_request;
  if (transfer_encoding_.count == 0) return status::ok;
  if (content_length_.count != 0 || request_.version == http_version::v1_0) return status::bad_request;
  return chunked() ? status::ok : status::bad_request;
}

status head_fields::check_host() const noexcept {
  if (host_.count > 1 || !is_authority(host_.value)) return status::bad_request;
  const bool needed = request_.version == http_version::v1_1;
  return needed && host_.count == 0 ? status::bad_request : status::ok;
}

status head_fields::check_method() const noexcept {
  if (verb_ == http::verb::unknown) return status::not_implemented;
  if (verb_ != http::verb::get && verb_ != http::verb::head) return status::method_not_allowed;
  return status::ok;
}

/// RFC 9110 §9.3.1: content in a GET has no meaning. It may be refused because it may smuggle a request.
status head_fields::check_body() const noexcept {
  if (transfer_encoding_.count != 0) {
    const view coding(transfer_encoding_.value.data(), transfer_encoding_.value.size());
    return boost::beast::iequals(coding, "chunked") ? status::content_too_large : status::not_implemented;
  }
  return content_length().value_or(0) == 0 ? status::ok : status::content_too_large;
}

status head_fields::take_target() noexcept {
  const auto parts = split_target(target_, spoken_);
  if (!parts) return status::bad_request;
  request_.path = parts->path;
  request_.query = parts->query;
  request_.host = parts->authority.empty() ? host_.value : parts->authority;
  return status::ok;
}

void head_fields::settle_connection() noexcept {
  const bool keep = !says_close_ && (says_keep_alive_ || request_.version == http_version::v1_1);
  request_.connection = keep ? persistence::keep : persistence::close;
}

/// RFC 9110 §13.1.3 and §13.1.4: a date that comes twice is ignored; so is a Range that comes twice.
void head_fields::settle_fields() noexcept {
  request_.if_modified_since = if_modified_since_.only();
  request_.if_unmodified_since = if_unmodified_since_.only();
  request_.if_range = if_range_.only();
  const bool condition_is_unclear = if_range_.count != 0 && request_.if_range.empty();
  if (!condition_is_unclear) request_.range = range_.only();
}

void head_fields::once::add(view v) noexcept {
  value = {v.data(), v.size()};
  ++count;
}

}  // namespace file_server
