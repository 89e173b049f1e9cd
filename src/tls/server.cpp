#include <rota/tls/server.hpp>

#include "tls/contexts.hpp"
#include "tls/host.hpp"
#include "tls/session_cache.hpp"
#include "tls/settings.hpp"

#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/x509v3.h>

namespace rota::tls {

namespace detail {

namespace {

const std::string server_field = "server_config";
constexpr std::size_t most_identities = 1000;
constexpr unsigned char id_of_sessions[] = {'r', 'o', 't', 'a'};

int verify_mode(client_certificates wanted) noexcept {
  switch (wanted) {
    case client_certificates::none: return SSL_VERIFY_NONE;
    case client_certificates::optional: return SSL_VERIFY_PEER;
    case client_certificates::required: break;
  }
  return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
}

class server_context final : public context {
 public:
  explicit server_context(const server_config& from);
  [[nodiscard]] ssl_st* open(session& of, std::string_view host, std::error_code& why) override;

 private:
  void load_identities(const server_config& from);
  void ask_clients(const server_config& from);
  [[nodiscard]] const loaded_identity* valid_for(const char* host) const noexcept;
  static int choose_identity(SSL* ssl, int* alert, void* self) noexcept;
  static SSL_TICKET_RETURN judge_ticket(SSL* ssl,
                                        SSL_SESSION* session,
                                        const unsigned char* key,
                                        std::size_t key_size,
                                        SSL_TICKET_STATUS status,
                                        void* self) noexcept;
  static int choose_protocol(SSL* ssl,
                             const unsigned char** chosen,
                             unsigned char* chosen_size,
                             const unsigned char* offered,
                             unsigned offered_size,
                             void* self) noexcept;

  ssl_ctx_ptr ctx_;
  std::vector<loaded_identity> identities_;
  unknown_hosts unknown_;
  std::string protocols_;
};

server_context::server_context(const server_config& from)
    : ctx_(make_ssl_ctx(side::server, from.minimum_version, server_field)),
      unknown_(from.unknown),
      protocols_(protocols_of(from.alpn, server_field)) {
  load_identities(from);
  ask_clients(from);
  if (!protocols_.empty()) SSL_CTX_set_alpn_select_cb(ctx_.get(), choose_protocol, this);
  SSL_CTX_set_session_cache_mode(ctx_.get(), SSL_SESS_CACHE_OFF);
  if (SSL_CTX_set_session_id_context(ctx_.get(), id_of_sessions, sizeof id_of_sessions) != 1)
    throw std::bad_alloc();
  SSL_CTX_set_options(ctx_.get(), SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  if (SSL_CTX_set_session_ticket_cb(ctx_.get(), nullptr, judge_ticket, nullptr) != 1) throw std::bad_alloc();
  // OpenSSL sends none with the handshake: session::issue_tickets() makes them.
  SSL_CTX_set_num_tickets(ctx_.get(), 0);
  if (from.sessions != resumption::by_tickets) SSL_CTX_set_options(ctx_.get(), SSL_OP_NO_TICKET);
}

void server_context::load_identities(const server_config& from) {
  const std::string field = server_field + ".identities";
  if (from.identities.empty() || from.identities.size() > most_identities) refuse(field, "not 1 to 1000");
  for (std::size_t i = 0; i < from.identities.size(); ++i)
    identities_.push_back(load(from.identities[i], field + "[" + std::to_string(i) + "]"));
  use(ctx_.get(), identities_.front(), field + "[0]");
  SSL_CTX_set_tlsext_servername_callback(ctx_.get(), choose_identity);
  SSL_CTX_set_tlsext_servername_arg(ctx_.get(), this);
}

void server_context::ask_clients(const server_config& from) {
  const trust_sources sources{from.ca_file, from.ca_folder, from.ca_pem};
  const bool asks = from.from_clients != client_certificates::none;
  if (asks && sources.is_empty())
    refuse(server_field + ".ca_file", "certificates of clients are wanted, and none is trusted");
  trust(ctx_.get(), sources, server_field);
  SSL_CTX_set_verify(ctx_.get(), verify_mode(from.from_clients), nullptr);
}

const loaded_identity* server_context::valid_for(const char* host) const noexcept {
  for (const loaded_identity& each : identities_) {
    const int said = X509_check_host(each.certificate.get(), host, 0, check_flags, nullptr);
    if (said == 1) return &each;
  }
  return nullptr;
}

int server_context::choose_identity(SSL* ssl, int* alert, void* self) noexcept {
  const auto& of = *static_cast<const server_context*>(self);
  const char* const host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (host == nullptr) return SSL_TLSEXT_ERR_NOACK;
  const loaded_identity* const found = of.valid_for(host);
  if (found == nullptr) {
    *alert = SSL_AD_UNRECOGNIZED_NAME;
    return of.unknown_ == unknown_hosts::are_refused ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK;
  }
  // The first identity is set already. For another one all are removed first, since one with a key of another
  // kind would stay beside it.
  if (found == &of.identities_.front()) return SSL_TLSEXT_ERR_OK;
  SSL_certs_clear(ssl);
  if (SSL_use_cert_and_key(ssl, found->certificate.get(), found->key.get(), found->chain.get(), 1) == 1)
    return SSL_TLSEXT_ERR_OK;
  *alert = SSL_AD_INTERNAL_ERROR;
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// Ignores the ticket of a client with a certificate that has expired since: the client must send a
/// certificate again.
SSL_TICKET_RETURN server_context::judge_ticket(SSL* /*ssl*/,
                                               SSL_SESSION* session,
                                               const unsigned char* /*key*/,
                                               std::size_t /*key_size*/,
                                               SSL_TICKET_STATUS status,
                                               void* /*self*/) noexcept {
  if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW)
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  if (!is_in_date(session)) return SSL_TICKET_RETURN_IGNORE_RENEW;
  return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

/// Chooses the first protocol of ours that the client offers.
int server_context::choose_protocol(SSL* /*ssl*/,
                                    const unsigned char** chosen,
                                    unsigned char* chosen_size,
                                    const unsigned char* offered,
                                    unsigned offered_size,
                                    void* self) noexcept {
  const std::string& ours = static_cast<const server_context*>(self)->protocols_;
  unsigned char* found = nullptr;
  const int said = SSL_select_next_proto(&found,
                                         chosen_size,
                                         reinterpret_cast<const unsigned char*>(ours.data()),
                                         static_cast<unsigned>(ours.size()),
                                         offered,
                                         offered_size);
  *chosen = found;
  return said == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

ssl_st* server_context::open(session& of, std::string_view /*host*/, std::error_code& /*why*/) {
  ERR_clear_error();
  ssl_ptr made(SSL_new(ctx_.get()));
  if (made == nullptr) throw std::bad_alloc();
  SSL_set_app_data(made.get(), &of);
  SSL_set_accept_state(made.get());
  return made.release();
}

}  // namespace

shared_ref<context> make_server_context(const server_config& from) {
  return shared_ref<context>(new server_context(from));
}

}  // namespace detail

server::server(const server_config& from) : context_(detail::make_server_context(from)) {}

}  // namespace rota::tls
