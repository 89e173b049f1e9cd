#include <rota/testing/runtime.hpp>

#include "solo/scheduler.hpp"

namespace rota::testing {

runtime::runtime(std::uint64_t seed) : scheduler_(new solo::scheduler(seed)), seed_(seed) {}

runtime::~runtime() { scheduler_->close(); }

core::header& runtime::launch(core::promise_base& root,
                              const core::result_vtable& type,
                              std::source_location site) {
  return core::launch(root, *scheduler_, type, site);
}

void runtime::run_to_end(core::header& root) {
  while (!root.word.load().is(core::lifecycle::complete)) {
    if (scheduler_->run_one() || scheduler_->move_to_next_timer(base::never)) continue;
    const std::string text = "nothing can run: " + scheduler_->describe_tasks();
    scheduler_->force_end(root);
    throw stalled(text);
  }
  scheduler_->rethrow_unhandled();
}

void runtime::drop_root(core::header& root) noexcept { scheduler_->drop_root(root); }

std::size_t runtime::run_until_stalled() {
  const std::size_t runs = scheduler_->run_until_stalled();
  scheduler_->rethrow_unhandled();
  return runs;
}

void runtime::advance_to(std::chrono::steady_clock::time_point time) {
  do {
    scheduler_->run_until_stalled();
  } while (scheduler_->move_to_next_timer(time));
  scheduler_->move_to(time);
  scheduler_->run_until_stalled();
  scheduler_->rethrow_unhandled();
}

std::chrono::steady_clock::time_point runtime::now() const noexcept { return scheduler_->now(); }
std::size_t runtime::alive_tasks() const noexcept { return scheduler_->alive(); }
std::string runtime::dump() const { return scheduler_->describe_tasks(); }

}  // namespace rota::testing
