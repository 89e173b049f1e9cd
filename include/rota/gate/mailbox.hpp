// Mailboxes: queues with a handler that is called for one message at a time. An executor serves them, on its
// own threads or on a runtime.
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

/// The queue of a mailbox, independent of the kind of its handler.
template <class T>
class mailbox_queue : public mailbox_core {
  using node = mailbox_node<T>;

 protected:
  using mailbox_core::mailbox_core;
  ~mailbox_queue() override {
    if (auto* const last = taker().last_served()) free_node(static_cast<node*>(last));
  }

  /// Takes out the oldest message. Returns false if there is none. Its node stays as the list's head; the
  /// node before it is freed.
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
/// A handler that can be made anew.
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
  /// The handler is constructed where it stays: it need not be movable.
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

/// A mailbox with a handler that is a function.
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

/// A mailbox with a handler that is a coroutine.
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
  std::optional<T> message_;           // the message that is being handled: the task may refer to it
  std::optional<task<void>> pending_;  // its task, until the task begins
};

/// The result type of a handler.
template <class F, class T>
using handled_t =
    decltype(std::declval<typename kept_handler<std::decay_t<F>>::type&>()(std::declval<T&&>()));

/// A counted reference to a mailbox.
class mailbox_reference {
 public:
  mailbox_reference() noexcept = default;
  /// Takes over a counted reference.
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

/// Called for a mailbox that was moved from.
[[noreturn]] ROTA_API void throw_no_mailbox();
[[noreturn]] ROTA_API void throw_would_deadlock(const char* what);

/// An executor with tasks as consumers, while those tasks are being started.
class ROTA_API tasks_to_make {
 public:
  explicit tasks_to_make(unsigned consumers);
  tasks_to_make(const tasks_to_make&) = delete;
  tasks_to_make& operator=(const tasks_to_make&) = delete;
  /// Tells the started tasks to stop, if not all of them were started.
  ~tasks_to_make();

  /// Returns the next task to be started. Empty after the last.
  [[nodiscard]] std::optional<task<void>> next();
  /// Takes over the handle of a started task.
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

/// The address of a mailbox, for senders: a reference that may outlive the mailbox.
///
/// Threads       Any. Also inside handlers and tasks.
/// Ownership     Keeps the mailbox's queue alive, but not the mailbox. The mailbox ends when its owner ends
///               it, and then send() returns `closed`.
/// Ordering      Messages of one sender are handled in the order in which it sent them. What the sender did
///               before a send happens before the handling of that message.
/// Failure       send_status. A message that was not taken is left as it was, except by async_send. In a
///               forked child of the process that made the executor all sends return `forked`: the child has
///               none of the threads that would handle the message. std::bad_alloc; std::logic_error if it is
///               empty: moved from, or default-constructed.
/// Cost          send: a node of sizeof(T) + 8 bytes from this thread's free list, and three
///               read-modify-writes (bounded mailboxes: the same). If the mailbox was idle: a fourth, and a
///               check for sleeping consumers. send_n: as one send, and a node for each message. With
///               overflow::drop_oldest also a lock, for the append.
/// Example       examples/mailbox.cpp
template <class T>
class address {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                "a message is moved without an exception: send a std::unique_ptr to it");

 public:
  address() noexcept = default;

  /// Sends `message`, which is moved from only if it was sent. Blocks if the mailbox is full and its policy
  /// is overflow::wait.
  send_status send(T&& message) const { return deliver(std::move(message), true); }
  send_status send(const T& message) const {
    T copy(message);
    return deliver(std::move(copy), true);
  }
  /// Sends `message`, and never blocks.
  send_status try_send(T&& message) const { return deliver(std::move(message), false); }
  send_status try_send(const T& message) const {
    T copy(message);
    return deliver(std::move(copy), false);
  }

