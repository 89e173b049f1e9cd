// Totals of each client, and of all clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <unordered_map>

#include "log_analyzer/log_line.hpp"

namespace log_analyzer {

struct client_totals {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  std::uint64_t errors = 0;  // status 400 and above
  std::uint64_t largest = 0;

  void add(const request& r) noexcept;
};

/// Totals by client. The names point into the log.
using clients = std::unordered_map<std::string_view, client_totals>;

struct totals {
  clients by_client;
  std::uint64_t lines = 0;
  std::uint64_t malformed = 0;
};

/// Adds a part of the totals. No client may be in two parts.
void merge(totals& into, clients&& part);

/// Prints the sums, then the `top` clients with the most requests. Clients with equally many are sorted by
/// name.
void print(const totals& all, std::size_t top, std::FILE* to);

}  // namespace log_analyzer
