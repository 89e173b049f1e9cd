// Parses the command line.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>

namespace chat {

/// What happens to a client that reads too slowly, once its outbox is full.
enum class slow_policy : unsigned char {
  drop,        // the oldest lines are dropped, and the client is told how many
  disconnect,  // the client is disconnected
};

struct options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 7000;  // 0: any free port
  unsigned workers = 0;       // 0: one per processor that this process may use
  std::size_t max_clients = 1000;
  std::size_t max_rooms = 100;
  std::size_t max_line = 512;  // bytes, without the line end
  std::size_t outbox = 256;    // lines that may wait for one client
  slow_policy slow = slow_policy::drop;
  int send_buffer = 64 * 1024;                     // bytes of the kernel's send buffer; 0: its default
  std::chrono::milliseconds write_timeout{30000};  // for one line
  std::chrono::milliseconds flush_timeout{5000};   // for all waiting lines when a client leaves
};

/// Why the program ends at once: after help (exit code 0) or because of an error (exit code 2). `text` is
/// what it prints.
struct early_end {
  int exit_code;
  std::string text;
};

[[nodiscard]] std::expected<options, early_end> parse_options(int argc, const char* const* argv);

}  // namespace chat
