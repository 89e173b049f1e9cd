// The sessions that a client may resume, by host.
#pragma once

#include "base/mutex.hpp"
#include "tls/openssl.hpp"

#include <cstddef>
#include <ctime>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <rota/detail/config.hpp>

namespace rota::tls::detail {

/// Returns true if the certificate that the peer sent when the session began is valid, or if there is none.
/// If `at` is null, it checks the present time.
[[nodiscard]] bool is_in_date(const SSL_SESSION* session, const std::time_t* at = nullptr) noexcept;

// PROTOCOL: session cache
//   hosts_ is a list with the most recently used host in front; by_name_ finds its elements. lock_ guards
//   everything.
//   A TLS 1.3 ticket is used once (RFC 8446 §C.4): take() removes it. A session of TLS 1.2 may be used again.
//   SSL_SESSION counts its owners: the cache is one, and so is each connection.
class ROTA_API session_cache {
 public:
  explicit session_cache(std::size_t capacity) : capacity_(capacity) {}
  session_cache(const session_cache&) = delete;
  session_cache& operator=(const session_cache&) = delete;
  ~session_cache() = default;

  /// Returns the newest session with a valid certificate (see is_in_date()), or null if there is none.
  [[nodiscard]] ssl_session_ptr take(std::string_view host, const std::time_t* at = nullptr);
  /// Stores the session. Drops it if there is no memory.
  void put(const std::string& host, ssl_session_ptr session) noexcept;

 private:
  static constexpr std::size_t most_of_a_host = 4;
  struct kept {
    std::string host;
    std::vector<ssl_session_ptr> sessions;
  };
  using place = std::list<kept>::iterator;

  [[nodiscard]] kept& in_front(const std::string& host);

  const std::size_t capacity_;
  base::mutex lock_;
  std::list<kept> hosts_;
  std::unordered_map<std::string_view, place> by_name_;  // the names are those in hosts_
};

}  // namespace rota::tls::detail
