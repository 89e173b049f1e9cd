// Shared by these tests: all orders of running, things to wait for, and objects that log their end.
#pragma once

#include "support/manual_scheduler.hpp"

#include <gtest/gtest.h>

#include <rota/leaf.hpp>
#include <rota/task.hpp>
#include <rota/this_task.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace rota::test {

using namespace std::chrono_literals;

/// Both orders of running; children that may or may not run inside of the awaiting task; forks that are
/// tasks from the start or run in their parent's place.
class in_every_order : public ::testing::TestWithParam<std::tuple<bool, bool, bool>> {
 protected:
  in_every_order() {
    s.lifo = std::get<0>(GetParam());
    s.claims = std::get<1>(GetParam());
    s.forks_in_place = std::get<2>(GetParam());
  }
  manual_scheduler s;
};

inline std::string name_of_order(const ::testing::TestParamInfo<std::tuple<bool, bool, bool>>& info) {
  const std::string order = std::get<0>(info.param) ? "newest_first" : "oldest_first";
  return order + (std::get<1>(info.param) ? "_with_claims" : "_without_claims") +
         (std::get<2>(info.param) ? "_in_place" : "");
}

#define ROTA_IN_EVERY_ORDER(fixture)                                                                    \
  INSTANTIATE_TEST_SUITE_P(orders,                                                                      \
                           fixture,                                                                     \
                           ::testing::Combine(::testing::Bool(), ::testing::Bool(), ::testing::Bool()), \
                           ::rota::test::name_of_order)

/// Waits until the task is cancelled.
class forever final : public leaf {
 public:
  forever() noexcept {}
  [[nodiscard]] bool is_ready() noexcept override { return false; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  static void await_resume() noexcept {}
};

/// An awaitable event. Unless `easy`, the wait of a cancelled task ends only when `let_go` is called.
class held_event {
 public:
  void set() noexcept {
    is_set_ = true;
    waker_.wake();
  }
  void let_go() noexcept {
    may_leave_ = true;
    waker_.wake();
  }
  [[nodiscard]] bool is_being_cancelled() const noexcept { return cancelled_; }

  class wait_leaf final : public leaf {
   public:
    explicit wait_leaf(held_event& e) noexcept : event_(&e) {}
    [[nodiscard]] bool is_ready() noexcept override { return event_->is_set_; }
    cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override {
      event_->cancelled_ = true;
      return cancel_ended() ? cancel_progress::ended : cancel_progress::pending;
    }
    [[nodiscard]] bool cancel_ended() noexcept override { return event_->may_leave_; }
    static void await_resume() noexcept {}

   protected:
    bool start() override {
      if (event_->is_set_) return true;
      event_->waker_ = make_waker();
      return false;
    }

   private:
    held_event* event_;
  };
  [[nodiscard]] wait_leaf wait() noexcept { return wait_leaf(*this); }

 private:
  bool is_set_ = false;
  bool may_leave_ = false;
  bool cancelled_ = false;
  waker waker_;
};

/// Appends its name to the log when it is destroyed.
class witness {
 public:
  witness(std::string& log, char name) noexcept : log_(&log), name_(name) {}
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;
  ~witness() { log_->push_back(name_); }

 private:
  std::string* log_;
  char name_;
};

/// Counts the living objects, including copies and moved-from objects.
class tally {
 public:
  explicit tally(int& alive) noexcept : alive_(&alive) { ++*alive_; }
  tally(const tally& other) noexcept : alive_(other.alive_) { ++*alive_; }
  tally& operator=(const tally&) = delete;
  ~tally() { --*alive_; }

 private:
  int* alive_;
};

/// Uses the string in its destructor: AddressSanitizer reports a string that was destroyed too early.
class user_of {
 public:
  explicit user_of(std::string& used) noexcept : used_(&used) {}
  user_of(const user_of&) = delete;
  user_of& operator=(const user_of&) = delete;
  ~user_of() { used_->push_back('.'); }

 private:
  std::string* used_;
};

struct failure : std::runtime_error {
  explicit failure(int n) : std::runtime_error("failure " + std::to_string(n)), number(n) {}
  int number;
};

// Children of all kinds. Each suspends once before it acts.
inline task<int> gives(int value) {
  co_await yield();
  co_return value;
}
inline task<int> throws(int number) {
  co_await yield();
  throw failure(number);
}
inline task<int> waits() {
  co_await forever();
  co_return 0;
}
inline task<void> holds(std::string& used) {
  const user_of user(used);
  co_await forever();
}
inline task<void> waits_for(held_event& e) { co_await e.wait(); }

/// Returns an outcome in words: "value 1", "failure 2", "cancelled user".
template <class T>
[[nodiscard]] std::string in_words(const outcome<T>& end) {
  if (end.is_cancelled()) return std::string("cancelled ") + to_string(end.reason());
  if (end.has_value()) {
    if constexpr (std::is_same_v<T, int>) return "value " + std::to_string(end.value());
    return "value";
  }
  try {
    if (end.exception() == nullptr) return "nothing";
    std::rethrow_exception(end.exception());
  } catch (const cancelled_error& e) {
    return std::string("cancelled_error ") + to_string(e.reason());
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "something";
  }
}
/// Returns the outcome of a task, which must have ended.
template <class T>
std::string end_of(join_handle<T>& handle) {
  if (!handle.is_done()) return "not ended";
  const std::optional<outcome<T>> end = handle.wait_for(0s);
  return in_words(*end);
}

}  // namespace rota::test
