// A round on a real runtime: threads, the machine's clock, a pool.
#pragma once

#include "fuzz/composition_round.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace compositions {

inline void take_no_notice(const rota::unhandled_exception& /*of*/) noexcept {}

inline rota::runtime_options options_of(const tree& t) {
  rota::runtime_options o;
  o.workers = t.workers;
  o.seed = 1 + t.micros;
  o.watchdog = 0ns;
  o.on_unhandled = rota::unhandled_policy::callback(take_no_notice);
  return o;
}

/// The running tree, and how to run it again: for the report of a fault, and for a signal handler.
inline std::string& current() {
  static std::string text;
  return text;
}

/// Ends the program when a round is wrong.
[[noreturn]] inline void tell(const char* what, unsigned at) {
  std::fprintf(stderr, "broken: %s, at #%u\n%s", what, at, current().c_str());
  current().clear();
  std::abort();
}

inline void shut_down_after(rota::runtime& rt, const tree& t, books& b) {
  const auto until = now() + std::chrono::microseconds(t.micros);
  while (now() < until) std::this_thread::yield();
  const auto grace =
      t.from_outside == cause::late_shutdown ? std::chrono::nanoseconds(1h) : std::chrono::nanoseconds(0);
  const auto told = rt.shutdown(grace);
  b.demand(told.survivors.empty(), "tasks survive a shutdown", t.root());
}

/// The end of a spawned boundary. A shutdown is reported by the handle.
inline void check_end(books& b, const rota::outcome<report>& end) {
  const node& root = b.of.root();
  if (end.has_value()) return;
  b.demand(end.is_cancelled() && b.of.refuses(), "the boundary is cancelled, and nothing shuts down", root);
  b.demand(end.reason() == rota::cancel_reason::shutdown, "the reason is not the shutdown", root);
}

/// A tree that hangs is left to the watchdog of the program, which limits every run.
inline void run_on(rota::runtime& rt, const tree& t, books& b) {
  if (t.in_block_on && !t.refuses()) {
    static_cast<void>(rt.block_on(guarded(b)));
    b.note_over();
    return;
  }
  auto work = rt.spawn(guarded(b));
  if (t.refuses()) shut_down_after(rt, t, b);
  const auto end = work.wait_for(1h);
  check_end(b, *end);
  b.note_over();
}

/// Runs a tree, and ends the program on a fault. The result of `observe(rt)` lives as long as the runtime.
template <class Observe>
void run_tree(const tree& t, rota::pool::thread_pool& jobs, const std::string& again, Observe observe) {
  current() = text_of(t) + "again: " + again + "\n";
  books b(t, &jobs);
  {
    rota::runtime rt(options_of(t));
    [[maybe_unused]] const auto observed = observe(rt);
    run_on(rt, t, b);
  }
  jobs.wait_idle();
  if (b.fault() != nullptr) tell(b.fault(), b.fault_at());
  if (b.locals != 0) tell("locals of frames are left", 0);
  if (b.items != 0) tell("items are left, or destroyed twice", 0);
  current().clear();
}

}  // namespace compositions
