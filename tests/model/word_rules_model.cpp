// P1: a task that does all that a running task may do, with all threads around it that may touch its word.
// Prints how often each rule was taken, by lifecycle and queue entry, and fails if a possible one never was.
#include <array>

#include "model/word_world.hpp"
#include "task/state.hpp"

namespace rota::core {
namespace {

/// From which words a rule may be taken.
enum class where {
  anywhere,
  queued_only,
  running_only,
  by_handle,  // running with an entry: the handle's owner has claimed it, runs it, and does nothing else
};

struct row {
  const char* name;
  void (*rule)();
  where from;
};

template <auto Rule>
constexpr row row_of(const char* name, where from = where::anywhere) {
  return {name, reinterpret_cast<void (*)()>(Rule), from};
}

const std::array rows{
    row_of<rule::wake>("wake"),
    row_of<rule::cancel>("cancel"),
    row_of<rule::override_shield>("override_shield"),
    row_of<rule::force_end>("force_end"),
    row_of<rule::pop>("pop", where::queued_only),
    row_of<rule::drop_entry>("drop_entry", where::queued_only),
    row_of<rule::claim>("claim", where::by_handle),
    row_of<rule::join_register>("join_register", where::by_handle),
    row_of<rule::join_leave>("join_leave", where::by_handle),
    row_of<rule::drop_handle>("drop_handle", where::by_handle),
    row{"retain", counted_up, where::anywhere},
    row{"release", counted_down, where::anywhere},
    row_of<rule::suspend>("suspend", where::running_only),
    row_of<rule::yield>("yield", where::running_only),
    row_of<rule::finish>("finish", where::running_only),
    row_of<rule::finish_in_place>("finish_in_place", where::running_only),
    row_of<rule::shield_up>("shield_up", where::running_only),
    row_of<rule::shield_down>("shield_down", where::running_only),
    row_of<rule::begin_unwind>("begin_unwind", where::running_only),
    row_of<rule::pause_unwind>("pause_unwind", where::running_only),
    row_of<rule::end_unwind>("end_unwind", where::running_only),
};

struct column {
  const char* name;
  lifecycle at;
  bool with_entry;
};

/// Scheduled implies queued: there is no other kind.
constexpr std::array columns{
    column{"idle", lifecycle::idle, false},
    column{"idle+q", lifecycle::idle, true},
    column{"scheduled+q", lifecycle::scheduled, true},
    column{"running", lifecycle::running, false},
    column{"running+q", lifecycle::running, true},
    column{"complete", lifecycle::complete, false},
    column{"complete+q", lifecycle::complete, true},
};

constexpr bool possible(const row& r, const column& c) {
  switch (r.from) {
    case where::anywhere: return true;
    case where::queued_only: return c.with_entry;
    case where::running_only: return c.at == lifecycle::running;
    case where::by_handle: return c.at != lifecycle::running || !c.with_entry;
  }
  return false;
}

using counts_of_a_row = std::array<unsigned long long, columns.size()>;
std::array<counts_of_a_row, rows.size()> taken{};

void count_transition(void (*rule)(), snapshot from) noexcept {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].rule != rule) continue;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (from.is(columns[c].at) && from.has(queued) == columns[c].with_entry) ++taken[r][c];
    }
  }
}

void print_table() {
  std::printf("  %-16s", "rule");
  for (const column& c : columns) std::printf(" %11s", c.name);
  std::printf("\n");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::printf("  %-16s", rows[r].name);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (taken[r][c] == 0 && !possible(rows[r], columns[c])) {
        std::printf(" %11s", "-");
      } else {
        std::printf(" %11llu", taken[r][c]);
      }
    }
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
    // A wake must still come, or it would stay idle for ever.
    if (!over) return suspend(&state::suspend);
    finish(false);
  }

  /// Unwinds to the root; or a clean-up comes in between; or it stops at a deadline.
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

/// Runs it, registers, leaves, registers again, and waits or gives the handle up.
void join_restlessly(restless& w) {
  state& word = w.task().word;
  for (int i = 0; i < 3; ++i) {
    if (choose(2) == 0) static_cast<void>(w.claim(choose(2) == 0));
    if (choose(2) == 0) continue;
    if (word.join_register() == on_register::complete) break;
    if (choose(2) == 0) static_cast<void>(w.claim(choose(2) == 0));
    if (word.join_leave() == on_leave::complete) {
      w.wait_for_wake();
      break;
    }
  }
  if (choose(2) == 0) return w.drop_handle();
  w.join();
}

TEST(word_rules_model, every_rule_is_taken_from_each_lifecycle_that_allows_it) {
  const auto body = [](execution& e) {
    auto& w = e.make<restless>(5U);
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
      w.force_end();
      w.release();
    });
    e.thread("cloner", [&w] {
      w.task().word.retain();
      w.release();
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
    expect_holds(options, body);
  }
  transition_seen = nullptr;
  print_table();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      EXPECT_EQ(taken[r][c] > 0, possible(rows[r], columns[c]))
          << rows[r].name << " from " << columns[c].name;
    }
  }
}

}  // namespace
}  // namespace rota::core
