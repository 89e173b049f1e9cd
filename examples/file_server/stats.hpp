// What /-/stats tells. Field names and their meaning: README.md.
#pragma once

#include <cstdint>
#include <string>

namespace file_server {

/// A snapshot, summed up by whoever counts.
struct stats {
  std::uint64_t uptime_ms = 0;
  std::uint64_t workers = 0;
  std::uint64_t connections_open = 0;
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;        // 503: over the limit
  std::uint64_t connections_out_of_memory = 0;  // ended by it
  std::uint64_t requests = 0;  // complete ones; those that the parser refused are not counted here
  std::uint64_t responses_2xx = 0;
  std::uint64_t responses_3xx = 0;
  std::uint64_t responses_4xx = 0;
  std::uint64_t responses_5xx = 0;
  std::uint64_t header_timeouts = 0;  // 408
  std::uint64_t idle_timeouts = 0;
  std::uint64_t handshakes = 0;  // of TLS, to their end
  std::uint64_t handshake_failures = 0;
  std::uint64_t handshake_timeouts = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t log_lines = 0;          // accepted for the access log
  std::uint64_t log_lines_dropped = 0;  // there was no room
  std::uint64_t log_lines_lost = 0;     // the file did not take them
};

/// One JSON object, one line, the fields in the order above.
[[nodiscard]] std::string to_json(const stats& s);

inline constexpr const char* json_type = "application/json";

}  // namespace file_server
