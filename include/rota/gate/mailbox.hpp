// Mailboxes: queues with a handler that is called for one message at a time, served by an executor: its threads, or a runtime.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <rota/detail/base.hpp>
#include <rota/detail/base_frames.hpp>
#include <rota/detail/mailbox_core.hpp>
#include <rota/detail/mailbox_waits.hpp>
#include <rota/detail/send_status.hpp>
#include <rota/detail/spawn_on.hpp>
#include <rota/detail/unguarded.hpp>
#include <rota/task.hpp>

namespace rota::gate {

/// A handler for make_mailbox that can be made anew, for on_error::restart: `make()` returns it.
///
///   executor.make_mailbox<int>(made_by{[] { return parser{}; }}, {.error_policy = on_error::restart});
template <class Make>
struct made_by {
  Make make;
};
template <class Make>
made_by(Make) -> made_by<Make>;

namespace detail {

template <class T>
struct mailbox_node : queue::mpsc_link {
  T* value() noexcept { return std::launder(reinterpret_cast<T*>(storage)); }
  alignas(T) std::byte storage[sizeof(T)];
};

template <class T>
[[nodiscard]] mailbox_node<T>* make_node() {
  using node = mailbox_node<T>;
  if constexpr (alignof(node) > 16) {
    return ::new (::operator new(sizeof(node), std::align_val_t(alignof(node)))) node;
  } else {
    return ::new (base::allocate_frame(sizeof(node))) node;
  }
}
template <class T>
void free_node(mailbox_node<T>* made) noexcept {
  using node = mailbox_node<T>;
  made->~node();
  if constexpr (alignof(node) > 16) {
    ::operator delete(static_cast<void*>(made), std::align_val_t(alignof(node)));
  } else {
    base::free_frame(made, sizeof(node));
  }
}

/// The queue of a mailbox, whatever its handler is.
template <class T>
class mailbox_queue : public mailbox_core {
  using node = mailbox_node<T>;

 protected:
  using mailbox_core::mailbox_core;
  ~mailbox_queue() override {
    if (auto* const last = taker().last_served()) free_node(static_cast<node*>(last));
  }

  /// The oldest message, or nothing. Its node stays as the list's head; the one before it goes.
  bool take_out(std::optional<T>& into, std::size_t keep = 0) noexcept {
    removal now;
    if (!remove_oldest(now, keep)) return false;
    if (now.before != nullptr) free_node(static_cast<node*>(now.before));
    note_taken_out();
    core::demand_unguarded();
    auto* const oldest = static_cast<node*>(now.link);
    base::note_write(oldest->value());
    into.emplace(std::move(*oldest->value()));
    oldest->value()->~T();
    if (has_to_free(now)) free_node(oldest);
    return true;
  }

 private:
  std::uint32_t destroy_oldest(std::uint32_t most, std::size_t keep) noexcept final {
    std::uint32_t count = 0;
    std::optional<T> message;
    while (count < most && take_out(message, keep)) {
      ++count;
      message.reset();
    }
    return count;
  }
};

/// A handler that is made once.
template <class F>
class kept_handler {
 public:
  using type = F;
  explicit kept_handler(F handler) : present_(std::in_place, std::move(handler)) {}

  F& operator*() noexcept { return *present_; }
  void retire() noexcept { present_.reset(); }
  void retire_for_good() noexcept { present_.reset(); }
  void remake() noexcept {}

 private:
  std::optional<F> present_;
};
/// One that is made anew.
template <class Make>
class kept_handler<made_by<Make>> {
 public:
  using type = std::invoke_result_t<Make&>;
  static_assert(!std::is_reference_v<type>, "make() returns the handler itself");
  explicit kept_handler(made_by<Make> by) : make_(std::in_place, std::move(by.make)) {
    present_.emplace(*make_);
  }

  type& operator*() noexcept { return present_->handler; }
  void retire() noexcept { present_.reset(); }
  void retire_for_good() noexcept {
    present_.reset();
    make_.reset();
  }
  void remake() { present_.emplace(*make_); }

