#include "task/unhandled.hpp"

#include "task/describe.hpp"

#include <rota/error.hpp>

#include <cstdio>

namespace rota::core {

bool is_cancellation(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const cancelled_error&) {
    return true;
  } catch (...) {
    return false;
  }
}

unhandled_exception about_task(const header& task) noexcept {
  unhandled_exception about{{task.id}, name_of(task), "", nullptr, 0};
  const std::source_location where = site_of(task);
  if (where.line() == 0) return about;
  about.file = file_of(where);
  about.line = where.line();
  return about;
}

namespace {

void print_task(const unhandled_exception& about) noexcept {
  std::fprintf(stderr,
               "rota: unhandled exception in task %llu '%.*s'%s: %s\n",
               static_cast<unsigned long long>(about.id.value),
               static_cast<int>(about.name.size()),
               about.name.data(),
               awaited_at(about.file, about.line).text(),
               about.what);
}

void print_unhandled(const unhandled_exception& about) noexcept {
  const auto number = static_cast<unsigned long long>(about.number);
  const auto length = static_cast<int>(about.name.size());
  const char* const name = about.name.data();
  switch (about.from) {
    case unhandled_from::task: print_task(about); return;
    case unhandled_from::pool_job:
      std::fprintf(stderr,
                   "rota: unhandled exception in pool job %llu '%.*s': %s\n",
                   number,
                   length,
                   name,
                   about.what);
      return;
    case unhandled_from::pool_handler:
      std::fprintf(stderr,
                   "rota: unhandled exception in a pool's handler '%.*s' (job %llu): %s\n",
                   length,
                   name,
                   number,
                   about.what);
      return;
    case unhandled_from::mailbox:
      std::fprintf(
          stderr, "rota: unhandled exception in the handler of mailbox %llu: %s\n", number, about.what);
      return;
  }
}

void deliver(const unhandled_policy& policy, unhandled_exception& about, const char* what) noexcept {
  about.what = what;
  if (const auto call = policy.call()) return call(about);
  print_unhandled(about);
}

}  // namespace

void give_unhandled(const unhandled_policy& policy,
                    unhandled_exception about,
                    const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    deliver(policy, about, e.what());
  } catch (...) {
    deliver(policy, about, "unknown exception");
  }
  if (policy.ends_program()) std::terminate();
}

}  // namespace rota::core
