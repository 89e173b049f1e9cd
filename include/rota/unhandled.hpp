// Exceptions that no caller can see any more: what is known about one, and what happens to it.
#pragma once

#include <cstdint>
#include <string_view>

#include <rota/join_handle.hpp>

namespace rota {

/// The source of an exception that no caller can see any more. docs/failures.md has the whole table.
enum class unhandled_from : unsigned char {
  task,          // a detached task, or a task of which the handle was dropped
  pool_job,      // a job of a pool that failed, if its result is destroyed unfetched
  pool_handler,  // a user function that a pool calls: a callback, a hook, a handler of an observer
  mailbox,       // the handler of a mailbox, or of an actor
};

[[nodiscard]] constexpr const char* to_string(unhandled_from source) noexcept {
  switch (source) {
    case unhandled_from::task: return "task";
    case unhandled_from::pool_job: return "pool job";
    case unhandled_from::pool_handler: return "pool handler";
    case unhandled_from::mailbox: return "mailbox";
  }
  return "unknown";
}

/// An exception that no caller can see any more. Valid until the function that receives it returns.
struct unhandled_exception {
  task_id id;             // of a task; otherwise 0
  std::string_view name;  // of the task or the job; for a pool handler, which one; otherwise empty
  const char* what;       // what(), or "unknown exception"
  // the co_await of the program where the task suspended last; null if it never suspended, and for all
  // other sources
  const char* file;
  unsigned line;
  unhandled_from from = unhandled_from::task;
  std::uint64_t number = 0;  // of the job, also of the job for which a handler was called; of the mailbox
};

/// What happens to an exception that no caller can see any more. It is reported on standard error, or passed
/// to a function. `terminate` then ends the program.
///
/// Threads       The function is called on the thread that finds the exception: the thread that destroys its
///               last owner, or that threw it.
/// Failure       The function is noexcept.
/// Cost          None without a failure.
class unhandled_policy {
 public:
  using function = void (*)(const unhandled_exception&) noexcept;

  static const unhandled_policy terminate;
  static const unhandled_policy report;
  /// Calls `f` once for each exception, on the thread that finds it.
  [[nodiscard]] static constexpr unhandled_policy callback(function f) noexcept { return {f, false}; }

  [[nodiscard]] constexpr function call() const noexcept { return call_; }
  [[nodiscard]] constexpr bool ends_program() const noexcept { return ends_program_; }
  friend constexpr bool operator==(const unhandled_policy&, const unhandled_policy&) noexcept = default;

 private:
  constexpr unhandled_policy(function f, bool ends) noexcept : call_(f), ends_program_(ends) {}
  function call_;
  bool ends_program_;
};
inline constexpr unhandled_policy unhandled_policy::terminate{nullptr, true};
inline constexpr unhandled_policy unhandled_policy::report{nullptr, false};

}  // namespace rota
