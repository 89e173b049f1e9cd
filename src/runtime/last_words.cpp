#include "runtime/last_words.hpp"

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

/// The task is this thread's own, so its name and site are not being written.
[[noreturn]] void name_the_task() {
  if (const core::header* const task = core::task_around()) {
    const std::source_location where = core::site_of(*task);
    std::fprintf(stderr,
                 "rota: std::terminate in task %llu '%s', last awaited at %s:%u\n",
                 static_cast<unsigned long long>(task->id),
                 task->name == nullptr ? "" : task->name,
                 where.line() == 0 ? "(never)" : where.file_name(),
                 static_cast<unsigned>(where.line()));
  }
  if (const std::terminate_handler before = handler_before()) before();
  std::abort();
}

}  // namespace

void name_the_task_on_terminate() noexcept {
  static const bool once = [] {
    static_cast<void>(handler_before());
    std::set_terminate(name_the_task);
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace rota::detail
