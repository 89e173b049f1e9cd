// A peer made with OpenSSL itself, which can do what rota's own peer never does.
#pragma once

#include "unit/tls/tls_support.hpp"

#include <rota/io/algorithms.hpp>

#include <array>
#include <string>
#include <vector>

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace rota::test {

template <io::stream S>
class foreign_peer_over {
 public:
  enum class role : unsigned char { client, server };

  /// A server presents `shown`. A client trusts every certificate.
  foreign_peer_over(role as, S below, const tls::identity& shown = of_example_com())
      : below_(std::move(below)), ctx_(SSL_CTX_new(TLS_method())) {
    if (as == role::server) {
      give_identity(shown);
    } else {
      SSL_CTX_set_verify(ctx_, SSL_VERIFY_NONE, nullptr);
    }
    ssl_ = SSL_new(ctx_);
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    as == role::server ? SSL_set_accept_state(ssl_) : SSL_set_connect_state(ssl_);
  }
  foreign_peer_over(const foreign_peer_over&) = delete;
  foreign_peer_over& operator=(const foreign_peer_over&) = delete;
  ~foreign_peer_over() {
    SSL_free(ssl_);
    SSL_CTX_free(ctx_);
  }

  [[nodiscard]] SSL* ssl() const noexcept { return ssl_; }
  [[nodiscard]] S& below() noexcept { return below_; }

  /// Repeats the call until it needs no more input. Returns 1, or the result of SSL_get_error.
  template <class Call>
  task<int> until_done(Call call) {
    for (;;) {
      ERR_clear_error();
      const int said = call(ssl_);
      co_await send();
      if (said > 0) co_return 1;
      const int why = SSL_get_error(ssl_, said);
      if (why != SSL_ERROR_WANT_READ) co_return why;
      const bool more = co_await receive();
      if (!more) co_return SSL_ERROR_SYSCALL;
    }
  }
  task<int> handshake() { return until_done(&SSL_do_handshake); }
  /// The same, but returns the last step's output (tickets of a TLS 1.3 server) unsent. Empty if it fails.
  task<std::vector<std::byte>> handshake_without_last_step() {
    while (SSL_do_handshake(ssl_) != 1) {
      co_await send();
      const bool more = co_await receive();
      if (!more) co_return std::vector<std::byte>();
    }
    co_return outgoing();
  }
  task<int> write(std::string_view text) {
    const auto call = [text](SSL* s) { return SSL_write(s, text.data(), static_cast<int>(text.size())); };
    co_return co_await until_done(call);
  }
  /// Reads at least `size` bytes, or fewer if the connection ends.
  task<std::string> read(std::size_t size) {
    std::string got;
    std::array<char, 4096> buffer;
    while (got.size() < size) {
      int count = 0;
      const auto call = [&buffer, &count](SSL* s) {
        return count = SSL_read(s, buffer.data(), static_cast<int>(buffer.size()));
      };
      const int said = co_await until_done(call);
      if (said != 1) break;
      got.append(buffer.data(), static_cast<std::size_t>(count));
    }
    co_return got;
  }
  /// Sends what OpenSSL has written.
  task<void> send() {
    const std::vector<std::byte> bytes = outgoing();
    static_cast<void>(co_await io::write_all(below_, bytes));
  }
  [[nodiscard]] std::vector<std::byte> outgoing() {
    std::vector<std::byte> bytes(BIO_ctrl_pending(SSL_get_wbio(ssl_)));
    if (!bytes.empty()) BIO_read(SSL_get_wbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }

 private:
  /// Returns false at the end of the input.
  task<bool> receive() {
    std::array<std::byte, 4096> buffer;
    const result<std::size_t> got = co_await below_.read(buffer);
    if (!got.has_value() || *got == 0) co_return false;
    BIO_write(SSL_get_rbio(ssl_), buffer.data(), static_cast<int>(*got));
    co_return true;
  }
  void give_identity(const tls::identity& who) {
    BIO* const chain = BIO_new_mem_buf(who.chain_pem.data(), -1);
    BIO* const key = BIO_new_mem_buf(who.key_pem.data(), -1);
    X509* const certificate = PEM_read_bio_X509(chain, nullptr, nullptr, nullptr);
    EVP_PKEY* const secret = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
    SSL_CTX_use_cert_and_key(ctx_, certificate, secret, nullptr, 1);
    X509_free(certificate);
    EVP_PKEY_free(secret);
    BIO_free_all(chain);
    BIO_free_all(key);
  }

  S below_;
  SSL_CTX* ctx_;
  SSL* ssl_;
};
using foreign_peer = foreign_peer_over<duplex_end>;

}  // namespace rota::test
