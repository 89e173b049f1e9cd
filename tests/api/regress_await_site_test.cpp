// Reports name the program's own co_await, also of a task that waits inside one of rota's coroutines.
#include "api/scenario_support.hpp"

#include <rota/async_generator.hpp>
#include <rota/async_scope.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/finally.hpp>
#include <rota/io/buffered_reader.hpp>
#include <rota/io/copy.hpp>
#include <rota/io/duplex.hpp>
#include <rota/io/lines.hpp>
#include <rota/join_set.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/scope.hpp>
#include <rota/stream.hpp>
#include <rota/sync/strand.hpp>
#include <rota/when.hpp>

#include <array>
#include <functional>
#include <stdexcept>
#include <string_view>

namespace rota::test {
namespace {

constexpr std::string_view this_file = "regress_await_site_test.cpp:";

/// The awaited objects. They outlive the runtime of the waiting tasks.
struct stage {
  event hold;
  event other;
  sync::strand turns;  // one task holds the turn
  std::atomic<unsigned> line = 0;

  /// Called in the line before the co_await that reports name.
  void next_line(unsigned here) noexcept { line.store(here + 1); }
};
using waiting = task<> (*)(stage&);

/// Report of a runtime in which one task waits as `waits` says, and another one holds the strand's turn.
class report_of {
 public:
  explicit report_of(waiting waits) : rt_(with_workers(2)) {
    static_cast<void>(rt_.spawn([&s = on_]() -> task<> { co_await s.turns.run([&s] { return held(s); }); }));
    wait_until([&] { return on_.hold.is_awaited(); });
    waiter_ = rt_.spawn(named, std::ref(on_), waits);
    wait_until([&] { return has_begun_to_wait(); });
  }
  report_of(const report_of&) = delete;
  report_of& operator=(const report_of&) = delete;
  ~report_of() {
    on_.hold.fire();
    on_.other.fire();
    waiter_.cancel();
    static_cast<void>(rt_.shutdown(0s));
  }

