// TLS by rota::tls.
#include <stdexcept>
#include <string_view>
#include <utility>

#include <rota/tls/config.hpp>
#include <rota/tls/server.hpp>

#include "encryption.hpp"

namespace file_server {

namespace {

using rota::net::result;
using stream = rota::tls::stream<rota::net::tcp_stream>;

class tls_stream final : public secure_stream {
 public:
  explicit tls_stream(stream over) noexcept : stream_(std::move(over)) {}

  rota::task<result<std::size_t>> read(std::span<std::byte> into) override { return stream_.read(into); }
  rota::task<result<std::size_t>> write_all(std::span<const std::byte> from) override {
    return stream_.write_all(from);
  }
  rota::task<result<void>> finish() override { return stream_.shutdown_write(); }
  rota::net::tcp_stream& socket() noexcept override { return stream_.below(); }

 private:
  stream stream_;
};

class tls_encryption final : public encryption {
 public:
  explicit tls_encryption(const rota::tls::server_config& from) : server_(from) {}

  rota::task<result<std::unique_ptr<secure_stream>>> accept(rota::net::tcp_stream socket) const override {
    result<stream> made = co_await server_.accept(std::move(socket));
    if (!made.has_value()) co_return std::unexpected(made.error());
    std::unique_ptr<secure_stream> over = std::make_unique<tls_stream>(std::move(*made));
    co_return over;
  }

 private:
  rota::tls::server server_;
};

/// Replaces the name of the configuration field by the option, which the user knows. There is no option for a
/// password.
std::string in_words_of_the_options(const rota::tls::config_error& e,
                                    const std::string& certificate,
                                    const std::string& key) {
  std::string why = std::string(e.what()).substr(e.field().size());
  constexpr std::string_view hint = "key_password must be given";
  const std::size_t at = why.find(hint);
  if (at != std::string::npos) why.replace(at, hint.size(), "it cannot be used");
  return (e.field().ends_with(".key_file") ? "--key " + key : "--certificate " + certificate) + why;
}

}  // namespace

std::unique_ptr<encryption> make_encryption(const std::string& certificate, const std::string& key) {
  rota::tls::server_config config;
  config.identities.push_back({.chain_file = certificate, .key_file = key});
  config.alpn = {"http/1.1"};
  try {
    return std::make_unique<tls_encryption>(config);
  } catch (const rota::tls::config_error& e) {
    throw std::invalid_argument(in_words_of_the_options(e, certificate, key));
  }
}

}  // namespace file_server
