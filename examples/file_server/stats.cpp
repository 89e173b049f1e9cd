#include "file_server/stats.hpp"

#include <array>

namespace file_server {
namespace {

struct entry {
  const char* name;
  std::uint64_t stats::* value;
};

constexpr std::array entries{
    entry{"uptime_ms", &stats::uptime_ms},
    entry{"workers", &stats::workers},
    entry{"connections_open", &stats::connections_open},
    entry{"connections_accepted", &stats::connections_accepted},
    entry{"connections_refused", &stats::connections_refused},
    entry{"connections_out_of_memory", &stats::connections_out_of_memory},
    entry{"requests", &stats::requests},
    entry{"responses_2xx", &stats::responses_2xx},
    entry{"responses_3xx", &stats::responses_3xx},
    entry{"responses_4xx", &stats::responses_4xx},
    entry{"responses_5xx", &stats::responses_5xx},
    entry{"header_timeouts", &stats::header_timeouts},
    entry{"idle_timeouts", &stats::idle_timeouts},
    entry{"handshakes", &stats::handshakes},
    entry{"handshake_failures", &stats::handshake_failures},
    entry{"handshake_timeouts", &stats::handshake_timeouts},
    entry{"bytes_received", &stats::bytes_received},
    entry{"bytes_sent", &stats::bytes_sent},
    entry{"log_lines", &stats::log_lines},
    entry{"log_lines_dropped", &stats::log_lines_dropped},
    entry{"log_lines_lost", &stats::log_lines_lost},
};
static_assert(entries.size() * sizeof(std::uint64_t) == sizeof(stats), "a field is missing in the JSON");

}  // namespace

std::string to_json(const stats& s) {
  std::string out = "{";
  for (const auto& [name, value] : entries) {
    if (out.size() > 1) out += ',';
    ((out += '"') += name) += "\":";
    out += std::to_string(s.*value);
  }
  out += "}\n";
  return out;
}

}  // namespace file_server
