#include "task/never_awaited.hpp"

#include "base/tls_slot.hpp"
#include "task/describe.hpp"
#include "task/unhandled.hpp"

#include <cstdio>
#include <exception>
#include <source_location>

namespace rota::core {

namespace {

/// Prints the task that the destroying thread runs, and where it awaited last.
void print_destroyer(const header& task) noexcept {
  const unhandled_exception about = about_task(task);
  std::fprintf(stderr,
               "rota: it was destroyed by task %llu '%.*s'%s\n",
               static_cast<unsigned long long>(about.id.value),
               static_cast<int>(about.name.size()),
               about.name.data(),
               awaited_at(about.file, about.line).text());
}

/// Returns true if this thread destroys the root frame of a task that an exception has ended: tasks that its
/// parameters keep were not forgotten.
bool has_failed_here(const base::thread_locals& locals) noexcept {
  auto* const task = static_cast<header*>(locals.task);
  return task != nullptr && task->innermost.get() == nullptr && task->result().exception(task) != nullptr;
}

}  // namespace

bool report_never_awaited(const promise_base& frame) noexcept {
  if (frame.root != nullptr || frame.kept_site() == nullptr) return false;
  const base::thread_locals& locals = base::this_thread_locals();
  if (locals.dropping != 0 || std::uncaught_exceptions() != 0 || has_failed_here(locals)) return false;
  const auto where = __builtin_bit_cast(std::source_location, frame.kept_site());
  std::fprintf(
      stderr,
      "rota: a task was never awaited (created by the coroutine %s at %s:%u): nothing of it has run\n",
      where.function_name(),
      where.file_name(),
      static_cast<unsigned>(where.line()));
  if (const auto* const here = static_cast<const header*>(locals.task)) print_destroyer(*here);
  return true;
}

}  // namespace rota::core
