// What is sent to an actor: a function that is called with its state, and who waits for what it returns.
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

/// Counted: the message has a reference, and who waits for the reply.
class ROTA_API request {
 public:
  request(const request&) = delete;
  request& operator=(const request&) = delete;

  /// By the actor, once. Throws what the function throws, if nobody waits for that. A task: it has to be awaited before the message
  /// goes, and throws the same.
  [[nodiscard]] virtual std::optional<task<void>> run(mailbox_core& box, void* state) = 0;
  /// The message goes: whoever waits will not get a reply any more, unless it is there.
  virtual void abandon() noexcept {}

  void add_reference() noexcept {
    // relaxed. The caller has one.
    references_.fetch_add(1, base::order::relaxed);
  }
  void drop_reference() noexcept {
    // acq_rel. The last one frees, and sees what all others did.
    if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
  }

 protected:
  request() = default;
  virtual ~request();

 private:
  base::atomic<std::uint32_t> references_{1};
};

/// A message: owns its reference.
class actor_message {
 public:
  /// Takes over one that is counted.
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

/// A function whose result nobody waits for.
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

/// What an actor is told of one that it supervises: it fails with the same exception. It keeps the failed one's mailbox, which reports the
/// exception itself if the supervisor ends without having been told.
class ROTA_API escalation final : public request {
 public:
  /// Once, before it is sent.
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
//   phase: waiting -> begun -> done      the actor: takes it up, puts the reply there
//                           -> closed    the message goes first: the actor has ended, or was unwound
//          waiting -> withdrawn          the asker gives up before the actor has begun: the function is not called
//   listens (a bit): the asker's waker is there, or its thread sleeps on this word
//   The function is destroyed before the asker hears of the end: by the actor before done and closed, by the asker after withdrawn.
//
// The asker puts the waker there, then sets the bit: the RMW says whether it is over already. Who ends it exchanges the phase, and
// wakes if the bit was set; after that the waker is not touched but by the last reference. An asker that gives up after `begun` asks
// the function's task to stop, and waits for the end: the function may refer to what is the asker's.
//
// Invariants (tests/model/actor_model.cpp): A1 an asker gets one reply, or hears that there will be none. A2 a function that was
// withdrawn is not called. A3 while a function runs its asker waits.
class ROTA_API reply_core : public request {
 public:
  void abandon() noexcept final;

  // --- the asker

  /// False: it is over.
  bool listen(waker by) noexcept;
  /// True: it is over, or will not begin.
  bool give_up() noexcept;
  [[nodiscard]] bool was_withdrawn() const noexcept;
  /// Its task was cancelled, because the asker gave up.
  [[nodiscard]] virtual bool was_stopped() const noexcept { return false; }
  [[nodiscard]] bool is_over() const noexcept;
  /// It is over without a reply.
  [[nodiscard]] bool was_abandoned() const noexcept;
  /// Once, before the others: this thread will wait.
  void listen_here() noexcept { static_cast<void>(listen(waker())); }
  /// Blocks the thread, and not where `box` would_deadlock().
  void wait(mailbox_core& box) noexcept;
  /// The same. False: the time was over first.
  bool wait_for(mailbox_core& box, std::chrono::nanoseconds limit) noexcept;
  /// Throws errc::closed if there is no reply.
  void demand_reply() const;

 protected:
  reply_core() = default;
  /// The actor. False: it was withdrawn.
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
  base::cell<bool> asker_is_mine_{false};  // written by whoever uses it: the model sees who that is
};

/// Stops a task that says when it begins and ends.
class ROTA_API stopper {
 public:
  /// Throws std::bad_alloc.
  stopper();
  stopper(const stopper&) = delete;
  stopper& operator=(const stopper&) = delete;
  ~stopper();

  /// Cancels the task, or the one that begins later. Any thread.
  void stop() noexcept;

  /// In its frame.
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
  /// Once it is over.
  R take() {
    demand_reply();
    return std::move(result_).value();
  }

 protected:
  outcome<R> result_;
};

/// A function that returns.
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

/// One that gives a task.
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
  /// A task of its own, so that the asker can have it cancelled, and no more than it.
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
  /// There is no memory for a task: that is the asker's to hear.
  void refuse() noexcept {
    this->result_.set_exception(std::current_exception());
    this->finish();
  }
  void stop() noexcept final { stopper_.stop(); }
  void drop_function() noexcept final { function_.reset(); }

  std::optional<F> function_;
  stopper stopper_;
};

/// Until the reply is there.
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
  /// Its message.
  [[nodiscard]] actor_message message() const noexcept {
    what_->add_reference();
    return actor_message(*what_);
  }

 private:
  Reply* what_;
};

}  // namespace rota::gate::detail
