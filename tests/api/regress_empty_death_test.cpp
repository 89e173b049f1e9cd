// Objects that were moved from or used up, and have no error to return: each member ends the program with one
// sentence, in every build. This file is built a second time with NDEBUG.
#include <gtest/gtest.h>

#include <rota/async_scope.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>
#include <rota/graceful_shutdown.hpp>
#include <rota/io/duplex.hpp>
#include <rota/process.hpp>
#include <rota/rota.hpp>
#include <rota/sync/condition_variable.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/shared_mutex.hpp>
#include <rota/unix_signal.hpp>

#include <array>
#include <csignal>
#include <cstddef>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace rota::test {
namespace empty_objects {
namespace {

using namespace std::chrono_literals;

/// One member of an object that is empty.
template <class Object>
struct use {
  const char* member;
  void (*call)(Object& empty);
};

/// Each use ends the program with `sentence`.
template <class Object>
void each_ends(const char* sentence,
               void (*use_it)(void (*call)(Object&)),
               std::span<const use<Object>> uses) {
  for (const use<Object>& each : uses) {
    SCOPED_TRACE(each.member);
    EXPECT_EXIT(use_it(each.call), testing::KilledBySignal(SIGABRT), sentence);
  }
}

constexpr const char* no_work = "rota: fatal: an empty task: moved from, awaited or spawned before";
constexpr const char* no_half =
    "rota: fatal: an empty half of a channel was used: moved from, or of a oneshot";

/// Awaits what `make` makes of an empty object.
template <class Object, class Make>
void await_of(Object& empty, Make make) {
  rota::run(
      [&empty, make]() -> task<> {
        auto wait = [&]() -> task<> { static_cast<void>(co_await make(empty)); };
        co_await wait();
      },
      {.workers = 1});
}

task<int> gives(int n) { co_return n; }

void of_a_task(void (*call)(task<int>&)) {
  task<int> work = gives(1);
  [[maybe_unused]] const task<int> taken = std::move(work);
  call(work);
}

TEST(an_empty_task_death_test, ends_the_program_with_a_sentence_wherever_it_is_used) {
  static constexpr use<task<int>> uses[] = {
      {"co_await", [](task<int>& t) { await_of(t, [](task<int>& e) { return std::move(e); }); }},
      {"timeout", [](task<int>& t) { await_of(t, [](task<int>& e) { return timeout(1s, std::move(e)); }); }},
      {"when_all", [](task<int>& t) { await_of(t, [](task<int>& e) { return when_all(std::move(e)); }); }},
      {"when_any", [](task<int>& t) { await_of(t, [](task<int>& e) { return when_any(std::move(e)); }); }},
      {"block_on", [](task<int>& t) { static_cast<void>(rota::run(std::move(t), {.workers = 1})); }},
      {"spawn", [](task<int>& t) { runtime({.workers = 1}).spawn(std::move(t)).join(); }},
  };
  each_ends<task<int>>(no_work, of_a_task, uses);
}

TEST(an_empty_task_death_test, ends_the_program_when_it_was_awaited_before) {
  const auto twice = [] {
    rota::run(
        []() -> task<> {
          auto work = gives(1);
          static_cast<void>(co_await std::move(work));
          static_cast<void>(co_await std::move(work));
        },
        {.workers = 1});
  };
  EXPECT_EXIT(twice(), testing::KilledBySignal(SIGABRT), no_work);
}

// --- channels

using sender = decltype(channel::bounded<int>(1).sender);
using receiver = decltype(channel::bounded<int>(1).receiver);
using weak_sender = decltype(channel::bounded<int>(1).sender.downgrade());

void of_a_sender(void (*call)(sender&)) {
  auto [tx, rx] = channel::bounded<int>(4);
  const auto taken = std::move(tx);
  call(tx);
}

TEST(an_empty_sender_death_test, ends_the_program_with_a_sentence) {
  static constexpr use<sender> uses[] = {
      {"send", [](sender& s) { await_of(s, [](sender& e) { return e.send(1); }); }},
      {"try_send", [](sender& s) { static_cast<void>(s.try_send(1)); }},
      {"send_for", [](sender& s) { static_cast<void>(s.send_for(1s, 1)); }},
      {"blocking_send", [](sender& s) { static_cast<void>(s.blocking_send(1)); }},
      {"blocking_send_for", [](sender& s) { static_cast<void>(s.blocking_send_for(1s, 1)); }},
      {"close", [](sender& s) { s.close(); }},
      {"is_closed", [](sender& s) { static_cast<void>(s.is_closed()); }},
      {"size", [](sender& s) { static_cast<void>(s.size()); }},
      {"capacity", [](sender& s) { static_cast<void>(s.capacity()); }},
      {"stats", [](sender& s) { static_cast<void>(s.stats()); }},
      {"closed", [](sender& s) { static_cast<void>(s.closed()); }},
      {"blocking_closed", [](sender& s) { s.blocking_closed(); }},
      {"downgrade", [](sender& s) { static_cast<void>(s.downgrade()); }},
  };
  each_ends<sender>(no_half, of_a_sender, uses);
}

void of_a_receiver(void (*call)(receiver&)) {
  auto [tx, rx] = channel::bounded<int>(4);
  const auto taken = std::move(rx);
  call(rx);
}

TEST(an_empty_receiver_death_test, ends_the_program_with_a_sentence) {
  static std::vector<int> all;
  static constexpr use<receiver> uses[] = {
      {"recv", [](receiver& r) { await_of(r, [](receiver& e) { return e.recv(); }); }},
      {"try_recv", [](receiver& r) { static_cast<void>(r.try_recv()); }},
      {"recv_for", [](receiver& r) { static_cast<void>(r.recv_for(1s)); }},
      {"blocking_recv", [](receiver& r) { static_cast<void>(r.blocking_recv()); }},
      {"blocking_recv_for", [](receiver& r) { static_cast<void>(r.blocking_recv_for(1s)); }},
      {"recv_many", [](receiver& r) { static_cast<void>(r.recv_many(all, 2)); }},
      {"try_recv_many", [](receiver& r) { static_cast<void>(r.try_recv_many(all, 2)); }},
      {"close", [](receiver& r) { r.close(); }},
  };
  each_ends<receiver>(no_half, of_a_receiver, uses);
}

using weighed_sender = channel::weighed_sender<int>;

void of_a_weighed_sender(void (*call)(weighed_sender&)) {
  auto [tx, rx] = channel::bounded_by_weight<int>(4, 4, [](const int& /*item*/) noexcept { return 1U; });
  const auto taken = std::move(tx);
  call(tx);
}

TEST(an_empty_sender_death_test, ends_the_program_if_the_channel_is_bounded_by_weight) {
  static constexpr use<weighed_sender> uses[] = {
      {"send", [](weighed_sender& s) { await_of(s, [](weighed_sender& e) { return e.send(1); }); }},
      {"try_send", [](weighed_sender& s) { static_cast<void>(s.try_send(1)); }},
      {"send_for", [](weighed_sender& s) { static_cast<void>(s.send_for(1s, 1)); }},
      {"blocking_send", [](weighed_sender& s) { static_cast<void>(s.blocking_send(1)); }},
      {"blocking_send_for", [](weighed_sender& s) { static_cast<void>(s.blocking_send_for(1s, 1)); }},
      {"weight", [](weighed_sender& s) { static_cast<void>(s.weight()); }},
      {"max_weight", [](weighed_sender& s) { static_cast<void>(s.max_weight()); }},
  };
  each_ends<weighed_sender>(no_half, of_a_weighed_sender, uses);
}

TEST(an_empty_sender_death_test, ends_the_program_if_it_is_unbounded_or_weak) {
  const auto send = [] {
    auto [tx, rx] = channel::unbounded<int>();
    const auto taken = std::move(tx);
    static_cast<void>(tx.try_send(1));
  };
  EXPECT_EXIT(send(), testing::KilledBySignal(SIGABRT), no_half);
  const auto upgrade = [] {
    auto [tx, rx] = channel::bounded<int>(4);
    weak_sender weak = tx.downgrade();
    const weak_sender taken = std::move(weak);
    static_cast<void>(weak.upgrade());
  };
  EXPECT_EXIT(upgrade(), testing::KilledBySignal(SIGABRT), no_half);
}

using once_sender = channel::oneshot_sender<int>;
using once_receiver = channel::oneshot_receiver<int>;

void of_a_once_sender(void (*call)(once_sender&)) {
  auto [tx, rx] = channel::oneshot<int>();
  static_cast<void>(std::move(tx).send(1));  // that leaves it empty, too
  call(tx);
}
void of_a_once_receiver(void (*call)(once_receiver&)) {
  auto [tx, rx] = channel::oneshot<int>();
  const auto taken = std::move(rx);
  call(rx);
}

TEST(an_empty_oneshot_death_test, ends_the_program_with_a_sentence) {
  static constexpr use<once_sender> sends[] = {
      {"send", [](once_sender& s) { static_cast<void>(std::move(s).send(2)); }},
      {"try_send", [](once_sender& s) { static_cast<void>(std::move(s).try_send(2)); }},
      {"is_closed", [](once_sender& s) { static_cast<void>(s.is_closed()); }},
      {"closed", [](once_sender& s) { static_cast<void>(s.closed()); }},
  };
  each_ends<once_sender>(no_half, of_a_once_sender, sends);
  static constexpr use<once_receiver> receives[] = {
      {"recv", [](once_receiver& r) { await_of(r, [](once_receiver& e) { return e.recv(); }); }},
      {"try_recv", [](once_receiver& r) { static_cast<void>(r.try_recv()); }},
      {"recv_for", [](once_receiver& r) { static_cast<void>(r.recv_for(1s)); }},
      {"blocking_recv", [](once_receiver& r) { static_cast<void>(r.blocking_recv()); }},
      {"close", [](once_receiver& r) { r.close(); }},
      {"is_closed", [](once_receiver& r) { static_cast<void>(r.is_closed()); }},
  };
  each_ends<once_receiver>(no_half, of_a_once_receiver, receives);
}

using caster = channel::broadcast_sender<int>;
using listener = channel::broadcast_receiver<int>;

void of_a_caster(void (*call)(caster&)) {
  auto [tx, rx] = channel::broadcast<int>(4);
  const auto taken = std::move(tx);
  call(tx);
}
void of_a_listener(void (*call)(listener&)) {
  auto [tx, rx] = channel::broadcast<int>(4);
  const auto taken = std::move(rx);
  call(rx);
}

TEST(an_empty_half_of_a_broadcast_death_test, ends_the_program_with_a_sentence) {
  static constexpr use<caster> sends[] = {
      {"send", [](caster& s) { static_cast<void>(s.send(1)); }},
      {"subscribe", [](caster& s) { static_cast<void>(s.subscribe()); }},
      {"capacity", [](caster& s) { static_cast<void>(s.capacity()); }},
      {"has_receivers", [](caster& s) { static_cast<void>(s.has_receivers()); }},
      {"receiver_count", [](caster& s) { static_cast<void>(s.receiver_count()); }},
      {"close", [](caster& s) { s.close(); }},
      {"is_closed", [](caster& s) { static_cast<void>(s.is_closed()); }},
      {"closed", [](caster& s) { static_cast<void>(s.closed()); }},
  };
  each_ends<caster>(no_half, of_a_caster, sends);
  static constexpr use<listener> receives[] = {
      {"recv", [](listener& r) { await_of(r, [](listener& e) { return e.recv(); }); }},
      {"try_recv", [](listener& r) { static_cast<void>(r.try_recv()); }},
      {"recv_for", [](listener& r) { static_cast<void>(r.recv_for(1s)); }},
      {"blocking_recv", [](listener& r) { static_cast<void>(r.blocking_recv()); }},
      {"subscribe", [](listener& r) { static_cast<void>(r.subscribe()); }},
      {"size", [](listener& r) { static_cast<void>(r.size()); }},
      {"capacity", [](listener& r) { static_cast<void>(r.capacity()); }},
      {"is_closed", [](listener& r) { static_cast<void>(r.is_closed()); }},
  };
  each_ends<listener>(no_half, of_a_listener, receives);
}

using setter = channel::watch_sender<int>;
using watcher = channel::watch_receiver<int>;

void of_a_setter(void (*call)(setter&)) {
  auto [tx, rx] = channel::watch<int>(1);
  const auto taken = std::move(tx);
  call(tx);
}
void of_a_watcher(void (*call)(watcher&)) {
  auto [tx, rx] = channel::watch<int>(1);
  const auto taken = std::move(rx);
  call(rx);
}

TEST(an_empty_half_of_a_watch_death_test, ends_the_program_with_a_sentence) {
  static constexpr use<setter> sends[] = {
      {"send", [](setter& s) { static_cast<void>(s.send(2)); }},
      {"send_replace", [](setter& s) { static_cast<void>(s.send_replace(2)); }},
      {"send_modify", [](setter& s) { static_cast<void>(s.send_modify([](int& n) { ++n; })); }},
      {"get", [](setter& s) { static_cast<void>(s.get()); }},
      {"subscribe", [](setter& s) { static_cast<void>(s.subscribe()); }},
      {"close", [](setter& s) { s.close(); }},
      {"closed", [](setter& s) { static_cast<void>(s.closed()); }},
  };
  each_ends<setter>(no_half, of_a_setter, sends);
  static constexpr use<watcher> receives[] = {
      {"get", [](watcher& r) { static_cast<void>(r.get()); }},
      {"get_and_update", [](watcher& r) { static_cast<void>(r.get_and_update()); }},
      {"changed", [](watcher& r) { await_of(r, [](watcher& e) { return e.changed(); }); }},
      {"try_changed", [](watcher& r) { static_cast<void>(r.try_changed()); }},
      {"changed_for", [](watcher& r) { static_cast<void>(r.changed_for(1s)); }},
      {"blocking_changed", [](watcher& r) { static_cast<void>(r.blocking_changed()); }},
      {"has_changed", [](watcher& r) { static_cast<void>(r.has_changed()); }},
      {"mark_changed", [](watcher& r) { r.mark_changed(); }},
      {"mark_unchanged", [](watcher& r) { r.mark_unchanged(); }},
      {"when",
       [](watcher& r) { await_of(r, [](watcher& e) { return e.when([](int n) { return n > 0; }); }); }},
      {"is_closed", [](watcher& r) { static_cast<void>(r.is_closed()); }},
  };
  each_ends<watcher>(no_half, of_a_watcher, receives);
}

// --- streams in memory, signals, processes

void of_a_duplex_end(void (*call)(io::duplex_end&)) {
  auto [ours, theirs] = io::duplex(64);
  const auto taken = std::move(ours);
  call(ours);
}

TEST(an_empty_end_of_a_duplex_death_test, ends_the_program_with_a_sentence) {
  using end = io::duplex_end;
  static std::array<std::byte, 4> bytes;
  static constexpr use<end> uses[] = {
      {"read", [](end& e) { await_of(e, [](end& of) { return of.read(bytes); }); }},
      {"write", [](end& e) { await_of(e, [](end& of) { return of.write(bytes); }); }},
      {"try_read", [](end& e) { static_cast<void>(e.try_read(bytes)); }},
      {"try_write", [](end& e) { static_cast<void>(e.try_write(bytes)); }},
      {"shutdown_write", [](end& e) { e.shutdown_write(); }},
      {"close", [](end& e) { e.close(); }},
  };
  each_ends<end>(
      "rota: fatal: an end of an io::duplex was used after it was moved from", of_a_duplex_end, uses);
}

/// Calls `body` with a T that was moved from, in a task, where `open` gives one.
template <class T, class Open, class Body>
void in_a_task(Open open, Body body) {
  rota::run(
      [open, body]() -> task<> {
        auto opened = open();
        T empty = std::move(*opened);
        const T taken = std::move(empty);
        co_await body(empty);
      },
      {.workers = 1});
}

TEST(an_empty_unix_signal_death_test, ends_the_program_with_a_sentence) {
  const auto wait = [] {
    in_a_task<unix_signal>([] { return unix_signal::open({SIGUSR1}); },
                           [](unix_signal& s) -> task<> { static_cast<void>(co_await s.next()); });
  };
  EXPECT_EXIT(wait(),
              testing::KilledBySignal(SIGABRT),
              "rota: fatal: next\\(\\) of a unix_signal that was moved from");
}

void of_a_shutdown(void (*call)(graceful_shutdown&)) {
  in_a_task<graceful_shutdown>([] { return graceful_shutdown::open({}); },
                               [call](graceful_shutdown& s) -> task<> {
                                 call(s);
                                 co_return;
                               });
}

TEST(an_empty_graceful_shutdown_death_test, ends_the_program_with_a_sentence) {
  using end = graceful_shutdown;
  static constexpr use<end> uses[] = {
      {"trigger", [](end& e) { e.trigger(); }},
      {"is_triggered", [](end& e) { static_cast<void>(e.is_triggered()); }},
      {"wait", [](end& e) { static_cast<void>(e.wait()); }},
      {"signal", [](end& e) { static_cast<void>(e.signal()); }},
      {"begin_work", [](end& e) { static_cast<void>(e.begin_work()); }},
      {"pending", [](end& e) { static_cast<void>(e.pending()); }},
  };
  each_ends<end>("rota: fatal: a graceful_shutdown was used after it was moved from", of_a_shutdown, uses);
}

void of_a_child(void (*call)(process::child&)) {
  rota::run(
      [call]() -> task<> {
        const process::command sleeper("true");
        auto started = co_await sleeper.spawn();
        process::child empty = std::move(*started);
        const process::child taken = std::move(empty);
        call(empty);
      },
      {.workers = 1});
}

TEST(an_empty_child_death_test, ends_the_program_with_a_sentence) {
  using child = process::child;
  static constexpr use<child> uses[] = {
      {"id", [](child& c) { static_cast<void>(c.id()); }},
      {"wait", [](child& c) { static_cast<void>(c.wait()); }},
      {"try_wait", [](child& c) { static_cast<void>(c.try_wait()); }},
      {"kill", [](child& c) { static_cast<void>(c.kill()); }},
      {"signal", [](child& c) { static_cast<void>(c.signal(SIGTERM)); }},
      {"signal_group", [](child& c) { static_cast<void>(c.signal_group(SIGTERM)); }},
      {"native_handle", [](child& c) { static_cast<void>(c.native_handle()); }},
  };
  each_ends<child>("rota: fatal: a process::child was used after it was moved from", of_a_child, uses);
}

// --- sets of tasks

void of_a_set(void (*call)(join_set<int>&)) {
  join_set<int> set;
  [[maybe_unused]] const join_set<int> taken = std::move(set);
  call(set);
}

TEST(an_empty_join_set_death_test, ends_the_program_with_a_sentence) {
  using set = join_set<int>;
  static constexpr use<set> uses[] = {
      {"spawn",
       [](set& s) {
         await_of(s, [](set& e) {
           e.spawn(gives(1));
           return yield();
         });
       }},
      {"spawn of a function",
       [](set& s) {
         await_of(s, [](set& e) {
           e.spawn(gives, 1);
           return yield();
         });
       }},
      {"next", [](set& s) { static_cast<void>(s.next()); }},
      {"co_await next", [](set& s) { await_of(s, [](set& e) { return e.next(); }); }},
      {"cancel_all", [](set& s) { s.cancel_all(); }},
      {"close", [](set& s) { static_cast<void>(s.close()); }},
      {"size", [](set& s) { static_cast<void>(s.size()); }},
      {"empty", [](set& s) { static_cast<void>(s.empty()); }},
  };
  each_ends<set>("rota: fatal: an empty join_set: moved from", of_a_set, uses);
}

// --- scopes

constexpr const char* no_scope = "rota: fatal: a scope was used after it had ended";

/// Calls `call` with a scope that has ended. Its memory is the caller's, so nothing else has reused it.
void of_a_scope(void (*call)(scope&)) {
  const auto body = [call]() -> task<> {
    alignas(scope) std::array<std::byte, sizeof(scope)> place;
    core::promise_base& here = co_await core::this_frame();
    auto* const ended = ::new (static_cast<void*>(place.data())) scope(here);
    co_await ended->all_ended();
    ended->~scope();
    call(*ended);
  };
  rota::run(body, {.workers = 1});
}

TEST(a_scope_that_has_ended_death_test, ends_the_program_with_a_sentence) {
  static constexpr use<scope> uses[] = {
      {"spawn", [](scope& s) { static_cast<void>(s.spawn(gives(1))); }},
      {"spawn of a function", [](scope& s) { static_cast<void>(s.spawn(gives, 1)); }},
      {"fork", [](scope& s) { s.fork(gives(1)); }},
      {"cancel", [](scope& s) { s.cancel(); }},
      {"size", [](scope& s) { static_cast<void>(s.size()); }},
  };
  each_ends<scope>(no_scope, of_a_scope, uses);
}

// AddressSanitizer reports the destroyed frame first.
TEST(a_scope_that_has_ended_death_test, ends_the_program_when_a_reference_outlives_with_scope) {
  const auto forks = [] {
    rota::run(
        []() -> task<> {
          scope* kept = nullptr;
          auto keeps = [&kept](scope& s) -> task<> {
            kept = &s;
            co_return;
          };
          co_await with_scope(keeps);
          kept->fork(gives(1));
        },
        {.workers = 1});
  };
  EXPECT_DEATH(forks(), "a scope was used after it had ended|AddressSanitizer");
}

TEST(a_scope_that_has_ended_death_test, ends_the_program_when_it_is_a_destroyed_async_scope) {
  const auto forks = [] {
    rota::run(
        []() -> task<> {
          alignas(async_scope) std::array<std::byte, sizeof(async_scope)> place;
          auto* const ended = ::new (static_cast<void*>(place.data())) async_scope();
          co_await ended->close();
          ended->~async_scope();
          co_await ended->close();
        },
        {.workers = 1});
  };
  EXPECT_EXIT(forks(), testing::KilledBySignal(SIGABRT), no_scope);
}

// --- guards

TEST(an_empty_guard_death_test, ends_the_program_with_a_sentence) {
  const auto unlock = [] {
    sync::mutex m;
    auto held = m.blocking_lock();
    held.unlock();
    held.unlock();
  };
  EXPECT_EXIT(unlock(), testing::KilledBySignal(SIGABRT), "a guard of a sync::mutex that has no lock");
  const auto wait = [] {
    sync::mutex m;
    sync::condition_variable changed;
    auto held = m.blocking_lock();
    held.unlock();
    changed.blocking_wait(held);
  };
  EXPECT_EXIT(wait(), testing::KilledBySignal(SIGABRT), "was waited in with a guard that has no lock");
  const auto unlock_shared = [] {
    sync::shared_mutex m;
    auto held = m.blocking_lock_shared();
    const auto taken = std::move(held);
    held.unlock();
  };
  EXPECT_EXIT(
      unlock_shared(), testing::KilledBySignal(SIGABRT), "a guard of a sync::shared_mutex that has no lock");
}

}  // namespace
}  // namespace empty_objects
}  // namespace rota::test
