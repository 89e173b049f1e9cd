#include "base/barrier.hpp"

#include "testing/machine.hpp"

namespace rota::base {

bool has_heavy_barrier() noexcept { return true; }

void barrier_heavy(std::source_location where) noexcept {
  if (testing::detail::active != nullptr) testing::detail::active->heavy_barrier(where);
}

}  // namespace rota::base
