// A message to an actor: a function that is called with the actor's state, and the reply that its asker waits
// for.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <rota/detail/base.hpp>
#include <rota/detail/mailbox_core.hpp>
#include <rota/leaf.hpp>
#include <rota/outcome.hpp>
#include <rota/spawn.hpp>
#include <rota/task.hpp>
#include <rota/waker.hpp>

namespace rota::gate::detail {

/// A counted request. References: the message's, and the asker's, if there is one.
class ROTA_API request {
 public:
  request(const request&) = delete;
  request& operator=(const request&) = delete;

  /// Runs the function. The actor calls it once. Throws what the function throws, if no asker waits for the
  /// result. A returned task has to be awaited before the message is destroyed, and throws the same.
  [[nodiscard]] virtual std::optional<task<void>> run(mailbox_core& box, void* state) = 0;
  /// Called when the message is destroyed: an asker gets no reply after this, unless the reply is there
  /// already.
  virtual void abandon() noexcept {}

  void add_reference() noexcept {
    // relaxed: the caller holds a reference.
    references_.fetch_add(1, base::order::relaxed);
  }
  void drop_reference() noexcept {
    // acq_rel: the last drop frees, and sees what all others did.
    if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
  }

 protected:
  request() = default;
  virtual ~request();

 private:
  base::atomic<std::uint32_t> references_{1};
};

/// A message: owns its reference to the request.
class actor_message {
 public:
  /// Takes over a counted reference.
  explicit actor_message(request& what) noexcept : what_(&what) {}
  actor_message(actor_message&& other) noexcept : what_(std::exchange(other.what_, nullptr)) {}
  actor_message& operator=(actor_message&&) = delete;
  ~actor_message() {
    if (what_ == nullptr) return;
    what_->abandon();
    what_->drop_reference();
  }
  [[nodiscard]] request& operator*() const noexcept { return *what_; }
  [[nodiscard]] request* operator->() const noexcept { return what_; }

 private:
  request* what_;
};

template <class State, class F>
using told_t = std::invoke_result_t<std::decay_t<F>&, State&>;

/// A function of which the result is not waited for.
template <class State, class F>
class notice final : public request {
 public:
  explicit notice(F function) : function_(std::move(function)) {}

  std::optional<task<void>> run(mailbox_core& /*box*/, void* state) final {
    if constexpr (std::is_void_v<told_t<State, F>>) {
      function_(*static_cast<State*>(state));
      return std::nullopt;
    } else {
      return function_(*static_cast<State*>(state));
    }
  }

 private:
  F function_;
};

/// The message by which a supervisor hears of a failed actor: the supervisor fails with the same exception.
/// It keeps the mailbox of the failed actor alive. That mailbox reports the exception itself if the
/// supervisor ends before it runs this message.
class ROTA_API escalation final : public request {
 public:
  /// Called once, before it is sent.
  void set(std::exception_ptr thrown, mailbox_core& failed) noexcept {
    thrown_ = std::move(thrown);
    failed.add_reference();
    failed_ = &failed;
  }
  std::optional<task<void>> run(mailbox_core& box, void* state) final;

 private:
  ~escalation() final {
    if (failed_ != nullptr) failed_->drop_reference();
  }

  std::exception_ptr thrown_;
  mailbox_core* failed_ = nullptr;
};

// PROTOCOL: reply word
//
//   phase: waiting -> begun -> done      the actor: begins the request, stores the reply
//                           -> closed    the message is destroyed first: the actor has ended, or was unwound
//          waiting -> withdrawn          the asker gives up before begun: the function is not called
//   listens (a bit): the asker's waker is stored, or its thread sleeps on this word
//   The function is destroyed before the asker sees the end: by the actor before done and closed, by the
//   asker after withdrawn.
//
// The asker stores the waker, then sets the bit. The RMW says whether the request is over already. The thread
// that ends the request exchanges the phase, and wakes the asker if the bit was set. After that only the drop
// of the last reference touches the waker. An asker that gives up after `begun` asks the function's task to
// stop, and waits for the end, because the function may refer to the asker's objects.
//
// Invariants (tests/model/actor_model.cpp): A1 an asker gets one reply, or is told that there will be none.
// A2 a function that was withdrawn is not called. A3 while a function runs its asker waits.
class ROTA_API reply_core : public request {
 public:
  void abandon() noexcept final;

  // --- the asker

  /// Stores the waker. Returns false if the request is over already.
  bool listen(waker by) noexcept;
  /// Gives up. Returns true if the request is over, or will not begin.
  bool give_up() noexcept;
  [[nodiscard]] bool was_withdrawn() const noexcept;
  /// Returns true if the function's task was cancelled. An asker that gave up is the usual cause.
  [[nodiscard]] virtual bool was_stopped() const noexcept { return false; }
  [[nodiscard]] bool is_over() const noexcept;
  /// Returns true if the request is over without a reply. To be called after the end.
  [[nodiscard]] bool was_abandoned() const noexcept;
  /// Announces that this thread will wait. Called once, before the others.
  void listen_here() noexcept { static_cast<void>(listen(waker())); }
  /// Blocks the thread until the request is over. Must not be called where `box` would_deadlock().
  void wait(mailbox_core& box) noexcept;
  /// As wait(), with a limit. Returns false if the time was over first.
  bool wait_for(mailbox_core& box, std::chrono::nanoseconds limit) noexcept;
  /// Throws errc::closed if there is no reply.
  void demand_reply() const;

