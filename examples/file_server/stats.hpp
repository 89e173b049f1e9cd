// The content of /-/stats. Field names and their meaning: README.md.
#pragma once

#include <cstdint>
#include <string>

namespace file_server {

/// A snapshot of all counters.
struct stats {
  std::uint64_t uptime_ms = 0;
  std::uint64_t workers = 0;
  std::uint64_t connections_open = 0;
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;        // 503: over the limit
  std::uint64_t connections_out_of_memory = 0;  // ended for lack of memory
  std::uint64_t requests = 0;  // complete requests; those that the parser refused are not counted here
  std::uint64_t responses_2xx = 0;
  std::uint64_t responses_3xx = 0;
  std::uint64_t responses_4xx = 0;
  std::uint64_t responses_5xx = 0;
  std::uint64_t header_timeouts = 0;  // 408
  std::uint64_t idle_timeouts = 0;
  std::uint64_t handshakes = 0;  // completed TLS handshakes
  std::uint64_t handshake_failures = 0;
  std::uint64_t handshake_timeouts = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t log_lines = 0;          // accepted for the access log
  std::uint64_t log_lines_dropped = 0;  // dropped because the buffer was full
  std::uint64_t log_lines_lost = 0;     // not written because the file failed
};

/// Returns one JSON object on one line, with the fields in the order above.
[[nodiscard]] std::string to_json(const stats& s);

inline constexpr const char* json_type = "application/json";

}  // namespace file_server
