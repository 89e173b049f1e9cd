// A scope that begins and ends independently of a block.
#pragma once

#include <rota/scope.hpp>

namespace rota {

namespace core {

/// Waits for the end of an async_scope's children, and throws the first failure.
class ROTA_DETAIL_AWAIT_IT ROTA_API close_leaf final : public brood_leaf {
 public:
  explicit close_leaf(brood& children) noexcept : brood_leaf(children) {}
  ~close_leaf();

  void await_resume();

 protected:
  bool start() override;

 private:
  bool waits_ = false;
};

}  // namespace core

/// A scope that is a member, or is shared. Children are spawned from several places, and one task closes it
/// in the end.
///
///   struct server {
///     rota::async_scope connections;
///     rota::task<void> stop() {
///       connections.cancel();
///       co_await connections.close();
///     }
///   };
///
/// Prefer with_scope where a block is enough: its end cannot be forgotten.
///
/// Threads       `spawn`, `fork`, `cancel` and `size`: any thread; the spawning ones inside of a task.
///               `close`: one task.
/// Ownership     The children refer to it: it must stay where it is until they have ended. Destroyed after a
///               spawn and without `close`, it ends the program with a sentence. Where a cancellation may
///               come in between, call `close` in a `finally`.
/// Ordering      As with_scope. A child belongs to the runtime of the task that spawned it, inherits no
///               deadline, and is not cancelled with the spawning task.
/// Failure       As with_scope: the first failure cancels the other children, and `close` throws it. After a
///               failure no more children start: tasks that are spawned are cancelled at once. A failure that
///               no `close` has thrown is counted when the scope is destroyed, inside of a task.
/// Cost          A child: as rota::spawn, and two short critical sections.
/// Example       examples/scope.cpp
class ROTA_API async_scope final : public core::spawner {
 public:
  async_scope() noexcept {}
  ~async_scope();

  /// Requests cancellation of all children, and starts no more. Their cancellation is no failure.
  void cancel() noexcept { spawner::cancel(cancel_reason::user); }

  /// Waits until all children have ended, also those that they spawn meanwhile. Then the scope starts no
  /// more. Throws the first failure. A cancelled `close` cancels the children, and still waits for them.
  core::close_leaf close() noexcept {
    is_closing_ = true;
    return core::close_leaf(children());
  }

 private:
  bool is_closing_ = false;
};

}  // namespace rota
