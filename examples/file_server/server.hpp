// The server: accepts, serves each connection in its own task, drains.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <rota/net/tcp_listener.hpp>
#include <rota/task.hpp>
#include <rota/unix_signal.hpp>

#include "access_log.hpp"
#include "connections.hpp"
#include "encryption.hpp"
#include "file_source.hpp"
#include "log_line.hpp"
#include "options.hpp"
#include "stats.hpp"

namespace file_server {

/// Counters that all connections update.
struct counters {
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> out_of_memory{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> answered_2xx{0};
  std::atomic<std::uint64_t> answered_3xx{0};
  std::atomic<std::uint64_t> answered_4xx{0};
  std::atomic<std::uint64_t> answered_5xx{0};
  std::atomic<std::uint64_t> header_timeouts{0};
  std::atomic<std::uint64_t> idle_timeouts{0};
  std::atomic<std::uint64_t> handshakes{0};
  std::atomic<std::uint64_t> handshake_failures{0};
  std::atomic<std::uint64_t> handshake_timeouts{0};
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> sent{0};

  [[nodiscard]] std::atomic<std::uint64_t>& of(status code) noexcept {
    switch (code_of(code) / 100) {
      case 2: return answered_2xx;
      case 3: return answered_3xx;
      case 4: return answered_4xx;
      default: return answered_5xx;
    }
  }

  static void add(std::atomic<std::uint64_t>& which, std::uint64_t n) noexcept {
    which.fetch_add(n, std::memory_order::relaxed);
  }
};

/// One of `Most` places. A move passes the place on.
template <std::uint32_t Most>
class place_of {
 public:
  static constexpr std::uint32_t most = Most;

  explicit place_of(std::atomic<std::uint32_t>& taken) noexcept
      : taken_(&taken), is_free_(taken.fetch_add(1) < most) {}
  place_of(place_of&& other) noexcept
      : taken_(std::exchange(other.taken_, nullptr)), is_free_(other.is_free_) {}
  place_of& operator=(place_of&&) = delete;
  ~place_of() {
    if (taken_ != nullptr) taken_->fetch_sub(1);
  }

  [[nodiscard]] bool is_free() const noexcept { return is_free_; }

 private:
  std::atomic<std::uint32_t>* taken_;
  bool is_free_;
};

/// Limits the folders that are being read, and the pages that wait for slow clients: a page may have some
/// megabytes.
using listing_place = place_of<16>;
/// Limits the connections above the limit that wait for their 503: each has a descriptor.
using refusal_place = place_of<64>;

class server {
 public:
  /// Throws std::system_error if the directory or the access log cannot be opened. Throws
  /// std::invalid_argument for limits out of range and for an unusable certificate or key.
  server(const options& o, unsigned workers);

  /// Listens, prints the address, serves until SIGINT or SIGTERM, then drains. Returns the exit code.
  rota::task<int> run();

  [[nodiscard]] stats snapshot() const;
  [[nodiscard]] const options& settings() const noexcept { return options_; }
  /// Returns null if connections are not encrypted.
  [[nodiscard]] const encryption* secured() const noexcept { return encryption_.get(); }
  [[nodiscard]] const file_source& files() const noexcept { return files_; }
  [[nodiscard]] counters& counts() noexcept { return counters_; }
  [[nodiscard]] std::atomic<std::uint32_t>& listings() noexcept { return listings_; }
  [[nodiscard]] std::atomic<std::uint32_t>& refusals() noexcept { return refusals_; }
  [[nodiscard]] bool is_logging() const noexcept { return log_.has_value(); }
  /// Adds a line. Call it only if is_logging().
  void log(const log_entry& e) noexcept;
  [[nodiscard]] class connections& open_connections() noexcept { return connections_; }

 private:
  rota::task<void> accept_all(rota::net::tcp_listener listener);
  void admit(rota::net::tcp_stream stream) noexcept;
  void turn_away(rota::net::tcp_stream stream) noexcept;
  rota::task<void> refuse(rota::net::tcp_stream stream, refusal_place place);
  rota::task<void> send_refusal(transport& over);
  rota::task<void> serve_until_signal(rota::net::tcp_listener listener, rota::unix_signal& signals);
  rota::task<void> drain(int signal_number);
  [[nodiscard]] std::FILE* messages() const noexcept;
  rota::task<void> reopen_log(rota::unix_signal& hangups);
  rota::task<void> finish_log(rota::join_handle<void>& writer);

  const options options_;
  const unsigned workers_;
  const std::chrono::steady_clock::time_point began_;
  file_source files_;
  std::unique_ptr<encryption> encryption_;
  counters counters_;
  std::atomic<std::uint32_t> listings_{0};
  std::atomic<std::uint32_t> refusals_{0};
  class connections connections_;
  std::optional<access_log> log_;
};

/// Returns the address of the client without its port; empty if the client is gone.
[[nodiscard]] std::string client_of(const rota::net::tcp_stream& stream);

}  // namespace file_server
