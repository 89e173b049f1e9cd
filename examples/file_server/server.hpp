// The server: accepts, serves each connection in a task of its own, drains.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <rota/net/tcp_listener.hpp>
#include <rota/task.hpp>

#include "connections.hpp"
#include "file_source.hpp"
#include "options.hpp"
#include "stats.hpp"

namespace file_server {

/// Sums, counted by all connections.
struct counters {
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> answered_2xx{0};
  std::atomic<std::uint64_t> answered_4xx{0};
  std::atomic<std::uint64_t> answered_5xx{0};
  std::atomic<std::uint64_t> header_timeouts{0};
  std::atomic<std::uint64_t> idle_timeouts{0};
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> sent{0};

  static void add(std::atomic<std::uint64_t>& which, std::uint64_t n) noexcept {
    which.fetch_add(n, std::memory_order::relaxed);
  }
};

class server {
 public:
  /// Throws std::system_error if the directory cannot be opened, std::invalid_argument for limits out of range.
  server(const options& o, unsigned workers);

  /// Listens, prints where, serves until SIGINT or SIGTERM, drains. Returns the exit code.
  rota::task<int> run();

  [[nodiscard]] stats snapshot() const;
  [[nodiscard]] const options& settings() const noexcept { return options_; }
  [[nodiscard]] const file_source& files() const noexcept { return files_; }
  [[nodiscard]] counters& counts() noexcept { return counters_; }
  [[nodiscard]] class connections& open_connections() noexcept { return connections_; }

 private:
  rota::task<void> accept_all(rota::net::tcp_listener& listener);
  rota::task<void> refuse(rota::net::tcp_stream stream);

  const options options_;
  const unsigned workers_;
  const std::chrono::steady_clock::time_point began_;
  file_source files_;
  counters counters_;
  class connections connections_;
};

}  // namespace file_server
