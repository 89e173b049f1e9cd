// Actors: state that is reached only through its own messages.
#pragma once

#include <cstddef>
#include <exception>
#include <expected>
#include <optional>
#include <type_traits>
#include <utility>

#include <rota/detail/actor_request.hpp>
#include <rota/detail/chrono.hpp>
#include <rota/error.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/time.hpp>

namespace rota::gate {

template <class State>
class actor;

namespace detail {

[[noreturn]] ROTA_API void throw_full();
[[noreturn]] ROTA_API void throw_closed();
[[noreturn]] ROTA_API void throw_forked();
[[noreturn]] ROTA_API void throw_needs_runtime();
[[noreturn]] ROTA_API void refuse_drops();

template <class State, class Make>
class actor_box final : public mailbox_queue<actor_message> {
 public:
  actor_box(executor_core& owner, const mailbox_options& options, Make make, mailbox_reference above)
      : mailbox_queue<actor_message>(owner, options),
        make_(std::in_place, std::move(make)),
        above_(std::move(above)) {
    if (options.capacity != unbounded && options.on_full == overflow::drop_oldest) refuse_drops();
    if (above_.get() != nullptr) report_.emplace(*new escalation);
    state_.emplace(*make_);
    if (above_.get() != nullptr) node_ = make_node<actor_message>();
  }

 private:
  ~actor_box() final { drop_report(); }

  std::uint32_t serve(std::uint32_t most) noexcept final {
    std::uint32_t count = 0;
    while (count < most && !is_to_stop() && take_out(message_)) {
      ++count;
      try {
        pending_ = (*message_)->run(*this, state_->address());
        if (pending_.has_value()) {
          note_pending();
          break;
        }
        message_.reset();
      } catch (...) {
        message_.reset();
        if (!note_failure(std::current_exception())) break;
      }
    }
    return count;
  }

  ROTA_DETAIL_WRAPPER task<void> take_pending() final { return std::move(*pending_); }
  void drop_pending() noexcept final {
    pending_.reset();
    message_.reset();
  }
  void retire() noexcept final { state_.reset(); }
  void retire_for_good() noexcept final {
    state_.reset();
    make_.reset();
    drop_report();
    above_ = mailbox_reference();
  }
  void remake() final { state_.emplace(*make_); }
  void drop_report() noexcept {
    report_.reset();
    if (auto* const place = std::exchange(node_, nullptr)) free_node(place);
  }

  /// Reports the failure to the supervisor even if its mailbox is full: a failure is not lost.
  void gave_up(const std::exception_ptr& thrown) noexcept final {
    if (node_ == nullptr) return;
    mailbox_core& box = *above_.get();
    if (!box.admit_regardless()) return;
    static_cast<escalation&>(**report_).set(thrown, *this);
    auto* const place = std::exchange(node_, nullptr);
    ::new (static_cast<void*>(place->storage)) actor_message(std::move(*report_));
    box.deliver(*place, *place);
  }

  /// The state is constructed where it stays: it need not be movable.
  class kept_state {
   public:
    explicit kept_state(Make& make) : state_(make()) {}
    [[nodiscard]] void* address() noexcept { return __builtin_addressof(state_); }

   private:
    State state_;
  };

  std::optional<Make> make_;
  std::optional<kept_state> state_;
  std::optional<actor_message> message_;
  std::optional<task<void>> pending_;
  mailbox_reference above_;
  std::optional<actor_message> report_;          // allocated in advance: sending it needs no memory
  mailbox_node<actor_message>* node_ = nullptr;  // likewise
};

template <class State, class F>
inline constexpr bool gives_task = core::is_task<std::remove_cvref_t<told_t<State, F>>>;

template <class State, class F, bool = gives_task<State, F>>
struct reply_of {
  using type = told_t<State, F>;
  static_assert(!std::is_reference_v<type>,
                "a reference into the state would be used outside of the actor: return a value");
  using request_type = question<State, std::decay_t<F>, type>;
};
template <class State, class F>
struct reply_of<State, F, true> {
  using type = typename std::remove_cvref_t<told_t<State, F>>::value_type;
  static_assert(!std::is_reference_v<type>,
                "a reference into the state would be used outside of the actor: return a value");
  using request_type = inquiry<State, std::decay_t<F>, type>;
};

}  // namespace detail

/// The actor to which a failure goes when an actor stops. The supervisor then fails with the same exception,
/// and its own policy applies. Made by actor_ref::supervisor(); by default there is none.
class supervisor {
 public:
  supervisor() noexcept = default;

