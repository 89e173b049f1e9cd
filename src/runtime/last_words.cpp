#include "runtime/last_words.hpp"

#include "base/last_words.hpp"
#include "task/header.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace rota::detail {

namespace {

std::terminate_handler handler_before() noexcept {
  static const std::terminate_handler before = std::get_terminate();
  return before;
}

/// The task is this thread's own, so no other thread writes its name and site. If an invariant of rota is
/// broken at the moment in which a thread gives its task away, this may name a task that has ended.
void name_the_task(const char* what_ends) noexcept {
  const core::header* const task = core::task_around();
  if (task == nullptr) return;
  const std::source_location where = core::site_of(*task);
  const std::source_location spawned = core::spawn_site_of(*task);
  std::fprintf(stderr,
               "rota: %s in task %llu '%s', last awaited at %s:%u, spawned at %s:%u\n",
               what_ends,
               static_cast<unsigned long long>(task->id),
               core::name_of(*task),
               where.line() == 0 ? "(never)" : core::file_of(where),
               static_cast<unsigned>(where.line()),
               spawned.line() == 0 ? "(unknown)" : core::file_of(spawned),
               static_cast<unsigned>(spawned.line()));
}

[[noreturn]] void on_terminate() {
  name_the_task("std::terminate");
  if (const std::terminate_handler before = handler_before()) before();
  std::abort();
}

}  // namespace

void name_the_task_at_the_end() noexcept {
  static const bool once = [] {
    static_cast<void>(handler_before());
    std::set_terminate(on_terminate);
    base::say_before_abort([]() noexcept { name_the_task("it happened"); });
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace rota::detail
