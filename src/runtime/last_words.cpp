#include "runtime/last_words.hpp"

#include "base/last_words.hpp"
#include "task/describe.hpp"

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
  std::fprintf(stderr,
               "rota: %s in task %llu '%s'%s%s\n",
               what_ends,
               static_cast<unsigned long long>(task->id),
               core::name_of(*task),
               core::awaited_at(*task).text(),
               core::place_clause(", spawned at ", core::spawn_site_of(*task), "").text());
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
