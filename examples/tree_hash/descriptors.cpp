#include "tree_hash/descriptors.hpp"

#include <sys/resource.h>

namespace tree_hash {

std::uint64_t descriptor_limit() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace tree_hash