  /// The waiter's line of the dump.
  [[nodiscard]] std::string line() const {
    const std::size_t at = text_.find("'the waiter'");
    return text_.substr(at, text_.find('\n', at) - at);
  }
  [[nodiscard]] std::string expected() const {
    return std::string(this_file) + std::to_string(on_.line.load());
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  static task<> held(stage& s) { co_await s.hold(); }
  static task<> named(stage& s, waiting waits) {
    this_task::set_name("the waiter");
    co_await waits(s);
  }
  bool has_begun_to_wait() {
    if (on_.line.load() == 0) return false;
    text_ = rt_.dump();
    return text_.find("'the waiter': waiting") != std::string::npos;
  }

  stage on_;
  std::string text_;
  runtime rt_;
  join_handle<void> waiter_;
};

/// No other task's line may name a header of rota's either.
void expect_own_site(waiting waits) {
  const report_of seen(waits);
  EXPECT_NE(seen.line().find(seen.expected()), std::string::npos) << seen.expected() << "\n" << seen.text();
  EXPECT_EQ(seen.text().find(".hpp:"), std::string::npos) << seen.text();
}

task<> waits_in_a_strand(stage& s) {
  s.next_line(__LINE__);
  co_await s.turns.run([] {});
}
task<> waits_within_a_limit(stage& s) {
  s.next_line(__LINE__);
  static_cast<void>(co_await timeout(1h, s.turns.run([] {})));
}
task<> waits_for_all(stage& s) {
  event::wait first = s.other();
  join_handle<void> second = spawn([&s]() -> task<> { co_await s.turns.run([] {}); });
  s.next_line(__LINE__);
  co_await when_all(first, std::move(second));
}
task<> waits_for_any(stage& s) {
  event::wait first = s.other();
  s.next_line(__LINE__);
  static_cast<void>(co_await when_any(first, s.turns.run([] {})));
}
task<> waits_for_all_within_a_limit(stage& s) {
  event::wait first = s.other();
  s.next_line(__LINE__);
  static_cast<void>(co_await timeout(1h, when_all(first, s.turns.run([] {}))));
}
task<> waits_in_a_finally(stage& s) {
  const auto body = [&s] { return s.turns.run([] {}); };
  const auto cleanup = [](const outcome<void>&) -> task<> { co_return; };
  s.next_line(__LINE__);
  co_await finally(body, cleanup, 1s);
}
task<> waits_in_a_cleanup(stage& s) {
  const auto body = []() -> task<> { co_return; };
  const auto cleanup = [&s](const outcome<void>&) { return s.turns.run([] {}); };
  s.next_line(__LINE__);
  co_await finally(body, cleanup, 1h);
}
task<> waits_for_a_scopes_children(stage& s) {
  const auto body = [&s](scope& children) -> task<> {
    static_cast<void>(children.spawn([&s]() -> task<> { co_await s.other(); }));
    co_return;
  };
  s.next_line(__LINE__);
  co_await with_scope(body);
}
task<> waits_in_a_join_set(stage& s) {
  join_set<void> set;
  set.spawn([&s]() -> task<> { co_await s.other(); });
  s.next_line(__LINE__);
  static_cast<void>(co_await set.next());
}
task<> waits_for_an_async_scope(stage& s) {
  async_scope children;
  static_cast<void>(children.spawn([&s]() -> task<> { co_await s.other(); }));
  s.next_line(__LINE__);
  co_await children.close();
}
task<> waits_in_a_select(stage& s) {
  auto [to, from] = channel::bounded<int>(1);
  auto [more_to, more_from] = channel::bounded<int>(1);
  s.next_line(__LINE__);
  static_cast<void>(co_await channel::select(from.recv(), more_from.recv()));
}
task<> waits_in_a_copy(stage& s) {
  auto [ours, theirs] = io::duplex(8);
  auto [in, out] = io::duplex(8);
  s.next_line(__LINE__);
  static_cast<void>(co_await io::copy(ours, in));
}
task<> waits_for_a_line(stage& s) {
  auto [ours, theirs] = io::duplex(8);
  io::buffered_reader<io::duplex_end> in(ours);
  s.next_line(__LINE__);
  static_cast<void>(co_await in.line());
}
task<> waits_for_the_next_line(stage& s) {
  auto [ours, theirs] = io::duplex(8);
  io::buffered_reader<io::duplex_end> in(ours);
  auto all = io::lines(in);
  s.next_line(__LINE__);
  static_cast<void>(co_await all.next());
}
async_generator<int> received(channel::receiver<int>& from, stage& s) {
  s.next_line(__LINE__);
  const std::optional<int> one = co_await from.recv();
  co_yield one.value_or(0);
}
task<> waits_in_a_generator(stage& s) {
  auto [to, from] = channel::bounded<int>(1);
  async_generator<int> all = received(from, s);
  static_cast<void>(co_await all.next());
}
task<> waits_for_a_stage(stage& s) {
  auto [to, from] = channel::bounded<int>(1);
  auto doubled = stream::map(std::move(from), [](int n) { return 2 * n; });
  s.next_line(__LINE__);
  static_cast<void>(co_await doubled.next());
}
task<> waits_in_an_accept(stage& s) {
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0)).value();
  s.next_line(__LINE__);
  static_cast<void>(co_await listener.accept());
}
/// A frame of the program between two of rota's: the innermost of the program counts.
task<> inner(stage& s) {
  s.next_line(__LINE__);
  static_cast<void>(co_await timeout(1h, s.turns.run([] {})));
}
task<> waits_two_calls_deep(stage& s) {
  const auto body = [&s] { return inner(s); };
  const auto cleanup = [](const outcome<void>&) -> task<> { co_return; };
  co_await finally(body, cleanup, 1s);
}
/// An earlier wait in the same coroutine is not the one that is named.
task<> waits_again(stage& s) {
  sync::strand free;
  co_await free.run([] {});
  co_await yield();
  s.next_line(__LINE__);
  co_await s.turns.run([] {});
}

TEST(regress_await_site, a_dump_names_the_co_await_of_the_program) {
  constexpr std::array all{
      waits_in_a_strand,
      waits_within_a_limit,
      waits_for_all,
      waits_for_any,
      waits_for_all_within_a_limit,
      waits_in_a_finally,
      waits_in_a_cleanup,
      waits_in_a_generator,
      waits_in_a_join_set,
      waits_for_a_scopes_children,
      waits_for_an_async_scope,
      waits_in_a_select,
      waits_in_a_copy,
      waits_for_a_line,
      waits_for_a_stage,
      waits_for_the_next_line,
      waits_in_an_accept,
      waits_two_calls_deep,
      waits_again,
  };
  for (const waiting each : all) expect_own_site(each);
}

/// The text of the report. The failed task writes it before `is_reported`.
std::string reported;
std::atomic<bool> is_reported;

TEST(regress_await_site, unhandled_exception_report_names_the_co_await) {
  is_reported = false;
  runtime_options options = with_workers(1);
  options.on_unhandled = unhandled_policy::callback([](const unhandled_exception& what) noexcept {
    reported = std::string(what.file == nullptr ? "" : what.file) + ":" + std::to_string(what.line);
    is_reported = true;
  });
  stage on;
  runtime rt(options);
  static_cast<void>(rt.spawn([&on]() -> task<> {
    on.next_line(__LINE__);
    co_await on.turns.run([] {});
    throw std::runtime_error("no caller takes it");
  }));
  wait_until([] { return is_reported.load(); });
  EXPECT_NE(reported.find(std::string(this_file) + std::to_string(on.line.load())), std::string::npos)
      << reported;
}

/// The text of an error, and the line of the co_await that threw it.
struct said {
  std::source_location where;
  unsigned expected = 0;
};
task<said> awaits_a_cancelled_task() {
  auto work = spawn([]() -> task<> { co_await sleep_for(1h); });
  work.cancel();
  said of;
  try {
    of.expected = __LINE__ + 1;
    co_await work;
  } catch (const error& e) {
    of.where = e.where();
  }
  co_return of;
}
task<said> runs_in_a_closed_strand() {
  sync::strand turns;
  co_await turns.join();
  said of;
  try {
    of.expected = __LINE__ + 1;
    co_await turns.run([] {});
  } catch (const error& e) {
    of.where = e.where();
  }
  co_return of;
}

TEST(regress_await_site, an_error_says_which_co_await_has_thrown_it) {
  runtime rt(with_workers(1));
  for (const auto awaits : {awaits_a_cancelled_task, runs_in_a_closed_strand}) {
    for (const said& of : {rt.block_on(awaits()), rt.spawn(awaits()).join()}) {
      EXPECT_EQ(of.where.line(), of.expected);
      EXPECT_NE(std::string_view(of.where.file_name()).find("regress_await_site_test.cpp"),
                std::string_view::npos);
    }
  }
}

TEST(regress_await_site, an_error_that_no_task_throws_has_no_line) {
  EXPECT_EQ(error(errc::closed).where().line(), 0U);
  EXPECT_EQ(cancelled_error(cancel_reason::user).where().line(), 0U);
}

/// A coroutine of rota's that is a task itself has no co_await of the program around it.
TEST(regress_await_site, dump_names_a_library_coroutine_without_the_build_path) {
  stage on;
  runtime rt(with_workers(2));
  static_cast<void>(
      rt.spawn([&s = on]() -> task<> { co_await s.turns.run([&s]() -> task<> { co_await s.hold(); }); }));
  wait_until([&] { return on.hold.is_awaited(); });
  join_handle<void> second = rt.spawn(on.turns.run([] {}));
  std::string said;
  wait_until([&] {
    said = rt.dump();
    const std::size_t first = said.find(": waiting");
    return first != std::string::npos && said.find(": waiting", first + 1) != std::string::npos;
  });
  EXPECT_NE(said.find(" at rota/sync/strand.hpp:"), std::string::npos) << said;
  on.hold.fire();
  second.join();
}

}  // namespace
}  // namespace rota::test
