// P1: a task that does everything a running task may do, with everybody around it who may touch its word. Prints how often
// each rule was taken from each lifecycle, and fails if one that is possible never was.
#include <array>

#include "model/word_world.hpp"
#include "task/state.hpp"

namespace rota::core {
namespace {

struct row {
  const char* name;
  void (*rule)();
  bool any_lifecycle;  // or only `running`
};

template <auto Rule>
constexpr row row_of(const char* name, bool any_lifecycle) {
  return {name, reinterpret_cast<void (*)()>(Rule), any_lifecycle};
}

const std::array rows{
    row_of<rule::wake>("wake", true),
    row_of<rule::cancel>("cancel", true),
    row_of<rule::override_shield>("override_shield", true),
    row_of<rule::pop>("pop", true),
    row_of<rule::drop_entry>("drop_entry", true),
    row_of<rule::claim>("claim", true),
    row_of<rule::join_register>("join_register", true),
    row_of<rule::join_leave>("join_leave", true),
    row_of<rule::drop_handle>("drop_handle", true),
    row_of<rule::suspend>("suspend", false),
    row_of<rule::yield>("yield", false),
    row_of<rule::finish>("finish", false),
    row_of<rule::shield_up>("shield_up", false),
    row_of<rule::shield_down>("shield_down", false),
    row_of<rule::begin_unwind>("begin_unwind", false),
    row_of<rule::pause_unwind>("pause_unwind", false),
    row_of<rule::end_unwind>("end_unwind", false),
};

using counts_of_a_row = std::array<unsigned long long, 4>;
std::array<counts_of_a_row, rows.size()> taken{};

void count_transition(void (*rule)(), snapshot from) noexcept {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].rule == rule) ++taken[r][static_cast<std::size_t>(from.phase())];
  }
}

void print_table() {
  std::printf("  %-16s %12s %12s %12s %12s\n", "rule", "idle", "scheduled", "running", "complete");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::printf("  %-16s", rows[r].name);
    for (const auto count : taken[r]) std::printf(" %12llu", count);
    std::printf("\n");
  }
}

/// A task that does everything a running task may do, in any order.
class restless final : public world {
 public:
  explicit restless(unsigned references) : world(references) {}

  void run() override {
    take_over();
    for (int steps = 0; steps < 3; ++steps) {
      const snapshot now = task().word.load();
      if (now.cancel_due()) return unwind();
      change_shields(now);
    }
    leave();
  }

 private:
  void change_shields(snapshot now) {
    const unsigned wish = choose(3);
    if (wish == 0) static_cast<void>(task().word.shield_up());
    if (wish == 1 && now.shields() > 0) static_cast<void>(task().word.shield_down());
  }

  void leave() {
    const unsigned wish = choose(4);
    // acquire. Pairs with happen().
    const bool over = task().events.load(base::order::acquire) > 0;
    if (wish == 0 && task().yields_left > 0) {
      --task().yields_left;
      return suspend(&state::yield);
    }
    if (wish == 1 && over) return finish(false);
    // Somebody must still come, or it would stay idle for ever.
    if (!over) return suspend(&state::suspend);
    finish(false);
  }

  /// Up to the root; or a clean-up comes in between; or it stops at a deadline.
  void unwind() {
    static_cast<void>(task().word.begin_unwind());
    switch (choose(3)) {
      case 0: return finish(true);
      case 1:
        static_cast<void>(task().word.pause_unwind());
        static_cast<void>(task().word.shield_down());
        static_cast<void>(task().word.begin_unwind());
        return finish(true);
      default: static_cast<void>(task().word.end_unwind()); return finish(false);
    }
  }
};

/// Registers, leaves, registers again, and waits or gives the handle up.
void join_restlessly(restless& w) {
  state& word = w.task().word;
  for (int i = 0; i < 2; ++i) {
    if (choose(2) == 0) continue;
    if (word.join_register() == on_register::complete) break;
    if (word.join_leave() == on_leave::complete) {
      w.wait_for_wake();
      break;
    }
  }
  if (choose(2) == 0) return w.drop_handle();
  w.join();
}

TEST(word_rules_model, every_rule_is_taken_from_every_lifecycle) {
  const auto body = [](execution& e) {
    auto& w = e.make<restless>(4U);
    w.task().yields_left = 2;
    for (int i = 0; i < 2; ++i) {
      e.daemon("worker", [&w] {
        for (;;) w.run_entry();
      });
    }
    e.thread("early waker", [&w] { w.wake_consuming(); });
    e.thread("waker", [&w] {
      w.happen();
      w.wake_consuming();
    });
    e.thread("canceller", [&w] {
      static_cast<void>(w.cancel());
      w.release();
    });
    e.thread("overrider", [&w] {
      w.override_shields();
      w.release();
    });
    e.thread("mover", [&w] { w.move_entry(); });
    e.thread("joiner", [&w] { join_restlessly(w); });
    e.finally([&w] { w.check_end(); });
  };
  taken = {};
  transition_seen = count_transition;
  for (const auto search : {testing::search_kind::random, testing::search_kind::pct}) {
    auto options = at_random("word_restless");
    options.search = search;
    options.max_runs = options.max_runs < 20'000 ? 20'000 : options.max_runs;
    expect_holds(testing::explore(options, body), false);
  }
  transition_seen = nullptr;
  print_table();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (const auto at : {lifecycle::idle, lifecycle::scheduled, lifecycle::running, lifecycle::complete}) {
      const auto count = taken[r][static_cast<std::size_t>(at)];
      const bool possible = rows[r].any_lifecycle || at == lifecycle::running;
      EXPECT_EQ(count > 0, possible) << rows[r].name << " from lifecycle " << static_cast<int>(at);
    }
  }
}

}  // namespace
}  // namespace rota::core
