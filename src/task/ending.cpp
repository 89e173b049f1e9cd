#include "task/ending.hpp"

#include <rota/error.hpp>

#include <utility>

namespace rota::core {

void rethrow(ending how) {
  if (how.thrown != nullptr) std::rethrow_exception(std::move(how.thrown));
  if (how.cancelled != cancel_reason::none) throw cancelled_error(how.cancelled);
}

}  // namespace rota::core