 private:
  /// Made where it stays: it need not be movable.
  struct place {
    explicit place(Make& make) : handler(make()) {}
    type handler;
  };
  std::optional<Make> make_;
  std::optional<place> present_;
};

template <class F>
inline constexpr bool is_made_by = false;
template <class Make>
inline constexpr bool is_made_by<made_by<Make>> = true;

/// With a handler that is a function.
template <class T, class F>
class mailbox_of final : public mailbox_queue<T> {
 public:
  mailbox_of(executor_core& owner, const mailbox_options& options, F handler)
      : mailbox_queue<T>(owner, options), handler_(std::move(handler)) {}

 private:
  ~mailbox_of() final = default;

  std::uint32_t serve(std::uint32_t most) noexcept final {
    std::uint32_t count = 0;
    std::optional<T> message;
    while (count < most && !this->is_to_stop() && this->take_out(message)) {
      ++count;
      try {
        (*handler_)(std::move(*message));
      } catch (...) {
        if (!this->note_failure(std::current_exception())) break;
      }
      message.reset();
    }
    return count;
  }

  void retire() noexcept final { handler_.retire(); }
  void retire_for_good() noexcept final { handler_.retire_for_good(); }
  void remake() final { handler_.remake(); }

  kept_handler<F> handler_;
};

/// With a handler that is a coroutine.
template <class T, class F>
class mailbox_of_tasks final : public mailbox_queue<T> {
 public:
  mailbox_of_tasks(executor_core& owner, const mailbox_options& options, F handler)
      : mailbox_queue<T>(owner, options), handler_(std::move(handler)) {}

 private:
  ~mailbox_of_tasks() final = default;

  std::uint32_t serve(std::uint32_t most) noexcept final {
    std::uint32_t count = 0;
    while (count < most && !this->is_to_stop() && this->take_out(message_)) {
      ++count;
      try {
        pending_.emplace((*handler_)(std::move(*message_)));
        this->note_pending();
        break;
      } catch (...) {
        message_.reset();
        if (!this->note_failure(std::current_exception())) break;
      }
    }
    return count;
  }

  ROTA_DETAIL_WRAPPER task<void> take_pending() final { return std::move(*pending_); }
  void drop_pending() noexcept final {
    pending_.reset();
    message_.reset();
  }
  void retire() noexcept final { handler_.retire(); }
  void retire_for_good() noexcept final { handler_.retire_for_good(); }
  void remake() final { handler_.remake(); }

  kept_handler<F> handler_;
  std::optional<T> message_;           // the one that is being handled: the task may refer to it
  std::optional<task<void>> pending_;  // its task, until that begins
};

/// What a handler gives.
template <class F, class T>
using handled_t =
    decltype(std::declval<typename kept_handler<std::decay_t<F>>::type&>()(std::declval<T&&>()));

/// A counted reference to a mailbox.
class mailbox_reference {
 public:
  mailbox_reference() noexcept = default;
  /// Takes over one that is counted.
  explicit mailbox_reference(mailbox_core& core) noexcept : core_(&core) {}
  mailbox_reference(const mailbox_reference& other) noexcept : core_(other.core_) {
    if (core_ != nullptr) core_->add_reference();
  }
  mailbox_reference(mailbox_reference&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  mailbox_reference& operator=(mailbox_reference other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  ~mailbox_reference() {
    if (core_ != nullptr) core_->drop_reference();
  }
  [[nodiscard]] mailbox_core* get() const noexcept { return core_; }

 private:
  mailbox_core* core_ = nullptr;
};

/// What a call on a mailbox that was moved from gets.
[[noreturn]] ROTA_API void throw_no_mailbox();
[[noreturn]] ROTA_API void throw_would_deadlock(const char* what);

/// An executor whose consumers are tasks, from its making on.
class ROTA_API tasks_to_make {
 public:
  explicit tasks_to_make(unsigned consumers);
  tasks_to_make(const tasks_to_make&) = delete;
  tasks_to_make& operator=(const tasks_to_make&) = delete;
  /// Not all of them were started: those that were are told to stop.
  ~tasks_to_make();

  /// Each is to be started. Empty: that was the last.
  [[nodiscard]] std::optional<task<void>> next();
  /// Takes over its handle.
  void note_started(core::header& consumer) noexcept;
  [[nodiscard]] executor_core* release() noexcept { return std::exchange(core_, nullptr); }

 private:
  executor_core* core_;
  unsigned made_ = 0;
};

template <class Runtime>
[[nodiscard]] executor_core* start_consumers(Runtime& on, unsigned consumers) {
  tasks_to_make all(consumers);
  while (auto next = all.next()) all.note_started(core::spawner_of<Runtime>::start(on, std::move(*next)));
  return all.release();
}

}  // namespace detail

/// Where to send messages: a reference to a mailbox, which it outlives.
///
/// Threads       Any. Also inside of handlers and of tasks.
/// Ownership     Keeps the mailbox's queue, but not the mailbox: that ends when its owner says so, and then send() tells.
/// Ordering      Messages of one sender are handled in the order in which it sent them. What it did before happens before that.
/// Failure       send_status; a message that was not taken is left as it was, but for async_send's. `forked`, of all sends, in a forked child
///               of the process that made the executor: it has none of the threads that would handle the message. std::bad_alloc;
///               std::logic_error if it is empty: moved from, or made by default.
/// Cost          send: a node of sizeof(T) + 8 bytes from this thread's free list, three read-modify-writes (bounded mailboxes:
///               the same), and when the mailbox was idle a fourth and a look at who sleeps. send_n: as one, and a node for each.
///               With overflow::drop_oldest also a lock, for the append.
/// Example       examples/mailbox.cpp
template <class T>
class address {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                "a message is moved without an exception: send a std::unique_ptr to it");

