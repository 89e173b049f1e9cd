// The handle of a work.
#pragma once

#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include <rota/detail/chrono.hpp>
#include <rota/detail/deadline.hpp>
#include <rota/detail/pool_work.hpp>
#include <rota/join_handle.hpp>
#include <rota/leaf.hpp>
#include <rota/outcome.hpp>
#include <rota/pool/work_status.hpp>

namespace rota::pool {

class thread_pool;
template <class T>
class work;

namespace detail {

struct waiting_node;

ROTA_API void retain(work_core& work) noexcept;
ROTA_API void release(work_core& work) noexcept;
[[nodiscard]] ROTA_API work_id id_of(const work_core& work) noexcept;
[[nodiscard]] ROTA_API work_status status_of(const work_core& work) noexcept;
[[nodiscard]] ROTA_API cancel_reason reason_of(const work_core& work) noexcept;
[[nodiscard]] ROTA_API bool is_over(const work_core& work) noexcept;
ROTA_API bool cancel(work_core& work) noexcept;
ROTA_API bool stop(work_core& work) noexcept;
ROTA_API bool force_stop(work_core& work) noexcept;
ROTA_API bool pause(work_core& work) noexcept;
ROTA_API bool resume(work_core& work) noexcept;
ROTA_API bool join_group(work_core& work, std::string_view group);
ROTA_API bool leave_group(work_core& work, std::string_view group);
/// Blocks the thread until the work is over. Returns false if the deadline passed first. Throws
/// errc::would_deadlock inside of the work itself.
ROTA_API bool wait(work_core& work, std::chrono::steady_clock::time_point deadline);
ROTA_API void wait_helping(work_core& work);
[[nodiscard]] ROTA_API std::chrono::steady_clock::time_point deadline_after(
    std::chrono::nanoseconds span) noexcept;
/// For destructors of objects that the work refers to. Returns only when the work's function has returned,
/// even if the work was abandoned.
ROTA_API void wait_out(work_core& work) noexcept;
[[noreturn]] ROTA_API void throw_empty_handle();

/// Waits for a work. If the wait is cancelled, it stops the work and waits for its end. A `detached` wait
/// leaves the work alone.
class ROTA_API work_leaf : public leaf {
 public:
  work_leaf(work_core* target, core::join_kind kind) noexcept : target_(target), kind_(kind) {}
  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  [[nodiscard]] bool is_discardable() noexcept final;
  [[nodiscard]] const char* what() const noexcept final { return "pool work"; }

 protected:
  ~work_leaf();
  bool start() final;
  [[nodiscard]] work_core* target() const noexcept { return target_; }

 private:
  work_core* target_;
  core::join_kind kind_;
  waiting_node* node_ = nullptr;
};

/// Moves the outcome out of a work that is over.
template <class T>
[[nodiscard]] outcome<T> take_outcome(work_core& work);

}  // namespace detail

/// The handle of a work.
///
/// Threads       Any. One thread at a time for one handle, except cancel, stop, force_stop, pause, resume,
///               join_group, leave_group and status, which any thread may call at any time.
/// Ownership     Keeps the work's memory and its result. Dropping the handle changes nothing: the work goes
///               on. The memory belongs to the pool, but a handle may outlive the thread_pool.
/// Ordering      The work's last line, its callback and the destruction of its function happen before the
///               return of a wait.
/// Failure       fetch() returns an outcome. Every final status but `succeeded` and `failed` is a cancelled
///               outcome. Its reason is `timeout` if a timeout ended the work, `shutdown` if the pool's end
///               did, else `user`. An empty handle, and a result that was fetched before:
///               errc::already_joined. A wait inside of the work itself: errc::would_deadlock. A wait in a
///               forked child for a work that was not over at the fork: errc::forked. An exception that is
///               not fetched before the result is destroyed goes to pool_options::on_unhandled.
/// Cost          If a thread of the pool waits for a work that is in a queue of the pool, it runs that work
///               itself, as long as half of its stack is left. Otherwise another thread takes its place.
/// Example       examples/pool.cpp
template <class T>
class work {
 public:
  using value_type = T;

