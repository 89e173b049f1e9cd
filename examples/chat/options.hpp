// The command line.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>

namespace chat {

/// What becomes of a client who reads more slowly than is written to it, once its outbox is full.
enum class slow_policy : unsigned char {
  drop,        // the oldest lines go, and it is told how many
  disconnect,  // it goes
};

struct options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 7000;  // 0: any that is free
  unsigned workers = 0;       // 0: as many as the machine has for this process
  std::size_t max_clients = 1000;
  std::size_t max_rooms = 100;
  std::size_t max_line = 512;  // bytes, without the end of the line
  std::size_t outbox = 256;    // lines that wait for a client
  slow_policy slow = slow_policy::drop;
  int send_buffer = 64 * 1024;                     // bytes that the kernel keeps for a client; 0: as it likes
  std::chrono::milliseconds write_timeout{30000};  // for a line
  std::chrono::milliseconds flush_timeout{5000};   // for all that waits when a client leaves
};

/// Why the program ends at once, and with what: help (exit code 0) or an error (exit code 2).
struct early_end {
  int exit_code;
  std::string text;
};

[[nodiscard]] std::expected<options, early_end> parse_options(int argc, const char* const* argv);

}  // namespace chat