 public:
  address() noexcept = default;

  /// `message` is moved from only if it was sent. Blocks where the mailbox is full and its policy is overflow::wait.
  send_status send(T&& message) const { return deliver(std::move(message), true); }
  send_status send(const T& message) const {
    T copy(message);
    return deliver(std::move(copy), true);
  }
  /// Never blocks.
  send_status try_send(T&& message) const { return deliver(std::move(message), false); }
  send_status try_send(const T& message) const {
    T copy(message);
    return deliver(std::move(copy), false);
  }

  /// The first ones of `messages`, as many as there is room for, at one time: nobody else's come in between. They are moved from.
  /// Never blocks. Where the oldest are dropped, all of them are sent, and the oldest of them may be dropped at once.
  sent_count send_n(std::span<T> messages) const {
    detail::mailbox_core& box = core();
    if (messages.empty()) return {};
    node* first = nullptr;
    node* last = nullptr;
    std::size_t made = 0;
    const auto drop_from = [](node* at) noexcept {
      while (at != nullptr) {
        // relaxed. Nobody else has seen it.
        auto* const next = static_cast<node*>(at->next.load(base::order::relaxed));
        detail::free_node(at);
        at = next;
      }
    };
    try {
      for (; made < messages.size(); ++made) {
        node* const one = detail::make_node<T>();
        // relaxed. As above.
        if (last != nullptr) last->next.store(one, base::order::relaxed);
        if (first == nullptr) first = one;
        last = one;
      }
    } catch (...) {
      drop_from(first);
      throw;
    }
    sent_count result;
    result.count = box.admit(messages.size(), false, result.status);
    node* end = nullptr;
    node* at = first;
    for (std::size_t i = 0; i < result.count; ++i) {
      ::new (static_cast<void*>(at->storage)) T(std::move(messages[i]));
      end = at;
      // relaxed. As above.
      at = static_cast<node*>(at->next.load(base::order::relaxed));
    }
    drop_from(at);
    if (end == nullptr) return result;
    // relaxed. As above.
    end->next.store(nullptr, base::order::relaxed);
    box.deliver(*first, *end);
    return result;
  }

  /// For tasks: as send, and where the mailbox is full and its policy is overflow::wait the task waits. A message that is not sent, for
  /// whatever reason, is destroyed: the mailbox is full or closed, the task is cancelled, this is a forked child. One of the task's
  /// operations: now and then it gives way to others.
  ROTA_DETAIL_WRAPPER task<send_status> async_send(T message) const {
    static_cast<void>(core());
    return send_when_there_is_room(to_, std::move(message));
  }

  [[nodiscard]] explicit operator bool() const noexcept { return to_.get() != nullptr; }
  friend bool operator==(const address& a, const address& b) noexcept { return a.to_.get() == b.to_.get(); }

