// Shared by the tests of the pool: works that run until the test lets them go, and a recorder of events.
#pragma once

#include <rota/pool/events.hpp>
#include <rota/pool/this_work.hpp>
#include <rota/pool/thread_pool.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <latch>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace rota::pool::test {

using namespace std::chrono_literals;

/// Waits until the condition is true; there is no limit.
template <class F>
void until(F what) {
  while (!what()) std::this_thread::yield();
}
template <class T>
void until(const work<T>& w, work_status status) {
  until([&] { return w.status() == status; });
}

/// Spins for longer the more `turns` are given: varies the interleaving of races.
inline void dawdle(int turns) {
  std::atomic<int> turn{0};
  while (turn.fetch_add(1, std::memory_order_relaxed) < turns) {
  }
}

/// Waits until the thread has written its id and sleeps.
inline void until_asleep(const std::atomic<pid_t>& thread) {
  until([&] { return thread != 0; });
  until([&] {
    std::ifstream in("/proc/self/task/" + std::to_string(thread.load()) + "/stat");
    std::string text;
    std::getline(in, text);
    const auto end = text.rfind(')');
    return end != std::string::npos && text.size() > end + 2 && text[end + 2] == 'S';
  });
}

/// A thread that calls `f` once. until_asleep() waits until it sleeps in there.
class sleeper {
 public:
  template <class F>
  explicit sleeper(F f)
      : thread_([this, f] {
          id_ = gettid();
          f();
        }) {}
  void until_asleep() const { test::until_asleep(id_); }
  void join() { thread_.join(); }

 private:
  std::atomic<pid_t> id_{0};
  std::thread thread_;
};

/// Holds works until it is opened. The destructor opens it, too.
class gate {
 public:
  gate() = default;
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() { open(); }

  void open() {
    if (!open_.exchange(true)) latch_.count_down();
  }
  void pass() const { latch_.wait(); }
  [[nodiscard]] bool is_open() const { return open_; }

 private:
  std::latch latch_{1};
  std::atomic<bool> open_{false};
};

/// Occupies one thread of the pool from the constructor until let_go().
class blocker {
 public:
  explicit blocker(thread_pool& p, const work_options& how = {})
      : work_(p.submit(
            [this] {
              begun_ = true;
              gate_.pass();
            },
            how)) {
    // Its status is `running` a moment before it has left the count of waiting jobs.
    until([this] { return begun_.load(); });
  }
  void let_go() { gate_.open(); }
  ~blocker() {
    let_go();
    work_.wait();
  }
  blocker(const blocker&) = delete;
  blocker& operator=(const blocker&) = delete;
  [[nodiscard]] const work<void>& handle() const { return work_; }

 private:
  gate gate_;
  std::atomic<bool> begun_{false};
  work<void> work_;
};

/// One event of a work.
struct told {
  std::string what;
  work_id id;
  work_status status = work_status::created;
  bool will_retry = false;

  friend bool operator==(const told&, const told&) = default;
  friend std::ostream& operator<<(std::ostream& out, const told& t) {
    return out << t.what << '(' << to_string(t.status) << (t.will_retry ? ", again" : "") << ')';
  }
};

/// Records each event.
class recorder final : public observer {
 public:
  explicit recorder(thread_pool& p) : heard_(p.subscribe(*this)) {}

  void work_started(work_id id) override { add({"started", id, work_status::running}); }
  void work_ended(const work_end& e) override { add({"ended", e.id, e.status, e.will_retry}); }
  void work_stopped(const work_end& e) override { add({"stopped", e.id, e.status}); }
  void work_cancelled(const work_end& e) override { add({"cancelled", e.id, e.status}); }
  void work_timed_out(work_id id) override { add({"timed out", id}); }
  void work_rejected(work_id id, rejection /*how*/) override { add({"rejected", id}); }
  void work_discarded(const work_end& e) override { add({"discarded", e.id, e.status}); }
  void work_abandoned(const work_end& e) override { add({"abandoned", e.id, e.status}); }
  void error(const pool_error& what) override {
    const std::lock_guard guard(lock_);
    errors_.push_back(what);
  }

  /// Use it as a callback.
  void call_back(const work_end& e) { add({"callback", e.id, e.status, e.will_retry}); }

  [[nodiscard]] std::vector<told> of(work_id id) const {
    const std::lock_guard guard(lock_);
    std::vector<told> found;
    std::copy_if(
        all_.begin(), all_.end(), std::back_inserter(found), [&](const told& t) { return t.id == id; });
    return found;
  }
  [[nodiscard]] std::vector<told> named(std::string_view what) const {
    const std::lock_guard guard(lock_);
    std::vector<told> found;
    std::copy_if(
        all_.begin(), all_.end(), std::back_inserter(found), [&](const told& t) { return t.what == what; });
    return found;
  }
  /// Returns the final events of a work: there must be exactly one.
  [[nodiscard]] std::vector<told> ends_of(work_id id) const {
    std::vector<told> found;
    for (const told& t : of(id)) {
      if (is_final(t.status) && !t.will_retry && t.what != "callback") found.push_back(t);
    }
    return found;
  }
  [[nodiscard]] std::size_t callbacks_of(work_id id) const {
    const std::vector<told> all = of(id);
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [](const told& t) { return t.what == "callback" && !t.will_retry; }));
  }
  [[nodiscard]] std::vector<error_from> errors() const {
    const std::lock_guard guard(lock_);
    std::vector<error_from> found;
    for (const pool_error& e : errors_) found.push_back(e.from);
    return found;
  }

 private:
  void add(told t) {
    const std::lock_guard guard(lock_);
    all_.push_back(std::move(t));
  }

  mutable std::mutex lock_;
  std::vector<told> all_;
  std::vector<pool_error> errors_;
  subscription heard_;
};

/// Expects that no work is left in the pool.
inline void expect_idle(thread_pool& p) {
  p.wait_idle();
  const pool_stats s = p.stats();
  EXPECT_EQ(s.outstanding, 0U);
  EXPECT_EQ(s.waiting, 0U);
  EXPECT_EQ(s.running, 0U);
  EXPECT_EQ(s.coroutines, 0U);
  EXPECT_EQ(s.long_running, 0U);
}

}  // namespace rota::pool::test
