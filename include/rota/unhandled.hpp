// Exceptions that no caller can see any more: what is known of one, and what happens to it.
#pragma once

#include <cstdint>
#include <string_view>

#include <rota/join_handle.hpp>

namespace rota {

/// What threw an exception that no caller can see any more. docs/failures.md has the whole table.
enum class unhandled_from : unsigned char {
  task,          // a detached task, or one whose handle was dropped
  pool_job,      // a job of a pool that failed, and whose result is destroyed unfetched
  pool_handler,  // a function of the user's that a pool calls: a callback, a hook, a handler of an observer
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

/// An exception that no caller can see any more. Good until the function that was given it returns.
struct unhandled_exception {
  task_id id;             // of a task; else 0
  std::string_view name;  // of the task or the job; of a pool's handler which one; else empty
  const char* what;       // what(), or "unknown exception"
  const char*
      file;  // the co_await of the program where the task suspended last; null if it never did, and for all others
  unsigned line;
  unhandled_from from = unhandled_from::task;
  std::uint64_t number = 0;  // of the job, also of the one that a handler was called for; of the mailbox
};

/// What happens to an exception that no caller can see any more. It is reported on standard error, or given to a function;
/// `terminate` then ends the program.
///
/// Threads       The function is called on the thread that finds the exception: where its last owner is destroyed, or where it was thrown.
/// Failure       The function is noexcept.
/// Cost          None for what succeeds.
class unhandled_policy {
 public:
  using function = void (*)(const unhandled_exception&) noexcept;

  static const unhandled_policy terminate;
  static const unhandled_policy report;
  /// `f` is called once for each, on the thread that finds it.
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