 private:
  template <class>
  friend class mailbox;
  template <class>
  friend class actor_ref;
  using node = detail::mailbox_node<T>;

  explicit address(detail::mailbox_reference to) noexcept : to_(std::move(to)) {}

  [[nodiscard]] detail::mailbox_core& core() const {
    if (to_.get() == nullptr) [[unlikely]]
      detail::throw_no_mailbox();
    return *to_.get();
  }
  /// The same. Throws errc::forked in a forked child.
  [[nodiscard]] detail::mailbox_core& core_of_own_process() const {
    detail::mailbox_core& box = core();
    box.demand_own_process();
    return box;
  }

  /// Gives the node back that nobody has got.
  struct kept_node {
    explicit kept_node(node* made) noexcept : one(made) {}
    kept_node(const kept_node&) = delete;
    kept_node& operator=(const kept_node&) = delete;
    ~kept_node() {
      if (one != nullptr) detail::free_node(one);
    }
    node* one;
  };

  // After a wait nothing may throw: the room that it was woken for would be nobody's.
  static task<send_status> send_when_there_is_room(detail::mailbox_reference to, T message) {
    detail::mailbox_core& box = *to.get();
    // Before the turn, which may be in a scheduler that has no threads here.
    if (!box.is_own_process()) co_return send_status::forked;
    kept_node kept(detail::make_node<T>());
    // Who always finds room gives way now and then, and hears of cancellations.
    detail::turn_leaf turn(detail::turn_leaf::after::nothing);
    co_await turn;
    bool again = false;
    for (;;) {
      send_status status = send_status::sent;
      const std::size_t admitted = box.admit(1, false, status);
      if (admitted != 0) {
        node* const one = std::exchange(kept.one, nullptr);
        ::new (static_cast<void*>(one->storage)) T(std::move(message));
        box.deliver(*one, *one);
        co_return send_status::sent;
      }
      if (status == send_status::closed) {
        detail::turn_leaf closed(detail::turn_leaf::after::an_end);
        co_await closed;
      }
      if (status != send_status::full || !box.lets_wait()) co_return status;
      detail::room_leaf room(box, again);
      co_await room;
      again = true;
    }
  }

  send_status deliver(T&& message, bool may_block) const {
    detail::mailbox_core& box = core();
    node* const one = detail::make_node<T>();
    send_status status = send_status::sent;
    if (box.admit(1, may_block, status) == 0) [[unlikely]] {
      detail::free_node(one);
      return status;
    }
    ::new (static_cast<void*>(one->storage)) T(std::move(message));
    box.deliver(*one, *one);
    return status;
  }

  detail::mailbox_reference to_;
};

/// A queue of messages with a handler, which an executor calls for one message at a time.
///
/// Threads       Any thread may send, close, pause, resume and read stats. The handler runs on the executor's threads: on one at a
///               time, and not always on the same. One that is a coroutine is a task while it waits, and the next message's turn comes
///               when it has ended; what it was called with lives until then.
/// Ownership     Owns its handler. Its destructor closes it and returns when the handler does not run and never will: it blocks as
///               long as that takes, unless it is called by the handler itself. A handler that waits is cancelled, and unwinds:
///               its frame is gone when the destructor returns, which lends its worker meanwhile. The messages that wait are destroyed unserved
///               (`dropped` counts them), and then the handler, at the latest when a thread of the executor comes by, which may be
///               after the destructor has returned: what their destructors refer to is declared before the executor. To have all
///               messages served: close(), then join(). Two handlers must not destroy each other's mailboxes: each would wait.
/// Ordering      As address says. What one call of the handler did happens before the next.
/// Failure       What the handler throws goes to options.error_policy; of a coroutine also std::bad_alloc, if there is no memory
///               for the task that would wait. If no caller can see it any more, it goes to options.on_unhandled. std::logic_error if it
///               was moved from. When the runtime under it shuts down, it ends as if it were destroyed. In a forked child of the process that
///               made the executor: sends say `forked`; join, drain, their async forms, pause and resume throw errc::forked at once; close()
///               and the destructor return and leave handler and messages in memory; stats() and error() say what they said at the fork. A
///               child that is forked inside of a handler leaves there, by exec or _exit: a return goes on with the next message in both processes.
/// Cost          About 600 bytes. No thread, and nothing at all while it is idle. A handler that is a coroutine: a task for each visit,
///               and a frame for each message.
/// Example       examples/mailbox.cpp
template <class T>
class mailbox {
 public:
  mailbox() noexcept = default;
  mailbox(mailbox&&) noexcept = default;
  mailbox& operator=(mailbox&& other) noexcept {
    if (this != &other) {
      abandon();
      to_ = std::move(other.to_);
    }
    return *this;
  }
  ~mailbox() { abandon(); }

