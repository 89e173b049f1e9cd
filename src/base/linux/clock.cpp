#include "base/clock.hpp"

namespace rota::base {

time_point now() noexcept { return std::chrono::steady_clock::now(); }

}  // namespace rota::base