 protected:
  reply_core() = default;
  /// Called by the actor. Returns false if the request was withdrawn.
  [[nodiscard]] bool begin() noexcept;
  void finish() noexcept;
  /// Asks the function's task to stop.
  virtual void stop() noexcept {}
  virtual void drop_function() noexcept = 0;

 private:
  void end(std::uint32_t phase) noexcept;
  void sleep_until(std::chrono::steady_clock::time_point deadline) noexcept;

  base::atomic<std::uint32_t> word_{0};
  waker asker_;
  // Set by each thread that uses it, so that the model detects a race
  base::cell<bool> asker_is_mine_{false};
};

/// Stops a task that announces its begin and its end.
class ROTA_API stopper {
 public:
  /// Throws std::bad_alloc.
  stopper();
  stopper(const stopper&) = delete;
  stopper& operator=(const stopper&) = delete;
  ~stopper();

  /// Cancels the task, or the one that begins later. Any thread.
  void stop() noexcept;

  /// Announces the begin and the end of the task. Lives in the task's frame.
  class ROTA_API running {
   public:
    explicit running(stopper& by) noexcept;
    running(const running&) = delete;
    running& operator=(const running&) = delete;
    ~running();

   private:
    stopper* by_;
  };

 private:
  struct parts;
  parts* parts_;
};

template <class R>
class reply : public reply_core {
 public:
  /// Returns the result, or throws. Called once the request is over.
  R take() {
    demand_reply();
    return std::move(result_).value();
  }

 protected:
  outcome<R> result_;
};

/// A request with a function that returns the result.
template <class State, class F, class R>
class question final : public reply<R> {
 public:
  explicit question(F function) : function_(std::in_place, std::move(function)) {}

  std::optional<task<void>> run(mailbox_core& /*box*/, void* state) final {
    if (!this->begin()) return std::nullopt;
    try {
      if constexpr (std::is_void_v<R>) {
        (*function_)(*static_cast<State*>(state));
        this->result_.emplace();
      } else {
        this->result_.emplace((*function_)(*static_cast<State*>(state)));
      }
    } catch (...) {
      this->result_.set_exception(std::current_exception());
    }
    this->finish();
    return std::nullopt;
  }

 private:
  void drop_function() noexcept final { function_.reset(); }

  std::optional<F> function_;
};

/// A request with a function that returns a task.
template <class State, class F, class R>
class inquiry final : public reply<R> {
 public:
  explicit inquiry(F function) : function_(std::in_place, std::move(function)) {}

  [[nodiscard]] bool was_stopped() const noexcept final { return this->result_.is_cancelled(); }

  std::optional<task<void>> run(mailbox_core& box, void* state) final {
    if (!this->begin()) return std::nullopt;
    try {
      return answer(box, *static_cast<State*>(state));
    } catch (...) {
      refuse();
    }
    return std::nullopt;
  }

 private:
  /// Awaits the function in a task of its own, so that the asker can have that task cancelled, and nothing
  /// else.
  task<void> answer(mailbox_core& box, State& state) {
    join_handle<R> started = start(box, state);
    if (!started.valid()) co_return;
    auto end = started.result();
    this->result_ = co_await end;
    this->finish();
  }
  task<R> stoppable(mailbox_core& box, State& state) {
    box.note_helper();
    const stopper::running here(stopper_);
    co_return co_await (*function_)(state);
  }
  [[nodiscard]] join_handle<R> start(mailbox_core& box, State& state) noexcept {
    try {
      return spawn(stoppable(box, state));
    } catch (...) {
      refuse();
    }
    return {};
  }
  /// There is no memory for a task: the asker gets that exception.
  void refuse() noexcept {
    this->result_.set_exception(std::current_exception());
    this->finish();
  }
  void stop() noexcept final { stopper_.stop(); }
  void drop_function() noexcept final { function_.reset(); }

  std::optional<F> function_;
  stopper stopper_;
};

/// Completes when the reply is there.
class ROTA_DETAIL_AWAIT_IT ROTA_API reply_leaf final : public leaf {
 public:
  explicit reply_leaf(reply_core& to) noexcept : to_(&to) {}

  [[nodiscard]] bool is_ready() noexcept final { return to_->is_over(); }
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  [[nodiscard]] bool is_discardable() noexcept final { return to_->was_abandoned(); }
  [[nodiscard]] const char* what() const noexcept final { return "the reply of an actor"; }
  void await_resume() const noexcept {}

 protected:
  bool start() final;

 private:
  reply_core* to_;
};

/// Owns the asker's reference.
template <class Reply>
class kept_reply {
 public:
  explicit kept_reply(Reply& what) noexcept : what_(&what) {}
  kept_reply(const kept_reply&) = delete;
  kept_reply& operator=(const kept_reply&) = delete;
  ~kept_reply() { what_->drop_reference(); }
  [[nodiscard]] Reply* operator->() const noexcept { return what_; }
  [[nodiscard]] Reply& operator*() const noexcept { return *what_; }
  /// Returns the message, with a reference of its own.
  [[nodiscard]] actor_message message() const noexcept {
    what_->add_reference();
    return actor_message(*what_);
  }

 private:
  Reply* what_;
};

}  // namespace rota::gate::detail