  /// For senders: copies of it outlive the mailbox.
  [[nodiscard]] gate::address<T> address() const {
    static_cast<void>(to_.core());
    return to_;
  }

  send_status send(T&& message) const { return to_.send(std::move(message)); }
  send_status send(const T& message) const { return to_.send(message); }
  send_status try_send(T&& message) const { return to_.try_send(std::move(message)); }
  send_status try_send(const T& message) const { return to_.try_send(message); }
  ROTA_DETAIL_WRAPPER task<send_status> async_send(T message) const {
    return to_.async_send(std::move(message));
  }
  sent_count send_n(std::span<T> messages) const { return to_.send_n(messages); }

  /// No message comes in any more. Those that are in are served. Does nothing in a forked child.
  void close() { to_.core().close(); }
  /// Returns when it is closed and all messages are served, or were destroyed for an error. Throws errc::would_deadlock in handlers
  /// of its executor, which may be what would have to serve it, and where that is on a runtime in every task of that:
  /// async_join() waits there. Throws errc::forked in a forked child, also if it had ended before the fork.
  void join() const {
    detail::mailbox_core& core = to_.core_of_own_process();
    if (core.would_deadlock()) detail::throw_would_deadlock("join of a mailbox where its executor runs");
    core.wait_until_ended();
  }
  /// Returns when it is empty at one moment, and all that was sent before has been handled; senders who never pause may keep it from
  /// that. Waits for a resume(), where something waits in a mailbox that is paused. Throws as join().
  void drain() const {
    detail::mailbox_core& core = to_.core_of_own_process();
    if (core.would_deadlock()) detail::throw_would_deadlock("drain of a mailbox where its executor runs");
    core.wait_until_empty();
  }

  /// For tasks: as join and drain, and the task waits. It may be cancelled meanwhile. Throws errc::would_deadlock in the mailbox's own
  /// handler, errc::forked in a forked child.
  ROTA_DETAIL_WRAPPER task<void> async_join() const {
    static_cast<void>(to_.core());
    return rest(to_.to_, detail::rest_leaf::until::over);
  }
  ROTA_DETAIL_WRAPPER task<void> async_drain() const {
    static_cast<void>(to_.core());
    return rest(to_.to_, detail::rest_leaf::until::empty);
  }

  /// Messages come in, and the handler is not called: a call that runs, or is about to begin, is the last. Then it goes on. They throw
  /// errc::forked in a forked child.
  void pause() { to_.core_of_own_process().pause(); }
  void resume() { to_.core_of_own_process().resume(); }

  [[nodiscard]] mailbox_stats stats() const { return to_.core().stats(); }
  /// After join(): what the handler threw, if that has closed it; else null.
  [[nodiscard]] std::exception_ptr error() const {
    return to_.core().has_ended() ? to_.core().error() : std::exception_ptr{};
  }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(to_); }

 private:
  friend class executor;
  explicit mailbox(detail::mailbox_core& core) noexcept : to_(detail::mailbox_reference(core)) {}

  static task<void> rest(detail::mailbox_reference of, detail::rest_leaf::until what) {
    of.get()->demand_own_process();
    if (of.get()->runs_here()) detail::throw_would_deadlock("a mailbox that its own handler waits for");
    detail::rest_leaf end(*of.get(), what);
    co_await end;
  }

  void abandon() noexcept {
    if (to_.to_.get() != nullptr) to_.to_.get()->abandon();
  }