 private:
  template <class>
  friend class actor;
  template <class>
  friend class actor_ref;
  explicit supervisor(detail::mailbox_reference to) noexcept : to_(std::move(to)) {}
  detail::mailbox_reference to_;
};

/// A reference to an actor, for its callers; it may outlive the actor. Functions are called with the actor's
/// state, one at a time, in the order in which one sender sent them.
///
/// Threads       Any. Also inside tasks and actors.
/// Ownership     Keeps the actor's queue alive, but not the actor. A function and what it captures by value
///               is destroyed when it has been called, or will not be; for ask() and call() before they
///               return. So what it captures by reference may be the asker's.
/// Ordering      As address says. ask() sends when it is awaited first. What one function did happens before
///               the next, and before ask() returns its result.
/// Failure       tell: send_status. ask and call throw:
///                 errc::closed if the actor ends first; at the latest when its executor comes to the actor;
///                 errc::queue_full if the actor is full and its policy is to reject, and if a call inside a
///                 handler would have to wait for space;
///                 errc::forked in a forked child, where tell returns `forked`: see mailbox;
///                 errc::would_deadlock inside the actor itself, call() also in tasks of the executor's
///                 runtime;
///                 what the function throws, which is then no failure of the actor.
///               Not detected, and waits for ever: an actor's question to itself through another actor, or
///               through a task that its function waits for. A function that returns a task needs an executor
///               on a runtime: otherwise std::invalid_argument. std::bad_alloc; std::logic_error if the
///               reference is empty.
/// Cost          As a send, and one allocation for the function; ask: a coroutine frame. A function that
///               returns a task: one more task, and another for each visit.
/// Example       examples/actor.cpp
template <class State>
class actor_ref {
 public:
  actor_ref() noexcept = default;

  /// Sends a function without a reply: `function(State&)` returns nothing, or a task<void>. What it throws is
  /// a failure of the actor. Blocks if the actor is full and its policy is overflow::wait.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&, State&>
  send_status tell(F&& function) const {
    demand_tasks<F>();
    return to_.send(notice_of(std::forward<F>(function)));
  }
  /// As tell(), but never blocks.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&, State&>
  send_status try_tell(F&& function) const {
    demand_tasks<F>();
    return to_.try_send(notice_of(std::forward<F>(function)));
  }
  /// For tasks: as tell(), but the task waits where tell() would block.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&, State&>
  ROTA_DETAIL_WRAPPER task<send_status> async_tell(F&& function) const {
    demand_tasks<F>();
    return to_.async_send(notice_of(std::forward<F>(function)));
  }

  /// For tasks: returns what `function(State&)` returns, or the result of the task that it returns. If the
  /// asker is cancelled or timed out before the actor has begun the function, the function is not called. If
  /// later, the function's task is cancelled, and the asker goes on when that task has ended; a function that
  /// returns no task runs to its end. With g++ 12 name a function that captures by value before the
  /// expression that awaits it.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&, State&>
  auto ask(F&& function) const -> task<typename detail::reply_of<State, F>::type> {
    demand_tasks<F>();
    return asks<typename detail::reply_of<State, F>::type, typename detail::reply_of<State, F>::request_type>(
        to_, std::forward<F>(function));
  }

  /// For plain threads: as ask(), but blocks. Throws errc::would_deadlock where the actor's executor runs.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&, State&>
  auto call(F&& function) const -> typename detail::reply_of<State, F>::type {
    demand_tasks<F>();
    if (to_.core_of_own_process().would_deadlock())
      detail::throw_would_deadlock("call of an actor where its executor runs");
    using request_type = typename detail::reply_of<State, F>::request_type;
    const detail::kept_reply<request_type> reply(*new request_type(std::forward<F>(function)));
    demand_sent(to_.send(reply.message()));
    reply->listen_here();
    reply->wait(to_.core());
    return reply->take();
  }
  /// As call(), for at most `limit`, not counting the wait for space; then it gives up as ask() does.
  template <core::span_of_time Span, class F>
    requires std::is_invocable_v<std::decay_t<F>&, State&>
  auto call_for(Span limit, F&& function) const
      -> std::expected<typename detail::reply_of<State, F>::type, timed_out> {
    demand_tasks<F>();
    if (to_.core_of_own_process().would_deadlock())
      detail::throw_would_deadlock("call of an actor where its executor runs");
    using request_type = typename detail::reply_of<State, F>::request_type;
    const detail::kept_reply<request_type> reply(*new request_type(std::forward<F>(function)));
    demand_sent(to_.send(reply.message()));
    reply->listen_here();
    const bool late = !reply->wait_for(to_.core(), rota::detail::saturating_span(limit));
    if (late && !reply->give_up()) reply->wait(to_.core());
    // A task that was cancelled by another cause, such as a shutdown, has not timed out.
    if (late && (reply->was_withdrawn() || reply->was_stopped())) return std::unexpected(timed_out{});
    if constexpr (std::is_void_v<typename detail::reply_of<State, F>::type>) {
      reply->take();
      return {};
    } else {
      return reply->take();
    }
  }

  /// Returns the supervisor for actors below this one.
  [[nodiscard]] gate::supervisor supervisor() const {
    static_cast<void>(to_.core());
    return gate::supervisor(to_.to_);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(to_); }
  friend bool operator==(const actor_ref& a, const actor_ref& b) noexcept { return a.to_ == b.to_; }

 private:
  template <class>
  friend class actor;
  explicit actor_ref(address<detail::actor_message> to) noexcept : to_(std::move(to)) {}

