#include "task/scheduler_here.hpp"

#include "task/entered.hpp"

#include <rota/error.hpp>

namespace rota::core {

scheduler& scheduler_here() {
  const header* const me = current_task();
  if (me == nullptr) throw error(errc::no_runtime);
  return scheduler_for_children_of(*me);
}

scheduler& scheduler_for_children_of(const header& task) {
  scheduler& found = scheduler_for_children(task);
  if (&found == &no_services()) throw error(errc::no_runtime);
  demand_own_process(found);
  return found;
}

void throw_forked() { throw error(errc::forked); }

bool can_spawn_blocking() noexcept {
  const header* const me = current_task();
  if (me == nullptr) return false;
  scheduler& tasks = scheduler_for_children(*me);
  return tasks.ops->blocking(tasks) != nullptr;
}

}  // namespace rota::core