  gate::address<T> to_;
};

/// Serves mailboxes, thousands of them, with a few consumers that sleep while nothing is to do: threads of its own, or tasks of a
/// runtime.
///
/// Threads       Any thread may make mailboxes and call the others. It is destroyed in none of its own handlers.
/// Ownership     Owns its threads. Its destructor ends all its mailboxes as their own destructors do: drain() first, if what is in
///               them matters. Their handles and addresses may outlive it. On a runtime: it may go before that or after. When the
///               runtime shuts down all mailboxes end, and those that are made later are closed.
/// Ordering      As mailbox says. In each thread's list a mailbox that is ready is served after those that were ready before it, in
///               its band; one visit in 61 takes from another thread's list, so nothing waits for ever behind one that is held up.
///               On a runtime a consumer gives its worker back after the visit in which it has served the 64th message.
/// Failure       std::invalid_argument names the field and the range; std::system_error, std::bad_alloc. On a testing::runtime a wait
///               runs its tasks; where none can run it ends the program with a sentence. errc::forked, thrown by every call in a forked child of
///               the process that made it, or made the runtime: the child has none of the threads. The destructor returns at once there,
///               and leaves mailboxes, handlers and messages in memory. An executor that the child makes works.
/// Cost          One thread each; asleep, without any timer, while nothing is ready. On a runtime: one task each.
/// Example       examples/mailbox.cpp
class executor {
 public:
  /// 1 to 256 threads; 0: as many as this process may use processors.
  ROTA_API explicit executor(unsigned threads = 0);
  /// On a runtime: 1 to 256 of its tasks, 0 as above. `on` is a rota::runtime, a runtime_handle or a testing::runtime. Handlers may be
  /// coroutines. The tasks inherit no deadline from this place.
  template <class Runtime>
    requires requires(Runtime& on, task<void> work) {
      { on.spawn(std::move(work)) } -> std::same_as<join_handle<void>>;
    }
  explicit executor(Runtime& on, unsigned consumers = 0) : core_(detail::start_consumers(on, consumers)) {}
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  ROTA_API ~executor();

  /// `handler(T&&)` is called for each message, and returns nothing. It may block, and keep others from their turn: a thread for each
  /// that does. On a runtime it may return a task<void>, which may wait and keeps nobody from anything; it must not block then.
  /// With on_error::restart: `made_by{make}`, where make() returns the handler.
  template <class T, class F>
    requires requires { typename detail::handled_t<F, T>; }
  [[nodiscard]] mailbox<T> make_mailbox(F&& handler, const mailbox_options& options = {}) {
    constexpr bool gives_tasks = std::is_same_v<detail::handled_t<F, T>, task<void>>;
    static_assert(gives_tasks || std::is_void_v<detail::handled_t<F, T>>,
                  "a handler returns void, or task<void>");
    demand_tasks(gives_tasks);
    using kind = std::conditional_t<gives_tasks,
                                    detail::mailbox_of_tasks<T, std::decay_t<F>>,
                                    detail::mailbox_of<T, std::decay_t<F>>>;
    if constexpr (!detail::is_made_by<std::decay_t<F>>) demand_no_restarts(options);
    return make_box<kind, T>(options, std::forward<F>(handler));
  }

  /// No visit begins any more; those that have begun go on to their end. Then they go on.
  ROTA_API void pause();
  ROTA_API void resume();
  /// Returns when all mailboxes are empty, those that handlers have sent to meanwhile as well. Throws errc::would_deadlock as
  /// mailbox::join(); std::bad_alloc.
  ROTA_API void drain();
  /// The same for tasks: the task waits. Throws errc::would_deadlock in its own handlers.
  ROTA_API task<void> async_drain();
  [[nodiscard]] ROTA_API executor_stats stats() const;

 private:
  template <class>
  friend class actor;

  template <class Kind, class T, class... Args>
  [[nodiscard]] mailbox<T> make_box(const mailbox_options& options, Args&&... args) {
    check(options);
    auto* const made = new Kind(*core_, options, std::forward<Args>(args)...);
    made->enrol();
    return mailbox<T>(*made);
  }
  ROTA_API void check(const mailbox_options& options) const;
  ROTA_API static void demand_no_restarts(const mailbox_options& options);
  ROTA_API void demand_tasks(bool needed) const;

  detail::executor_core* core_;
};

}  // namespace rota::gate