  template <class F>
  void demand_tasks() const {
    const detail::mailbox_core& box = to_.core();
    if constexpr (detail::gives_task<State, F>) {
      if (!box.has_tasks()) detail::throw_needs_runtime();
    }
  }
  static void demand_sent(send_status how) {
    if (how == send_status::full) detail::throw_full();
    if (how == send_status::closed) detail::throw_closed();
    if (how == send_status::forked) detail::throw_forked();
  }

  template <class F>
  static detail::actor_message notice_of(F&& function) {
    using result = detail::told_t<State, F>;
    static_assert(std::is_void_v<result> || std::is_same_v<result, task<void>>,
                  "the result would be dropped: ask, or call");
    return detail::actor_message(*new detail::notice<State, std::decay_t<F>>(std::forward<F>(function)));
  }

  template <class R, class Request, class F>
  static task<R> asks(address<detail::actor_message> to, F function) {
    if (to.core_of_own_process().runs_here()) detail::throw_would_deadlock("ask of an actor by itself");
    const detail::kept_reply<Request> reply(*new Request(std::move(function)));
    detail::actor_message message = reply.message();
    send_status how = to.try_send(std::move(message));
    if (how == send_status::full && to.core().lets_wait()) {
      // The message was not sent, so it is as it was.
      auto sending = to.async_send(std::move(message));  // NOLINT(bugprone-use-after-move)
      how = co_await std::move(sending);
    } else if (how == send_status::closed) {
      detail::turn_leaf closed(detail::turn_leaf::after::an_end);
      co_await closed;
    }
    demand_sent(how);
    detail::reply_leaf over(*reply);
    co_await over;
    co_return reply->take();
  }

  address<detail::actor_message> to_;
};

/// State, and the mailbox through which alone it is reached. A function makes the state, and makes it anew if
/// the policy is on_error::restart.
///
///   rota::gate::actor<account> savings(executor, [] { return account{}; });
///   if (savings.tell([](account& it) { it.deposit(5); }) != rota::gate::send_status::sent) return;
///   const int balance = co_await savings.ask([](account& it) { return it.balance(); });
///
/// Threads       As mailbox.
/// Ownership     Owns the state. Its destructor is a mailbox's: it closes the actor and returns when no
///               function runs, and none ever will. An asker that waits for a reply then gets errc::closed.
/// Ordering      As mailbox says. The state is made before the constructor returns, and destroyed after the
///               last function.
/// Failure       What a function of tell() throws goes to options.error_policy. stop: the actor ends. skip:
///               the state stays as it is. restart: the state is destroyed, and made anew after a pause; the
///               functions that wait are called with the new state. If its making throws, that again counts
///               as a failure. When the actor stops for an error its supervisor fails with that error, in its
///               place in the queue, even if the supervisor's mailbox is full; a closed supervisor gets
///               nothing. The constructor throws what the making throws, and what make_mailbox() throws;
///               std::invalid_argument for overflow::drop_oldest.
/// Cost          A mailbox.
/// Example       examples/actor.cpp
template <class State>
class actor {
 public:
  actor() noexcept = default;
  /// `make()` returns the state. `above`: the supervisor that gets its failures; it may end before this
  /// actor.
  template <class Make>
    requires std::is_same_v<std::invoke_result_t<std::decay_t<Make>&>, State>
  actor(executor& on, Make&& make, const mailbox_options& options = {}, const supervisor& above = {})
      : box_(on.make_box<detail::actor_box<State, std::decay_t<Make>>, detail::actor_message>(
            options, std::forward<Make>(make), above.to_)) {}

  /// Returns a reference, for callers: copies of it may outlive the actor.
  [[nodiscard]] actor_ref<State> ref() const { return actor_ref<State>(box_.address()); }

  template <class F>
  send_status tell(F&& function) const {
    return ref().tell(std::forward<F>(function));
  }
  template <class F>
  send_status try_tell(F&& function) const {
    return ref().try_tell(std::forward<F>(function));
  }
  template <class F>
  ROTA_DETAIL_WRAPPER task<send_status> async_tell(F&& function) const {
    return ref().async_tell(std::forward<F>(function));
  }
  template <class F>
  auto ask(F&& function) const {
    return ref().ask(std::forward<F>(function));
  }
  template <class F>
  auto call(F&& function) const -> typename detail::reply_of<State, F>::type {
    return ref().call(std::forward<F>(function));
  }
  template <core::span_of_time Span, class F>
  auto call_for(Span limit, F&& function) const {
    return ref().call_for(limit, std::forward<F>(function));
  }

  /// The same as the functions of mailbox.
  void close() { box_.close(); }
  void join() const { box_.join(); }
  void drain() const { box_.drain(); }
  ROTA_DETAIL_WRAPPER task<void> async_join() const { return box_.async_join(); }
  ROTA_DETAIL_WRAPPER task<void> async_drain() const { return box_.async_drain(); }
  void pause() { box_.pause(); }
  void resume() { box_.resume(); }
  [[nodiscard]] mailbox_stats stats() const { return box_.stats(); }
  [[nodiscard]] std::exception_ptr error() const { return box_.error(); }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(box_); }

 private:
  mailbox<detail::actor_message> box_;
};

}  // namespace rota::gate
