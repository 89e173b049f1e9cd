// Parses the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>

#include "http_get/url.hpp"

namespace http_get {

enum class starts : unsigned char { anew, where_it_ended };
enum class shows_progress : unsigned char { on_a_terminal, always, never };

struct options {
  url from{};
  std::string output{};  // "-": the standard output
  starts beginning = starts::anew;
  unsigned redirects = 10;                    // at most
  std::chrono::milliseconds timeout{30'000};  // for each: connection, handshake, head
  std::chrono::milliseconds idle{30'000};     // between two parts of a body
  std::string ca_file{};                      // empty: the certificates of the system
  bool is_insecure = false;
  bool takes_tls_1_2 = false;
  shows_progress progress = shows_progress::on_a_terminal;
};

/// Why the program ends at once: what it prints, and its exit code.
struct early_end {
  int code;
  std::string text;
};

[[nodiscard]] std::expected<options, early_end> parse_options(int argc, const char* const* argv);

}  // namespace http_get
