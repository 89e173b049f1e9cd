// A pool with one work that a waiter, a successor, an observer, a callback and the result store all use.
#pragma once

#include "unit/pool/pool_support.hpp"

#include <rota/pool/work.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace rota::pool::test {

/// State of a body that ignores every stop until the test sets `end`. The body may outlive the test.
struct stubborn {
  std::atomic<bool> begun{false};
  std::atomic<bool> end{false};
  std::atomic<bool> ended{false};
};

/// A pool and the work under test.
class scene {
 public:
  scene() = default;
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;
  ~scene() {
    if (waiter_) waiter_->join();
    if (busy_) busy_->let_go();
    if (keeps_on_) {
      keeps_on_->end = true;
      until([&] { return keeps_on_->ended.load(); });
    }
  }

  void open(pool_options how) {
    p.emplace(std::move(how));
    heard.emplace(*p);
  }
  void occupy() { busy_.emplace(*p); }
  void let_go() { busy_->let_go(); }
  void let_go_if_occupied() {
    if (busy_) let_go();
  }
  void submit(const std::function<int()>& body, work_options how = {}) {
    how.callback = [this](const work_end& e) { heard->call_back(e); };
    how.store_result = true;
    w = p->submit(
        [this, body] {
          begun_ = true;
          return body();
        },
        how);
    waiter_.emplace([this] {
      EXPECT_TRUE(p->wait(w.id()));
      woken = true;
    });
    next = p->submit([] {}, {.after = {w.id()}});
  }
  /// Submits a work that ignores every stop.
  void submit_stubborn() {
    keeps_on_ = std::make_shared<stubborn>();
    submit_alone([mine = keeps_on_] {
      mine->begun = true;
      until([&] { return mine->end.load(); });
      mine->ended = true;
      return 0;
    });
  }
  void await_begun() const {
    until([&] { return begun_.load(); });
  }
  void join() {
    waiter_->join();
    waiter_.reset();
  }

  std::optional<thread_pool> p;
  std::optional<recorder> heard;
  work<int> w;
  work<void> next;
  std::atomic<bool> woken{false};

 private:
  template <class F>
  void submit_alone(F body) {
    w = p->submit(std::move(body),
                  {.callback = [this](const work_end& e) { heard->call_back(e); }, .store_result = true});
    // Observers hear of the start after its status is `running`, and the grace is short.
    until([this] { return keeps_on_->begun.load(); });
    waiter_.emplace([this] {
      EXPECT_TRUE(p->wait(w.id()));
      woken = true;
    });
    next = p->submit([] {}, {.after = {w.id()}});
  }

  std::atomic<bool> begun_{false};
  std::shared_ptr<stubborn> keeps_on_;
  std::optional<blocker> busy_;
  std::optional<sleeper> waiter_;
};

}  // namespace rota::pool::test
