#include <rota/detail/config.hpp>

#include <cstdio>
#include <cstdlib>

namespace rota::base {

void fatal(const char* what, std::uint64_t value, const char* file, unsigned line) noexcept {
  std::fprintf(stderr,
               "rota: fatal: %s (value %#llx) at %s:%u\n",
               what,
               static_cast<unsigned long long>(value),
               file,
               line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace rota::base
