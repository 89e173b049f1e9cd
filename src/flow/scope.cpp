#include <rota/scope.hpp>

#include "flow/brood.hpp"
#include "task/ending.hpp"

#include <utility>

namespace rota {

void scope::leave_body(std::exception_ptr thrown) noexcept {
  region_.leave_body();
  if (thrown != nullptr) {
    const core::header& me = core::header_of(region_.task());
    children().note_failure({std::move(thrown), cancel_reason::none}, core::scheduler_for_children(me));
  }
}

void scope::rethrow() { core::rethrow(children().take_failure()); }

}  // namespace rota