  /// Sends the first ones of `messages`, as many as there is space for, as one batch: no other sender's
  /// messages come in between. They are moved from. Never blocks. With overflow::drop_oldest all of them are
  /// sent, and the oldest of them may be dropped at once.
  sent_count send_n(std::span<T> messages) const {
    detail::mailbox_core& box = core();
    if (messages.empty()) return {};
    node* first = nullptr;
    node* last = nullptr;
    std::size_t made = 0;
    const auto drop_from = [](node* at) noexcept {
      while (at != nullptr) {
        // relaxed: no other thread has seen the node.
        auto* const next = static_cast<node*>(at->next.load(base::order::relaxed));
        detail::free_node(at);
        at = next;
      }
    };
    try {
      for (; made < messages.size(); ++made) {
        node* const one = detail::make_node<T>();
        // relaxed: same reason as in drop_from().
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
      // relaxed: same reason as in drop_from().
      at = static_cast<node*>(at->next.load(base::order::relaxed));
    }
    drop_from(at);
    if (end == nullptr) return result;
    // relaxed: same reason as in drop_from(): the chain is not delivered yet.
    end->next.store(nullptr, base::order::relaxed);
    box.deliver(*first, *end);
    return result;
  }

  /// For tasks: as send(), except that the task waits where send() would block. A message that is not sent is
  /// destroyed, whatever the reason: the mailbox is full or closed, the task is cancelled, this is a forked
  /// child. One of the task's operations: now and then it yields to other tasks.
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
  /// Returns the mailbox as core() does. Throws errc::forked in a forked child.
  [[nodiscard]] detail::mailbox_core& core_of_own_process() const {
    detail::mailbox_core& box = core();
    box.demand_own_process();
    return box;
  }

  /// Frees the node if it was not delivered.
  struct kept_node {
    explicit kept_node(node* made) noexcept : one(made) {}
    kept_node(const kept_node&) = delete;
    kept_node& operator=(const kept_node&) = delete;
    ~kept_node() {
      if (one != nullptr) detail::free_node(one);
    }
    node* one;
  };

  // After a wait nothing may throw: the space for which the task was woken would be lost to the other
  // waiters.
  static task<send_status> send_when_there_is_room(detail::mailbox_reference to, T message) {
    detail::mailbox_core& box = *to.get();
    // Before the turn, which may be in a scheduler that has no threads in this child.
    if (!box.is_own_process()) co_return send_status::forked;
    kept_node kept(detail::make_node<T>());
    // A sender that always finds space still yields now and then, and sees cancellation.
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
/// Threads       Any thread may send, close, pause, resume and read stats. The handler runs on the executor's
///               threads: on one at a time, and not always on the same. A coroutine handler is a task while
///               it waits; the next message is handled after it has ended. What it was called with lives
///               until then.
/// Ownership     Owns its handler. The destructor closes the mailbox and returns when the handler does not
///               run and never will. It blocks as long as that takes, unless the handler itself calls it. A
///               handler that waits is cancelled and unwinds: its frame is destroyed when the destructor
///               returns, and meanwhile the destructor lends its worker. The messages that wait are destroyed
///               unserved (`dropped` counts them), and then the handler, at the latest when a thread of the
///               executor comes to this mailbox, which may be after the destructor has returned. So declare
///               what their destructors refer to before the executor. To have all messages served: close(),
///               then join(). Two handlers must not destroy each other's mailboxes: each would wait for the
///               other (deadlock).
/// Ordering      As address says. What one call of the handler did happens before the next.
/// Failure       An exception of the handler goes to options.error_policy; for a coroutine also
///               std::bad_alloc, if there is no memory for the task that would wait. If no caller can see it
///               any more, it goes to options.on_unhandled. std::logic_error if the mailbox was moved from.
///               When the runtime under it shuts down, the mailbox ends as if it were destroyed. In a forked
///               child of the process that made the executor: sends return `forked`; join, drain, their async
///               forms, pause and resume throw errc::forked at once; close() and the destructor return and
///               leave the handler and the messages in memory; stats() and error() return what they returned
///               at the fork. A child that is forked inside a handler must leave there, by exec or _exit: a
///               return goes on with the next message in both processes.
/// Cost          About 600 bytes. No thread, and nothing at all while it is idle. A handler that is a
///               coroutine: a task for each visit, and a frame for each message.
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

  /// Returns the address, for senders: copies of it may outlive the mailbox.
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

  /// Stops admission. Messages that are in are still served. Does nothing in a forked child.
  void close() { to_.core().close(); }
  /// Returns when the mailbox is closed and all messages are served, or were destroyed for an error. Throws
  /// errc::would_deadlock in handlers of its executor, because the calling thread may be the one that has to
  /// serve it; if the executor is on a runtime, in every task of that runtime: use async_join() there. Throws
  /// errc::forked in a forked child, even if the mailbox had ended before the fork.
  void join() const {
    detail::mailbox_core& core = to_.core_of_own_process();
    if (core.would_deadlock()) detail::throw_would_deadlock("join of a mailbox where its executor runs");
    core.wait_until_ended();
  }
  /// Returns when the mailbox is empty at one moment, and all that was sent before has been handled. Senders
  /// that never pause may delay that without limit. If messages wait in a paused mailbox, it waits for a
  /// resume(). Throws as join().
  void drain() const {
    detail::mailbox_core& core = to_.core_of_own_process();
    if (core.would_deadlock()) detail::throw_would_deadlock("drain of a mailbox where its executor runs");
    core.wait_until_empty();
  }

  /// For tasks: as join() and drain(), but the task waits. The wait may be cancelled. Throws
  /// errc::would_deadlock in the mailbox's own handler, errc::forked in a forked child.
  ROTA_DETAIL_WRAPPER task<void> async_join() const {
    static_cast<void>(to_.core());
    return rest(to_.to_, detail::rest_leaf::until::over);
  }
  ROTA_DETAIL_WRAPPER task<void> async_drain() const {
    static_cast<void>(to_.core());
    return rest(to_.to_, detail::rest_leaf::until::empty);
  }

  /// pause(): messages come in, and the handler is not called; a call that runs, or is about to begin, is the
  /// last. resume(): the handler is called again. Both throw errc::forked in a forked child.
  void pause() { to_.core_of_own_process().pause(); }
  void resume() { to_.core_of_own_process().resume(); }

  [[nodiscard]] mailbox_stats stats() const { return to_.core().stats(); }
  /// After join(): the exception of the handler that closed the mailbox, or null.
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

/// Serves thousands of mailboxes with a few consumers, which sleep while no mailbox is ready. The consumers
/// are threads of its own, or tasks of a runtime.
///
/// Threads       Any thread may make mailboxes and call the others. It must not be destroyed in one of its
///               own handlers.
/// Ownership     Owns its threads. Its destructor ends all its mailboxes as their own destructors do: call
///               drain() first, if their messages matter. Their handles and addresses may outlive it. On a
///               runtime: it may be destroyed before the runtime or after it. When the runtime shuts down all
///               mailboxes end, and mailboxes that are made later are closed.
/// Ordering      As mailbox says. In each thread's list a ready mailbox is served after those of its band
///               that were ready before it. One visit in 61 takes from another thread's list, so no mailbox
///               waits for ever behind a thread that is delayed (no starvation). On a runtime a consumer
///               gives its worker back after the visit in which it has served the 64th message.
/// Failure       std::invalid_argument names the field and the range; std::system_error, std::bad_alloc. On a
///               testing::runtime a wait runs the runtime's tasks; if none can run, it ends the program with
///               a message. Every call throws errc::forked in a forked child of the process that made it, or
///               made the runtime: the child has none of the threads. The destructor returns at once there,
///               and leaves mailboxes, handlers and messages in memory. An executor that the child makes
///               works.
/// Cost          One thread each; asleep, without any timer, while no mailbox is ready. On a runtime: one
///               task each.
/// Example       examples/mailbox.cpp
class executor {
 public:
  /// 1 to 256 threads; 0: one for each processor that this process may use.
  ROTA_API explicit executor(unsigned threads = 0);
  /// On a runtime: 1 to 256 of its tasks; 0 as above. `on` is a rota::runtime, a runtime_handle or a
  /// testing::runtime. Handlers may be coroutines. The tasks inherit no deadline from the caller.
  template <class Runtime>
    requires requires(Runtime& on, task<void> work) {
      { on.spawn(std::move(work)) } -> std::same_as<join_handle<void>>;
    }
  explicit executor(Runtime& on, unsigned consumers = 0) : core_(detail::start_consumers(on, consumers)) {}
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  ROTA_API ~executor();

  /// Makes a mailbox. `handler(T&&)` is called for each message, and returns nothing. A handler that blocks
  /// keeps one thread of the executor from serving other mailboxes. On a runtime a handler may return a
  /// task<void>, which may wait and keeps no other mailbox from its turn, but must not block. With
  /// on_error::restart: `made_by{make}`, where make() returns the handler.
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

  /// pause(): no further visit begins; visits that have begun go on to their end. resume(): visits begin
  /// again.
  ROTA_API void pause();
  ROTA_API void resume();
  /// Returns when all mailboxes are empty, including those to which handlers have sent meanwhile. Throws
  /// errc::would_deadlock as mailbox::join(); std::bad_alloc.
  ROTA_API void drain();
  /// For tasks: as drain(), but the task waits. Throws errc::would_deadlock in its own handlers.
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
