#include "log_analyzer/generate.hpp"

#include <array>
#include <cinttypes>
#include <cmath>
#include <random>
#include <string_view>

namespace log_analyzer {
namespace {

constexpr std::array<std::string_view, 8> paths = {"/",
                                                   "/index.html",
                                                   "/static/app.js",
                                                   "/static/style.css",
                                                   "/api/v1/items?page=2",
                                                   "/images/logo.png",
                                                   "/search?q=%22rota%22",
                                                   "/api/v1/login"};
constexpr std::array<std::string_view, 4> agents = {
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 "
    "Safari/537.36",
    "curl/8.5.0",
    "Bot \\\"polite\\\" (+https://example.org/bot)"};
constexpr std::array<unsigned, 10> statuses = {200, 200, 200, 200, 200, 200, 304, 301, 404, 500};

/// Of a million clients, the r-th sends about 1/r as many requests as the first.
std::uint32_t pick_client(std::mt19937_64& random) {
  const double u = static_cast<double>(random() >> 11U) / 9007199254740992.0;
  return static_cast<std::uint32_t>(std::exp(u * 13.8));
}

}  // namespace

bool generate(std::uint64_t bytes, std::uint64_t seed, std::FILE* to) {
  std::mt19937_64 random(seed);
  std::uint64_t written = 0;
  std::array<char, 512> line;
  for (std::uint64_t second = 0; written < bytes; ++second) {
    const std::uint32_t client = pick_client(random) * 2654435761U;
    const std::uint64_t dice = random();
    int length = 0;
    if (dice % 10'007 == 0) {
      length = std::snprintf(line.data(), line.size(), "worker %" PRIu64 " exited on signal 11\n", dice % 64);
    } else {
      const std::string_view path = paths.at(dice / 16 % paths.size());
      const std::string_view agent = agents.at(dice / 256 % agents.size());
      length = std::snprintf(line.data(),
                             line.size(),
                             "%u.%u.%u.%u - - [20/Nov/2026:%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64
                             " +0000] \"GET %.*s HTTP/1.1\" %u %" PRIu64 " \"-\" \"%.*s\"\n",
                             client >> 24U,
                             client >> 16U & 255U,
                             client >> 8U & 255U,
                             client & 255U,
                             second / 3'600'000 % 24,
                             second / 60'000 % 60,
                             second / 1000 % 60,
                             static_cast<int>(path.size()),
                             path.data(),
                             statuses.at(dice / 1024 % statuses.size()),
                             dice / 65'536 % 100'000,
                             static_cast<int>(agent.size()),
                             agent.data());
    }
    if (length < 0 ||
        std::fwrite(line.data(), 1, static_cast<std::size_t>(length), to) != static_cast<std::size_t>(length))
      return false;
    written += static_cast<std::uint64_t>(length);
  }
  return std::fflush(to) == 0;
}

}  // namespace log_analyzer
