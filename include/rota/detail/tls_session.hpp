// One end of a TLS connection without a stream: bytes in, bytes out, and their meaning. It hides OpenSSL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <rota/detail/base.hpp>
#include <rota/detail/base_mutex.hpp>
#include <rota/detail/io_buffers.hpp>
#include <rota/detail/tls_link.hpp>
#include <rota/tls/config.hpp>

struct bio_st;
struct ssl_st;

namespace rota::tls::detail {

class session;

/// Makes sessions: the shared part of a client, or of a server. Never changes.
class ROTA_API context : public shared_part {
 public:
  /// Makes the OpenSSL object of `of`, ready for its handshake with `host`. Sets `why` if `host` is no host.
  [[nodiscard]] virtual ssl_st* open(session& of, std::string_view host, std::error_code& why) = 0;

 protected:
  context() noexcept = default;
  ~context() override = default;
};

/// The properties of one connection, after its handshake.
struct facts {
  std::string host;    // the host that the client has asked for
  std::string cipher;  // "TLS_AES_256_GCM_SHA384"
  std::string alpn;
  version spoken = version::tls_1_3;
  bool is_resumed = false;
};

/// The engine of a link: see tls_link.hpp. OpenSSL reads from in_ and writes to out_.
class ROTA_API session {
 public:
  /// Throws `std::bad_alloc`.
  session(shared_ref<context> of, std::string_view host);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  // See the protocol of link.
  [[nodiscard]] moved handshake() noexcept;
  /// Called after the handshake. Returns true if the peer waits for the last part of it.
  [[nodiscard]] bool is_waited_for() noexcept;
  [[nodiscard]] moved read(std::span<std::byte> into) noexcept;
  [[nodiscard]] bool may_write() noexcept;
  [[nodiscard]] moved write(std::span<const std::byte> from) noexcept;
  [[nodiscard]] moved finish() noexcept;
  [[nodiscard]] std::error_code error() noexcept;        // of a failed call
  [[nodiscard]] std::error_code write_error() noexcept;  // of a failed write, settle or finish
  [[nodiscard]] bool has_arrived_since(std::uint64_t seen) noexcept;
  [[nodiscard]] std::span<std::byte> room(std::uint64_t seen);
  void arrived(std::size_t count) noexcept;
  [[nodiscard]] bool has_news() noexcept;
  [[nodiscard]] std::span<const std::byte> outgoing() noexcept;
  void sent(std::size_t count) noexcept;
  void keep(std::span<const std::byte> unsettled) noexcept;
  [[nodiscard]] moved settle(std::span<const std::byte> from) noexcept;

  /// Called after the handshake.
  [[nodiscard]] facts about();
  [[nodiscard]] std::vector<std::byte> peer_certificate();
  [[nodiscard]] std::string peer_subject();

  [[nodiscard]] context& made_of() const noexcept { return *context_; }
  [[nodiscard]] const std::string& host() const noexcept { return host_; }

  // Called by OpenSSL, under the lock.
  int give_to_openssl(char* into, int size) noexcept;
  int take_from_openssl(const char* from, int size) noexcept;

 private:
  [[nodiscard]] moved look(int said) noexcept;
  void owe_tickets() noexcept;
  void issue_tickets() noexcept;
  [[nodiscard]] moved failed(std::error_code why) noexcept;

  static constexpr std::size_t first_room = 4096;
  static constexpr std::size_t most_room = 17408;  // a record and its overhead
  static constexpr std::size_t most_in_a_record = 16384;
  static constexpr std::size_t most_pending = 65536;

  shared_ref<context> context_;
  std::string host_;
  ssl_st* ssl_ = nullptr;
  base::mutex lock_;
  std::error_code error_;        // of the connection: every later call fails
  std::error_code write_error_;  // of the writing direction
  bool below_has_ended_ = false;
  bool has_finished_ = false;
  bool room_is_too_small_ = false;
  unsigned tickets_ = 0;  // how many the first write sends

  io::detail::raw_bytes in_;
  std::size_t in_first_ = 0;
  std::size_t in_end_ = 0;
  std::uint64_t arrivals_ = 0;

  std::vector<std::byte> out_;
  std::vector<std::byte> sending_;
  std::size_t sent_ = 0;
  std::vector<std::byte> unsettled_;
};

}  // namespace rota::tls::detail
