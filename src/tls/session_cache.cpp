#include "tls/session_cache.hpp"

#include <new>
#include <utility>

namespace rota::tls::detail {

bool is_in_date(const SSL_SESSION* session, const std::time_t* at) noexcept {
  // OpenSSL's parameter lacks a const.
  const X509* const peer = SSL_SESSION_get0_peer(const_cast<SSL_SESSION*>(session));
  if (peer == nullptr) return true;
  // X509_cmp_time() returns 0 for an error; it has no result for equal times.
  auto* const when = const_cast<std::time_t*>(at);
  return X509_cmp_time(X509_get0_notBefore(peer), when) < 0 &&
         X509_cmp_time(X509_get0_notAfter(peer), when) > 0;
}

ssl_session_ptr session_cache::take(std::string_view host, const std::time_t* at) {
  const base::turn_guard inside(lock_);
  const auto found = by_name_.find(host);
  if (found == by_name_.end() || found->second->sessions.empty()) return nullptr;
  hosts_.splice(hosts_.begin(), hosts_, found->second);
  std::vector<ssl_session_ptr>& sessions = hosts_.front().sessions;
  std::erase_if(sessions, [at](const ssl_session_ptr& each) { return !is_in_date(each.get(), at); });
  if (sessions.empty()) return nullptr;
  SSL_SESSION* const newest = sessions.back().get();
  if (SSL_SESSION_get_protocol_version(newest) != TLS1_3_VERSION && SSL_SESSION_up_ref(newest) == 1)
    return ssl_session_ptr(newest);
  ssl_session_ptr taken = std::move(sessions.back());
  sessions.pop_back();
  return taken;
}

session_cache::kept& session_cache::in_front(const std::string& host) {
  const auto found = by_name_.find(host);
  if (found != by_name_.end()) {
    hosts_.splice(hosts_.begin(), hosts_, found->second);
    return hosts_.front();
  }
  while (hosts_.size() >= capacity_) {
    by_name_.erase(hosts_.back().host);
    hosts_.pop_back();
  }
  hosts_.push_front({.host = host, .sessions = {}});
  try {
    by_name_.emplace(hosts_.front().host, hosts_.begin());
  } catch (...) {
    hosts_.pop_front();
    throw;
  }
  return hosts_.front();
}

void session_cache::put(const std::string& host, ssl_session_ptr session) noexcept {
  if (capacity_ == 0) return;
  const base::turn_guard inside(lock_);
  try {
    std::vector<ssl_session_ptr>& sessions = in_front(host).sessions;
    sessions.push_back(std::move(session));
    if (sessions.size() > most_of_a_host) sessions.erase(sessions.begin());
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace rota::tls::detail
