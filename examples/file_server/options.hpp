// Parses the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>

#include "file_server/file_source.hpp"
#include "file_server/limits.hpp"
#include "file_server/log_file.hpp"

namespace file_server {

struct options {
  std::string directory;
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: any free port
  unsigned workers = 0;       // 0: one per processor that this process may use
  std::uint32_t max_connections = 4096;
  std::chrono::milliseconds header_timeout{5'000};
  std::chrono::milliseconds idle_timeout{10'000};
  std::chrono::milliseconds drain_timeout{10'000};
  std::string certificate;  // both or neither is set; HTTPS if set
  std::string key;
  std::chrono::milliseconds handshake_timeout{5'000};
  feature listings = feature::off;
  feature precompressed = feature::on;
  std::string access_log;  // empty: no log; "-": the standard output
  rotation log_rotation;
  limits parser;
};

/// Why the program ends at once: after help (exit code 0) or because of an error (exit code 2). `text` is
/// what it prints.
struct early_end {
  int exit_code;
  std::string text;
};

[[nodiscard]] std::expected<options, early_end> parse_options(int argc, const char* const* argv);

}  // namespace file_server
