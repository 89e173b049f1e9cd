// Shared by the tests of the task core: objects that count themselves, events to fire, access to the word.
#pragma once

#include "support/manual_scheduler.hpp"
#include "task/header.hpp"

#include <gtest/gtest.h>

#include <rota/detail/enter.hpp>
#include <rota/join_handle.hpp>
#include <rota/leaf.hpp>
#include <rota/this_task.hpp>

#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::test {

/// Records events in order. For one thread at a time.
struct journal {
  std::vector<std::string> lines;

  void add(std::string line) { lines.push_back(std::move(line)); }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& line : lines) all += (all.empty() ? "" : " ") + line;
    return all;
  }
  [[nodiscard]] std::size_t count(const std::string& line) const {
    std::size_t n = 0;
    for (const std::string& l : lines) n += l == line ? 1 : 0;
    return n;
  }
};

/// Records its name when it is destroyed, in brackets if the task is unwinding.
class note {
 public:
  note(journal& in, std::string name) : in_(&in), name_(std::move(name)) {}
  note(note&& other) noexcept : in_(std::exchange(other.in_, nullptr)), name_(std::move(other.name_)) {}
  note& operator=(note&&) = delete;
  ~note() {
    if (in_ == nullptr) return;
    exceptions_in_flight += std::uncaught_exceptions();
    destroyed_on = std::this_thread::get_id();
    in_->add(this_task::unwinding() ? "[" + name_ + "]" : name_);
  }

  static inline std::thread::id destroyed_on;  // of the last one destroyed
  static inline int exceptions_in_flight = 0;  // the sum over all notes

 private:
  journal* in_;
  std::string name_;
};

/// Counts its instances: `made` constructions, moves included, and how many are alive.
struct counted {
  static inline int made = 0;
  static inline int alive = 0;
  static inline int copies = 0;
  static void reset() { made = alive = copies = 0; }

  int value = 0;

  explicit counted(int v = 0) noexcept : value(v) { begin(); }
  counted(const counted& other) noexcept : value(other.value) {
    begin();
    ++copies;
  }
  counted(counted&& other) noexcept : value(std::exchange(other.value, -1)) { begin(); }
  counted& operator=(const counted&) = delete;
  counted& operator=(counted&&) = delete;
  ~counted() { --alive; }

 private:
  static void begin() noexcept {
    ++made;
    ++alive;
  }
};

/// An event that any thread may fire and that stays fired. One task at a time may wait for it.
class event {
 public:
  event() = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() = default;

  void fire() {
    waker waiting;
    {
      const std::lock_guard lock(mutex_);
      fired_ = true;
      waiting = std::move(waiting_);
    }
    waiting.wake();
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    fired_ = false;
  }
  /// Causes a spurious wakeup of the waiter.
  void wake_for_nothing() {
    const std::lock_guard lock(mutex_);
    waiting_.wake_by_ref();
  }
  /// Returns a waker of the current waiter, for a late wake.
  [[nodiscard]] waker steal_waker() {
    const std::lock_guard lock(mutex_);
    return waiting_.clone();
  }
  [[nodiscard]] bool is_awaited() const {
    const std::lock_guard lock(mutex_);
    return static_cast<bool>(waiting_);
  }

  class wait final : public leaf {
   public:
    explicit wait(event& of) noexcept : of_(&of) {}
    [[nodiscard]] bool is_ready() noexcept override {
      const std::lock_guard lock(of_->mutex_);
      ++of_->looks;
      return of_->fired_;
    }
    cancel_progress try_cancel(cancel_reason why) noexcept override {
      const waker unlinked = unlink(why);
      return cancel_progress::ended;
    }
    [[nodiscard]] const char* what() const noexcept override { return "test event"; }
    void await_resume() const noexcept { ++of_->resumes; }

   protected:
    bool start() override {
      waker mine = make_waker();
      const std::lock_guard lock(of_->mutex_);
      if (of_->fired_) return true;
      of_->waiting_ = std::move(mine);
      return false;
    }

   private:
    waker unlink(cancel_reason why) noexcept {
      const std::lock_guard lock(of_->mutex_);
      ++of_->cancels;
      of_->reason = why;
      return std::move(of_->waiting_);
    }
    event* of_;
  };

  [[nodiscard]] wait operator()() noexcept { return wait(*this); }

  int looks = 0;
  int resumes = 0;
  int cancels = 0;
  cancel_reason reason = cancel_reason::none;

 private:
  mutable std::mutex mutex_;
  bool fired_ = false;
  waker waiting_;
};

/// An operation that goes on after it was cancelled, until the test ends it.
class slow_operation {
 public:
  slow_operation() = default;
  slow_operation(const slow_operation&) = delete;
  slow_operation& operator=(const slow_operation&) = delete;
  ~slow_operation() = default;

  /// Ends the operation and wakes for the last time.
  void end() {
    ended_ = true;
    waiting_.wake();
  }
  void wake_for_nothing() const { waiting_.wake_by_ref(); }

  class wait final : public leaf {
   public:
    explicit wait(slow_operation& of) noexcept : of_(&of) {}
    [[nodiscard]] bool is_ready() noexcept override { return of_->ended_; }
    cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override {
      ++of_->cancels;
      return of_->ended_ ? cancel_progress::ended : cancel_progress::pending;
    }
    void await_resume() const noexcept { ++of_->resumes; }

   protected:
    bool start() override {
      of_->waiting_ = make_waker();
      return false;
    }

   private:
    slow_operation* of_;
  };

  [[nodiscard]] wait operator()() noexcept { return wait(*this); }

  int cancels = 0;
  int resumes = 0;

 private:
  bool ended_ = false;
  waker waiting_;
};

/// Ready whenever it is awaited.
class ready_leaf final : public leaf {
 public:
  ready_leaf() noexcept = default;
  [[nodiscard]] bool is_ready() noexcept override { return true; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  static void await_resume() noexcept {}
};

/// A shield at the level of the state word.
class word_shield {
 public:
  word_shield() noexcept : of_(core::current_task()) { static_cast<void>(of_->word.shield_up()); }
  word_shield(const word_shield&) = delete;
  word_shield& operator=(const word_shield&) = delete;
  ~word_shield() { static_cast<void>(of_->word.shield_down()); }

 private:
  core::header* of_;
};

/// Returns the word of the current task.
[[nodiscard]] inline core::snapshot current_word() noexcept { return core::current_task()->word.load(); }

/// Waits for an event `levels` frames deep. Each frame has a local.
inline task<> nest(journal& j, event& e, int levels) {
  const note here(j, std::to_string(levels));
  if (levels == 0) {
    co_await e();
  } else {
    co_await nest(j, e, levels - 1);
  }
  j.add("never");
}

/// Waits for a slow operation, with a local.
inline task<> waits_slowly(journal& j, slow_operation& op) {
  const note local(j, "local");
  co_await op();
  j.add("never");
}

inline task<int> give(int value) {
  const int mine = value;
  co_return mine;
}

inline task<int> after(event& e, int value) {
  const int mine = value;
  co_await e();
  co_return mine;
}

inline task<int> fails_after(event& e) {
  const int never = 0;
  co_await e();
  throw std::runtime_error("after the event");
  co_return never;
}

template <class T>
void expect_cancelled(join_handle<T>& h, cancel_reason why = cancel_reason::user) {
  ASSERT_TRUE(h.is_done());
  try {
    static_cast<void>(h.join());
    ADD_FAILURE() << "it was not cancelled";
  } catch (const cancelled_error& e) {
    EXPECT_EQ(e.reason(), why);
  }
}

}  // namespace rota::test
