#include "file_server/descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace file_server {

std::uint64_t raise_descriptor_limit(std::uint32_t connections) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, 2 * std::uint64_t{connections} + descriptors_beside);
  if (before >= wanted) return before;
  limit.rlim_cur = wanted;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? wanted : before;
}

}  // namespace file_server
