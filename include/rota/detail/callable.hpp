// A function object of any type that never moves: std::function without its header and its copies.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace rota::testing {

/// Holds one function object; small ones in place. It is called with the argument type that it was stored
/// for.
template <class Argument>
class callable {
 public:
  callable() noexcept = default;
  callable(const callable&) = delete;
  callable& operator=(const callable&) = delete;
  ~callable() { reset(); }

  template <class F>
  void put(F f) {
    static_assert(std::is_invocable_v<F&, Argument>);
    reset();
    if constexpr (sizeof(F) <= room && alignof(F) <= alignof(std::max_align_t)) {
      object_ = ::new (static_cast<void*>(storage_)) F(std::move(f));
      destroy_ = [](void* object) noexcept { static_cast<F*>(object)->~F(); };
    } else {
      object_ = new F(std::move(f));
      destroy_ = [](void* object) noexcept { delete static_cast<F*>(object); };
    }
    call_ = [](void* object, Argument argument) {
      (*static_cast<F*>(object))(static_cast<Argument>(argument));
    };
  }

  [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }
  void operator()(Argument argument) { call_(object_, static_cast<Argument>(argument)); }

  void reset() noexcept {
    if (destroy_ != nullptr) destroy_(object_);
    abandon();
  }
  /// Forgets the object without destroying it, for an object that was cut off in the middle of its execution.
  void abandon() noexcept {
    call_ = nullptr;
    destroy_ = nullptr;
  }

 private:
  static constexpr std::size_t room = 64;

  void (*call_)(void* object, Argument argument) = nullptr;
  void (*destroy_)(void* object) noexcept = nullptr;
  void* object_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[room];
};

}  // namespace rota::testing
