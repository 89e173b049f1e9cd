// Each kind of child, each fate of its handle and of its parent, in each order, with the expected end.
#include "flow_support.hpp"

#include <rota/scope.hpp>
#include <rota/time.hpp>

#include <string>
#include <utility>

namespace scope_matrix_test {
namespace {

using namespace rota;
using namespace rota::test;

enum class child_kind { value, throws, cancelled, endless };
enum class handle_fate { dropped_at_once, dropped_later, goes_with_the_body, taken };
enum class body_kind { returns, waits };
enum class parent_fate { left_alone, cancelled_before, cancelled_during, runs_out_of_time };

struct situation {
  child_kind child;
  handle_fate handle;
  body_kind body;
  parent_fate parent;
};

std::string describe(const situation& c) {
  static const char* const children[] = {"value", "throws", "cancelled", "endless"};
  static const char* const handles[] = {"dropped at once", "dropped later", "goes with the body", "taken"};
  static const char* const bodies[] = {"returns", "waits"};
  static const char* const parents[] = {
      "left alone", "cancelled before", "cancelled during", "runs out of time"};
  return std::string("child ") + children[static_cast<int>(c.child)] + ", handle " +
         handles[static_cast<int>(c.handle)] + ", body " + bodies[static_cast<int>(c.body)] + ", parent " +
         parents[static_cast<int>(c.parent)];
}

/// Returns how the scope ends without outside events; empty if it would never end.
std::string undisturbed(const situation& c) {
  const bool fails = c.child == child_kind::throws || c.child == child_kind::cancelled;
  if (fails && c.handle != handle_fate::taken) {
    return c.child == child_kind::throws ? "failure 1" : "cancelled_error user";
  }
  if (c.child == child_kind::endless || c.body == body_kind::waits) return "";
  return "value 5";
}

struct ledger {
  int frames = 0;
  std::string log;
};

task<int> child_of(child_kind kind, tally, std::string& used, ledger& book) {
  const user_of user(used);
  const witness w(book.log, 'c');
  co_await yield();
  if (kind == child_kind::throws) throw failure(1);
  if (kind == child_kind::value) co_return 1;
  co_await forever();
  co_return 2;
}

task<int> body_of(scope& s, situation c, ledger& book, std::string& used) {
  const tally frame(book.frames);
  const witness w(book.log, 'b');
  auto handle = s.spawn(child_of, c.child, tally(book.frames), std::ref(used), std::ref(book));
  if (c.child == child_kind::cancelled) handle.cancel();
  if (c.handle == handle_fate::dropped_at_once) handle.detach();
  if (c.handle == handle_fate::taken) static_cast<void>(co_await handle.result());
  co_await sleep_for(1ms);
  if (c.handle == handle_fate::dropped_later) handle.detach();
  if (c.body == body_kind::waits) co_await forever();
  co_return 5;
}

task<int> parent_of(situation c, ledger& book) {
  const tally frame(book.frames);
  std::string used(40, ' ');
  const witness w(book.log, 'p');
  auto work = with_scope([&](scope& s) -> task<int> { return body_of(s, c, book, used); });
  if (c.parent != parent_fate::runs_out_of_time) co_return co_await std::move(work);
  const auto end = co_await timeout(500us, std::move(work));
  co_return end.has_value() ? *end : -1;
}

class scope_matrix : public in_every_order {
 protected:
  /// Runs `steps` entries and then cancels; with a negative number it does not cancel.
  std::string run(const situation& c, int steps, ledger& book) {
    auto h = s.spawn(parent_of, c, std::ref(book));
    if (c.parent == parent_fate::cancelled_before) h.cancel();
    for (int i = 0; i < steps; ++i) {
      if (!s.run_one()) s.advance(600us);
    }
    if (c.parent == parent_fate::cancelled_during) h.cancel();
    s.run_with_time();
    if (!h.is_done()) {
      h.cancel(cancel_reason::shutdown);
      s.run_with_time();
    }
    return end_of(h);
  }
  void expect_clean(const ledger& book) {
    EXPECT_EQ(book.frames, 0);
    EXPECT_EQ(s.live, 0);
    EXPECT_EQ(s.enrolled, 0);
    EXPECT_EQ(s.unhandled_count, 0);
    EXPECT_EQ(s.suppressed, 0);
    // Each frame was destroyed once, and the child before the objects that it may use.
    const auto child = book.log.find('c');
    const auto parent = book.log.find('p');
    EXPECT_EQ(book.log.rfind('p'), parent);
    EXPECT_EQ(book.log.rfind('c'), child);
    if (child != std::string::npos) {
      EXPECT_LT(child, parent);
    }
  }
};
ROTA_IN_EVERY_ORDER(scope_matrix);

template <class Visit>
void for_every_child(parent_fate parent, Visit visit) {
  for (const auto child :
       {child_kind::value, child_kind::throws, child_kind::cancelled, child_kind::endless}) {
    for (const auto handle : {handle_fate::dropped_at_once,
                              handle_fate::dropped_later,
                              handle_fate::goes_with_the_body,
                              handle_fate::taken}) {
      for (const auto body : {body_kind::returns, body_kind::waits}) {
        const situation c{child, handle, body, parent};
        // goes_with_the_body does not apply to a body that waits.
        if (handle == handle_fate::goes_with_the_body && body == body_kind::waits) continue;
        SCOPED_TRACE(describe(c));
        visit(c);
      }
    }
  }
}

TEST_P(scope_matrix, undisturbed_scope_ends_as_expected) {
  for_every_child(parent_fate::left_alone, [&](const situation& c) {
    ledger book;
    const std::string expected = undisturbed(c);
    EXPECT_EQ(run(c, 0, book), expected.empty() ? "cancelled shutdown" : expected);
    expect_clean(book);
  });
}

TEST_P(scope_matrix, scope_cancelled_before_its_start_runs_nothing) {
  for_every_child(parent_fate::cancelled_before, [&](const situation& c) {
    ledger book;
    EXPECT_EQ(run(c, 0, book), "cancelled user");
    EXPECT_EQ(book.frames, 0);
    EXPECT_EQ(book.log, "");
    EXPECT_EQ(s.live, 0);
  });
}

TEST_P(scope_matrix, scope_cancelled_at_any_step_ends_cleanly) {
  for_every_child(parent_fate::cancelled_during, [&](const situation& c) {
    const std::string else_it_ends = undisturbed(c);
    for (int steps = 1; steps < 12; ++steps) {
      ledger book;
      const std::string end = run(c, steps, book);
      // If it no longer waits for anything, its own end wins over the cancellation.
      EXPECT_TRUE(end == "cancelled user" || end == else_it_ends) << end << " after " << steps;
      EXPECT_EQ(book.frames, 0);
      EXPECT_EQ(s.live, 0);
      EXPECT_EQ(s.unhandled_count, 0);
      s.suppressed = 0;
    }
  });
}

TEST_P(scope_matrix, scope_that_times_out_ends_cleanly) {
  for_every_child(parent_fate::runs_out_of_time, [&](const situation& c) {
    ledger book;
    const std::string end = run(c, 0, book);
    const bool failed_at_once = (c.child == child_kind::throws || c.child == child_kind::cancelled) &&
                                c.handle == handle_fate::dropped_at_once;
    EXPECT_EQ(end, failed_at_once ? undisturbed(c) : "value -1");
    EXPECT_EQ(book.frames, 0);
    EXPECT_EQ(s.live, 0);
    EXPECT_EQ(s.unhandled_count, 0);
    // An exception in a handle that was not taken is counted as suppressed.
    const bool held = c.child == child_kind::throws && !failed_at_once && c.handle != handle_fate::taken;
    EXPECT_EQ(s.suppressed, held ? 1 : 0);
    s.suppressed = 0;
  });
}

}  // namespace
}  // namespace scope_matrix_test
