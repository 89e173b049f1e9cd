#include "base/thread.hpp"
#include "process/child_state.hpp"
#include "process/per_process.hpp"
#include "process/starter.hpp"
#include "task/scheduler_here.hpp"

#include <rota/error.hpp>
#include <rota/spawn.hpp>
#include <rota/sync/semaphore.hpp>

#include <csignal>
#include <new>

namespace rota::process::detail {

namespace {

/// A pool may have hundreds of threads, and a thousand simultaneous starts would use them all. The kernel
/// serialises the starts anyway.
constexpr unsigned at_a_time = 16;

/// Never destroyed: a task may still wait for it when the program exits. A fork has none of the tasks that
/// hold permits of its parent.
union turns {
  constexpr turns() noexcept : none() {}
  turns(const turns&) = delete;
  turns& operator=(const turns&) = delete;
  ~turns() {}
  unsigned char none;
  sync::semaphore permits;
};
constinit per_process turns_made;
constinit turns the_turns;

sync::semaphore& all_turns() noexcept {
  turns_made.ensure(base::this_process_id(), []() noexcept {
    ::new (static_cast<void*>(&the_turns.permits)) sync::semaphore(at_a_time);
  });
  return the_turns.permits;
}

}  // namespace

task<std::error_code> starter::start() {
  // Before a pipe is made: a coroutine job of a pool has neither a driver nor threads that may block.
  if (!core::can_spawn_blocking()) co_return make_error_code(errc::no_runtime);
  const std::error_code refused = starting_.begin();
  if (refused) co_return refused;
  const auto turn = co_await all_turns().acquire();
  if (!turn.has_value()) co_return turn.error();
  const auto held = sync::semaphore::permit::adopt(all_turns(), 1);
  // A cancellation waits for its end, so it may refer to this object.
  auto work = spawn_blocking([this]() noexcept { starting_.start(); });
  co_await work;
  co_return starting_.error() ? starting_.error() : make_child();
}

std::error_code starter::make_child() {
  watched_ptr pidfd;
  if (starting_.pidfd() != -1) {
    auto watching = watched::make(starting_.pidfd());
    if (!watching.has_value()) return watching.error();
    starting_.give_pidfd(-1);
    pidfd = std::move(*watching);
  }
  auto* const state = new (std::nothrow) child_state(starting_.id(), starting_.leads_group(), what_.dropped);
  if (state == nullptr) {
    if (pidfd) starting_.give_pidfd(pidfd.get()->release());
    return std::make_error_code(std::errc::not_enough_memory);
  }
  state->own(std::move(pidfd));
  made_ = child(state);
  return take_pipes(*made_);
}

std::error_code starter::take_pipes(child& to) {
  if (const int fd = starting_.take_pipe(0); fd != -1) {
    auto end = pipe_writer::adopt(fd);
    if (!end.has_value()) return end.error();
    to.in_ = std::move(*end);
  }
  for (int number = 1; number <= 2; ++number) {
    const int fd = starting_.take_pipe(number);
    if (fd == -1) continue;
    auto end = pipe_reader::adopt(fd);
    if (!end.has_value()) return end.error();
    (number == 1 ? to.out_ : to.err_) = std::move(*end);
  }
  return {};
}

task<result<exit_status>> starter::wait() {
  auto status = co_await made_->wait();
  has_ended_ = true;
  co_return status;
}

task<void> starter::end() {
  if (!made_.has_value() && starting_.pidfd() != -1) static_cast<void>(make_child());
  // Processes that the child has left behind are handled by the destructor of the object, or left alone.
  if (!made_.has_value() || has_ended_) co_return;
  static_cast<void>(starting_.leads_group() ? made_->signal_group(SIGKILL) : made_->kill());
  static_cast<void>(co_await made_->wait());
}

task<result<child>> spawn(recipe what) {
  starter all(std::move(what));
  const std::error_code failed = co_await all.start();
  if (!failed) co_return std::move(all.made());
  // A process without its pipes is not what the caller asked for.
  co_await all.end();
  co_return std::unexpected(failed);
}

}  // namespace rota::process::detail
