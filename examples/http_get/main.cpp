// Fetches a file: http_get https://example.com/file. See README.md.
#include <cstdio>
#include <exception>
#include <string>

#include <rota/runtime.hpp>

#include "http_get/fetch.hpp"
#include "http_get/options.hpp"

int main(int argc, char** argv) {
  const auto options = http_get::parse_options(argc, argv);
  if (!options.has_value()) {
    std::fputs(options.error().text.c_str(), options.error().code == 0 ? stdout : stderr);
    return options.error().code;
  }
  try {
    const std::string why = rota::run(http_get::fetch(*options));
    if (why.empty()) return 0;
    std::fprintf(stderr, "http_get: %s\n", why.c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "http_get: %s\n", e.what());
  }
  return 1;
}
