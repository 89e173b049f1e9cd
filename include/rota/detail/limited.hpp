// A leaf with a limit of its own: the return type of mutex::lock_for() and similar functions.
#pragma once

#include <coroutine>
#include <utility>

#include <rota/timeout.hpp>

namespace rota::core {

/// timeout(limit, leaf) in one object, which contains the leaf, made from `args`. The result is that of the
/// timeout.
template <class Leaf>
class ROTA_DETAIL_AWAIT_IT limited final : public deadline_region {
  using shape = timed_result<decltype(std::declval<Leaf&>().await_resume())>;

 public:
  template <class Limit, class... Args>
  explicit limited(Limit limit, Args&&... args)
      : deadline_region(limit), leaf_(std::forward<Args>(args)...) {}
  limited(const limited&) = delete;
  limited& operator=(const limited&) = delete;
  ~limited() = default;

  void bind(activation& task) noexcept {
    deadline_region::bind(task);
    leaf_.bind(task);
  }
  static bool await_ready() noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    begin(frame.promise());
    try {
      return leaf_.await_suspend(frame);
    } catch (...) {  // the leaf was not started
      abandon();
      throw;
    }
  }
  typename shape::type await_resume() {
    bool in_time = end() == deadline_end::in_time;
    // An event that came in the moment in which the leaf gave up, and that cannot be passed on to another
    // waiter.
    if constexpr (requires { leaf_.has_passed(); }) in_time = in_time || leaf_.has_passed();
    return in_time ? shape::in_time(leaf_) : shape::late();
  }
  /// For a limit around this one: returns true if such an event came.
  [[nodiscard]] bool has_passed() noexcept
    requires requires(Leaf& leaf) { leaf.has_passed(); }
  {
    return leaf_.has_passed();
  }
  /// Returns the item of a send that was late or was refused.
  [[nodiscard]] auto item() && noexcept
    requires requires(Leaf& leaf) { std::move(leaf).item(); }
  {
    return std::move(leaf_).item();
  }
  /// Called when a deadline around this one has passed.
  void abandon() noexcept { static_cast<void>(end()); }

 private:
  Leaf leaf_;
};

}  // namespace rota::core