  work() noexcept = default;
  work(work&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  work& operator=(work&& other) noexcept {
    work old(std::move(*this));
    core_ = std::exchange(other.core_, nullptr);
    return *this;
  }
  work(const work&) = delete;
  work& operator=(const work&) = delete;
  ~work() {
    if (core_ != nullptr) detail::release(*core_);
  }

  /// Returns false for an empty handle: default-constructed or moved from. There is no conversion to bool: a
  /// condition that forgets the co_await does not compile.
  [[nodiscard]] bool valid() const noexcept { return core_ != nullptr; }
  [[nodiscard]] work_id id() const noexcept { return core_ == nullptr ? work_id{} : detail::id_of(*core_); }
  /// Returns `created` for an empty handle.
  [[nodiscard]] work_status status() const noexcept {
    return core_ == nullptr ? work_status::created : detail::status_of(*core_);
  }
  [[nodiscard]] bool is_done() const noexcept { return core_ != nullptr && detail::is_over(*core_); }

  /// Blocks until the work is over, and moves its outcome out. On a thread of a runtime or of the pool see
  /// wait().
  [[nodiscard]] outcome<T> fetch() {
    wait();
    return detail::take_outcome<T>(*core_);
  }
  /// The same, and meanwhile runs other works of its pool on this thread, at most 16 deep. Called as
  /// fetch(rota::help).
  [[nodiscard]] outcome<T> fetch(help_t how) {
    wait(how);
    return detail::take_outcome<T>(*core_);
  }
  /// Blocks until the work is over. A thread of the work's own pool runs the work itself, if the work is in a
  /// queue and half of the thread's stack is left. Otherwise another thread takes its place meanwhile. A
  /// worker of a runtime lends its role to another thread.
  void wait() const {
    static_cast<void>(detail::wait(demand(), std::chrono::steady_clock::time_point::max()));
  }
  void wait(help_t /*how*/) const { detail::wait_helping(demand()); }
  /// Blocks for at most `limit`. Returns false if the work is not over.
  template <core::span_of_time Span>
  [[nodiscard]] bool wait_for(Span limit) const {
    return detail::wait(demand(), detail::deadline_after(rota::detail::saturating_span(limit)));
  }

  class ROTA_DETAIL_AWAIT_IT value_awaiter final : public detail::work_leaf {
   public:
    using detail::work_leaf::work_leaf;
    T await_resume() { return detail::take_outcome<T>(*target()).value(); }
  };
  class ROTA_DETAIL_AWAIT_IT outcome_awaiter final : public detail::work_leaf {
   public:
    using detail::work_leaf::work_leaf;
    outcome<T> await_resume() { return detail::take_outcome<T>(*target()); }
  };
  /// For tasks. Returns the value, or throws the work's exception, or cancelled_error. A task that is
  /// cancelled meanwhile stops the work, and continues to unwind when the work is over.
  value_awaiter operator co_await() & { return value_awaiter(&demand(), core::join_kind::structured); }
  outcome_awaiter result() { return outcome_awaiter(&demand(), core::join_kind::structured); }
  /// As co_await, but a cancelled task leaves the work alone.
  value_awaiter detached_wait() { return value_awaiter(&demand(), core::join_kind::detached); }

  /// As the functions of thread_pool that take an id.
  bool cancel() const noexcept { return core_ != nullptr && detail::cancel(*core_); }
  bool stop() const noexcept { return core_ != nullptr && detail::stop(*core_); }
  bool force_stop() const noexcept { return core_ != nullptr && detail::force_stop(*core_); }
  bool pause() const noexcept { return core_ != nullptr && detail::pause(*core_); }
  bool resume() const noexcept { return core_ != nullptr && detail::resume(*core_); }
  bool join_group(std::string_view group) const {
    return core_ != nullptr && detail::join_group(*core_, group);
  }
  bool leave_group(std::string_view group) const {
    return core_ != nullptr && detail::leave_group(*core_, group);
  }

 private:
  friend class thread_pool;
  friend class work_guard;
  explicit work(detail::work_core& core) noexcept : core_(&core) {}
  [[nodiscard]] detail::work_core& demand() const {
    if (core_ == nullptr) detail::throw_empty_handle();
    return *core_;
  }

  detail::work_core* core_ = nullptr;
};

/// Its destructor cancels the work if it has not begun, and otherwise waits for its end: for works that refer
/// to objects in the scope of the guard.
class work_guard {
 public:
  template <class T>
  explicit work_guard(work<T> kept) noexcept : core_(std::exchange(kept.core_, nullptr)) {}
  work_guard(work_guard&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  work_guard(const work_guard&) = delete;
  work_guard& operator=(const work_guard&) = delete;
  work_guard& operator=(work_guard&&) = delete;
  ~work_guard() {
    if (core_ == nullptr) return;
    detail::cancel(*core_);
    detail::wait_out(*core_);
    detail::release(*core_);
  }

 private:
  detail::work_core* core_;
};

namespace detail {

/// Returns the value of a work that has succeeded. Throws errc::already_joined if the outcome was fetched.
[[nodiscard]] ROTA_API const void* value_of(work_core& work);

/// Calls a function with the results of works that have ended.
template <class F, class... T>
class joined {
 public:
  template <class G, class... Core>
  explicit joined(G&& function, Core&... after) : function_(std::forward<G>(function)), after_{&after...} {
    for (work_core* const each : after_) retain(*each);
  }
  joined(joined&& other) noexcept : function_(std::move(other.function_)) {
    for (std::size_t i = 0; i < sizeof...(T); ++i) after_[i] = std::exchange(other.after_[i], nullptr);
  }
  joined(const joined&) = delete;
  joined& operator=(const joined&) = delete;
  joined& operator=(joined&&) = delete;
  ~joined() {
    for (work_core* const each : after_) {
      if (each != nullptr) release(*each);
    }
  }

  decltype(auto) operator()() {
    return call_with_results(
        function_, types<T...>{}, [this](std::size_t i) { return value_of(*after_[i]); }, 0);
  }

 private:
  F function_;
  work_core* after_[sizeof...(T)];
};

/// Takes the outcome of a work that is over. The first caller gets a pointer that is not null: the address of
/// the outcome, if the work has one. Every later caller gets null. Throws std::invalid_argument if the work's
/// result is of another type.
[[nodiscard]] ROTA_API void* take_outcome_of(work_core& work, const void* tag);

/// Moves the outcome out. The caller has fetched it before. `lies`: the address of the outcome.
template <class T>
outcome<T> moved_outcome(work_core& work, void* lies) {
  const work_status how = status_of(work);
  if (how != work_status::succeeded && how != work_status::failed)
    return outcome<T>::from_cancel(reason_of(work));
  auto* const kept = static_cast<outcome<T>*>(lies);
  outcome<T> taken(std::move(*kept));
  *kept = outcome<T>();
  return taken;
}
template <class T>
std::optional<outcome<T>> try_take_outcome(work_core& work) {
  void* const lies = take_outcome_of(work, &type_tag<std::remove_cv_t<T>>);
  if (lies == nullptr) return std::nullopt;
  return moved_outcome<T>(work, lies);
}
template <class T>
outcome<T> take_outcome(work_core& work) {
  std::optional<outcome<T>> taken = try_take_outcome<T>(work);
  if (!taken.has_value()) throw_empty_handle();
  return *std::move(taken);
}

}  // namespace detail

}  // namespace rota::pool
