#include <rota/tls/client.hpp>

#include <rota/tls/error.hpp>

#include "tls/contexts.hpp"
#include "tls/host.hpp"
#include "tls/session_cache.hpp"
#include "tls/settings.hpp"

#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/x509v3.h>

namespace rota::tls {

namespace detail {

namespace {

const std::string client_field = "client_config";
constexpr std::size_t most_hosts = 65536;

class client_context final : public context {
 public:
  explicit client_context(const client_config& from);
  [[nodiscard]] ssl_st* open(session& of, std::string_view host, std::error_code& why) override;

 private:
  static void ask_for_address(SSL* ssl, const address& of);
  static void ask_for_name(SSL* ssl, const std::string& host);
  static int keep(SSL* ssl, SSL_SESSION* session) noexcept;

  ssl_ctx_ptr ctx_;
  verification verify_;
  session_cache sessions_;
};

client_context::client_context(const client_config& from)
    : ctx_(make_ssl_ctx(side::client, from.minimum_version, client_field)),
      verify_(from.verify),
      sessions_(from.remembered_hosts) {
  if (from.remembered_hosts > most_hosts) refuse(client_field + ".remembered_hosts", "more than 65536");
  const trust_sources sources{from.ca_file, from.ca_folder, from.ca_pem};
  trust(ctx_.get(), sources, client_field);
  if (from.trust_system == system_trust::always ||
      (from.trust_system == system_trust::unless_others && sources.is_empty()))
    trust_the_system(ctx_.get(), client_field);
  SSL_CTX_set_verify(
      ctx_.get(), verify_ == verification::required ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (from.own.size() > 1) refuse(client_field + ".own", "more than one");
  for (const identity& own : from.own)
    use(ctx_.get(), load(own, client_field + ".own[0]"), client_field + ".own[0]");
  const std::string protocols = protocols_of(from.alpn, client_field);
  const auto* const wire = reinterpret_cast<const unsigned char*>(protocols.data());
  // 0 is success here.
  if (!protocols.empty() &&
      SSL_CTX_set_alpn_protos(ctx_.get(), wire, static_cast<unsigned>(protocols.size())) != 0)
    throw std::bad_alloc();
  if (from.remembered_hosts == 0) return;
  SSL_CTX_set_session_cache_mode(ctx_.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(ctx_.get(), keep);
}

/// Called by OpenSSL when a ticket comes. Returns 1: the session was taken over.
int client_context::keep(SSL* ssl, SSL_SESSION* session) noexcept {
  detail::session& of = *static_cast<detail::session*>(SSL_get_app_data(ssl));
  auto& self = static_cast<client_context&>(of.made_of());
  self.sessions_.put(of.host(), ssl_session_ptr(session));
  return 1;
}

/// Checks the address in the certificate alone: a handshake names no address (RFC 6066, section 3).
void client_context::ask_for_address(SSL* ssl, const address& of) {
  if (X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), of.bytes, of.size) != 1) throw std::bad_alloc();
}

/// Names the host in the handshake, and checks it in the certificate.
void client_context::ask_for_name(SSL* ssl, const std::string& host) {
  SSL_set_hostflags(ssl, check_flags);
  if (SSL_set1_host(ssl, host.c_str()) != 1 || SSL_set_tlsext_host_name(ssl, host.c_str()) != 1)
    throw std::bad_alloc();
}

ssl_st* client_context::open(session& of, std::string_view host, std::error_code& why) {
  const std::optional<address> number = read_address(host);
  const bool may_be_nameless = verify_ == verification::none && host.empty();
  if (!number.has_value() && !may_be_nameless && !is_a_name(host)) {
    why = errc::bad_name;
    return nullptr;
  }
  ERR_clear_error();
  ssl_ptr made(SSL_new(ctx_.get()));
  if (made == nullptr) throw std::bad_alloc();
  SSL_set_app_data(made.get(), &of);
  SSL_set_connect_state(made.get());
  if (number.has_value()) {
    ask_for_address(made.get(), *number);
  } else if (!host.empty()) {
    ask_for_name(made.get(), std::string(without_root(host)));
  }
  const ssl_session_ptr earlier = sessions_.take(of.host());
  if (earlier != nullptr) SSL_set_session(made.get(), earlier.get());
  return made.release();
}

}  // namespace

shared_ref<context> make_client_context(const client_config& from) {
  return shared_ref<context>(new client_context(from));
}

}  // namespace detail

client::client(const client_config& from) : context_(detail::make_client_context(from)) {}

}  // namespace rota::tls
