#include <rota/detail/tls_session.hpp>

#include <rota/error.hpp>
#include <rota/tls/error.hpp>

#include "base/mutex.hpp"
#include "tls/bio.hpp"
#include "tls/openssl.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace rota::tls::detail {

namespace {

version spoken_by(const SSL* ssl) noexcept {
  return SSL_version(ssl) == TLS1_3_VERSION ? version::tls_1_3 : version::tls_1_2;
}

void append(std::vector<std::byte>& to, std::span<const std::byte> from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

session::session(shared_ref<context> of, std::string_view host) : context_(std::move(of)), host_(host) {
  ssl_ptr made(context_->open(*this, host, error_));
  if (error_) return;
  BIO* const bio = made == nullptr ? nullptr : make_bio(*this);
  if (bio == nullptr) throw std::bad_alloc();
  SSL_set_bio(made.get(), bio, bio);
  ssl_ = made.release();
}

session::~session() {
  if (ssl_ == nullptr) return;
  // A session may be resumed although its connection ends without a close_notify (RFC 8446 §6.1); OpenSSL
  // would discard it.
  if (!error_) SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  SSL_free(ssl_);
  ERR_clear_error();
}

moved session::failed(std::error_code why) noexcept {
  error_ = why;
  return {.what = step::failed};
}

/// Translates the result of an OpenSSL call. `said` is 1 if the call succeeded. If the peer has finished,
/// that is an error, except for a read, which handles it before.
moved session::look(int said) noexcept {
  switch (SSL_get_error(ssl_, said)) {
    case SSL_ERROR_NONE: return {};
    case SSL_ERROR_ZERO_RETURN: return failed(make_error_code(rota::errc::end_of_stream));
    case SSL_ERROR_WANT_WRITE: return {.what = step::wants_room};
    case SSL_ERROR_WANT_READ:
      if (below_has_ended_) return {.what = step::failed};
      return {.what = step::wants_bytes, .arrivals = arrivals_};
    default: return failed(take_error_of(ssl_));
  }
}

moved session::handshake() noexcept {
  const base::turn_guard inside(lock_);
  if (error_) return {.what = step::failed};
  ERR_clear_error();
  const moved m = look(SSL_do_handshake(ssl_));
  if (m.what == step::done) owe_tickets();
  return m;
}

/// Notes how many tickets a TLS 1.3 server owes. If the tickets went with the handshake, they could be unread
/// input of a client that never reads: its close would reset the connection, and its last bytes would be
/// lost. So they go with the server's first data, which the client must read anyway.
void session::owe_tickets() noexcept {
  if (SSL_is_server(ssl_) == 0 || SSL_version(ssl_) != TLS1_3_VERSION) return;
  if ((SSL_get_options(ssl_) & SSL_OP_NO_TICKET) != 0) return;
  tickets_ = SSL_session_reused(ssl_) != 0 ? 1 : 2;  // as many as OpenSSL would send with the handshake
}

/// Orders the owed tickets. OpenSSL makes them in the next call of SSL_write_ex, before its record. A ticket
/// that cannot be made is no error of the connection.
void session::issue_tickets() noexcept {
  if (SSL_in_init(ssl_) != 0) return;  // OpenSSL would refuse now: the next write sends them
  for (; tickets_ != 0; --tickets_) {
    if (SSL_new_session_ticket(ssl_) != 1) ERR_clear_error();
  }
}

/// Returns false for a TLS 1.3 server: it has received the peer's last message, and sends nothing more for
/// the handshake.
bool session::is_waited_for() noexcept {
  const base::turn_guard inside(lock_);
  return SSL_is_server(ssl_) == 0 || SSL_version(ssl_) != TLS1_3_VERSION;
}

moved session::read(std::span<std::byte> into) noexcept {
  const base::turn_guard inside(lock_);
  if (error_) return {.what = step::failed};
  ERR_clear_error();
  std::size_t got = 0;
  const int said = SSL_read_ex(ssl_, into.data(), into.size(), &got);
  if (said == 1) return {.bytes = got};
  if (SSL_get_error(ssl_, said) == SSL_ERROR_ZERO_RETURN) return {};
  return look(said);
}

bool session::may_write() noexcept {
  const base::turn_guard inside(lock_);
  return !error_ && !write_error_;
}

moved session::write(std::span<const std::byte> from) noexcept {
  const base::turn_guard inside(lock_);
  if (error_ || write_error_) return {.what = step::failed};
  // A record is made whole, or not at all.
  if (out_.size() > most_pending / 2) return {.what = step::wants_room};
  ERR_clear_error();
  issue_tickets();
  std::size_t put = 0;
  moved m = look(SSL_write_ex(ssl_, from.data(), std::min(from.size(), most_in_a_record), &put));
  m.bytes = put;
  return m;
}

moved session::finish() noexcept {
  const base::turn_guard inside(lock_);
  if (has_finished_) return {};
  if (error_ || write_error_) return {.what = step::failed};
  if (out_.size() > most_pending / 2) return {.what = step::wants_room};
  ERR_clear_error();
  // Half of a message has come: no record may be sent before the other half has come.
  if (SSL_in_init(ssl_) != 0) {
    const int said = SSL_do_handshake(ssl_);
    if (said != 1) return look(said);
  }
  const int said = SSL_shutdown(ssl_);
  if (said < 0) return look(said);
  has_finished_ = true;
  write_error_ = std::make_error_code(std::errc::broken_pipe);
  return {};
}

std::error_code session::error() noexcept {
  const base::turn_guard inside(lock_);
  return error_ ? error_ : make_error_code(rota::errc::end_of_stream);
}

std::error_code session::write_error() noexcept {
  const base::turn_guard inside(lock_);
  if (error_) return error_;
  return write_error_ ? write_error_ : make_error_code(rota::errc::end_of_stream);
}

bool session::has_arrived_since(std::uint64_t seen) noexcept {
  const base::turn_guard inside(lock_);
  return arrivals_ != seen;
}

std::span<std::byte> session::room(std::uint64_t seen) {
  const base::turn_guard inside(lock_);
  if (arrivals_ != seen) return {};
  ROTA_ASSERT(in_first_ == in_end_);
  const std::size_t wanted = room_is_too_small_ ? most_room : first_room;
  if (in_.size() < wanted) in_ = io::detail::raw_bytes(wanted);
  return {in_.data(), in_.size()};
}

void session::arrived(std::size_t count) noexcept {
  const base::turn_guard inside(lock_);
  ROTA_ASSERT(in_first_ == in_end_);
  if (count > in_.size()) [[unlikely]]
    ROTA_FATAL("the stream below a TLS connection has read more than there was room for", count);
  in_first_ = 0;
  in_end_ = count;
  ++arrivals_;
  if (count == 0) below_has_ended_ = true;
  if (count == in_.size()) room_is_too_small_ = true;
}

bool session::has_news() noexcept {
  const base::turn_guard inside(lock_);
  return !out_.empty();
}

std::span<const std::byte> session::outgoing() noexcept {
  if (sent_ == sending_.size()) {
    sending_.clear();
    sent_ = 0;
    const base::turn_guard inside(lock_);
    sending_.swap(out_);
  }
  return std::span(sending_).subspan(sent_);
}

/// Checks the count: the stream may be the user's own type.
void session::sent(std::size_t count) noexcept {
  if (count > sending_.size() - sent_) [[unlikely]]
    ROTA_FATAL("the stream below a TLS connection has written more than it was given", count);
  sent_ += count;
}

void session::keep(std::span<const std::byte> unsettled) noexcept {
  const base::turn_guard inside(lock_);
  try {
    unsettled_.assign(unsettled.begin(), unsettled.end());
  } catch (const std::bad_alloc&) {
    write_error_ = std::make_error_code(std::errc::not_enough_memory);
  }
}

moved session::settle(std::span<const std::byte> from) noexcept {
  const base::turn_guard inside(lock_);
  if (error_ || write_error_) return {.what = step::failed};
  if (unsettled_.empty()) return {};
  const std::size_t size = std::min(from.size(), unsettled_.size());
  if (std::memcmp(from.data(), unsettled_.data(), size) != 0) {
    write_error_ = errc::write_abandoned;
    return {.what = step::failed};
  }
  unsettled_.erase(unsettled_.begin(), unsettled_.begin() + static_cast<std::ptrdiff_t>(size));
  return {.bytes = size};
}

facts session::about() {
  const base::turn_guard inside(lock_);
  facts f;
  const char* const asked_for = SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
  f.host = asked_for == nullptr ? host_ : std::string(asked_for);
  const char* const cipher = SSL_get_cipher_name(ssl_);
  if (cipher != nullptr) f.cipher = cipher;
  const unsigned char* alpn = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &alpn, &size);
  if (size != 0) f.alpn.assign(reinterpret_cast<const char*>(alpn), size);
  f.spoken = spoken_by(ssl_);
  f.is_resumed = SSL_session_reused(ssl_) != 0;
  return f;
}

std::vector<std::byte> session::peer_certificate() {
  const base::turn_guard inside(lock_);
  const x509_ptr peer(SSL_get1_peer_certificate(ssl_));
  std::vector<std::byte> der;
  const int size = peer == nullptr ? 0 : i2d_X509(peer.get(), nullptr);
  if (size <= 0) return der;
  der.resize(static_cast<std::size_t>(size));
  auto* into = reinterpret_cast<unsigned char*>(der.data());
  i2d_X509(peer.get(), &into);
  return der;
}

std::string session::peer_subject() {
  const base::turn_guard inside(lock_);
  const x509_ptr peer(SSL_get1_peer_certificate(ssl_));
  const bio_ptr text(BIO_new(BIO_s_mem()));
  if (peer == nullptr || text == nullptr) return {};
  X509_NAME_print_ex(text.get(), X509_get_subject_name(peer.get()), 0, XN_FLAG_RFC2253);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return size <= 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

int session::give_to_openssl(char* into, int size) noexcept {
  const std::size_t n = std::min(in_end_ - in_first_, static_cast<std::size_t>(size));
  if (n != 0) std::memcpy(into, in_.data() + in_first_, n);
  in_first_ += n;
  return static_cast<int>(n);
}

/// Appends to `out_`. Returns 0 if it is full, and -1 if there is no memory.
int session::take_from_openssl(const char* from, int size) noexcept {
  if (out_.size() >= most_pending) return 0;
  try {
    append(out_, std::as_bytes(std::span(from, static_cast<std::size_t>(size))));
  } catch (const std::bad_alloc&) {
    return -1;
  }
  return size;
}

}  // namespace rota::tls::detail
