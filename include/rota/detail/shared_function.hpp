// A function object that options carry and copies share: std::function without its header, and with one
// object behind all copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/detail/base.hpp>

namespace rota::detail {

template <class Signature>
class shared_function;

/// Several threads may call one object at once. An empty object must not be called.
template <class R, class... Args>
class shared_function<R(Args...)> {
 public:
  shared_function() noexcept = default;
  /// Allocates once; throws std::bad_alloc.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, shared_function> &&
             std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
  shared_function(F&& function) : kept_(new kept<std::decay_t<F>>(std::forward<F>(function))) {}
  shared_function(const shared_function& other) noexcept : kept_(other.kept_) {
    // relaxed: the copied object owns a reference, so the count cannot fall to zero meanwhile.
    if (kept_ != nullptr) kept_->references.fetch_add(1, base::order::relaxed);
  }
  shared_function(shared_function&& other) noexcept : kept_(std::exchange(other.kept_, nullptr)) {}
  shared_function& operator=(shared_function other) noexcept {
    std::swap(kept_, other.kept_);
    return *this;
  }
  ~shared_function() {
    // acq_rel: release: this owner's last use of the function happens before its destruction. acquire: the
    // thread that destroys it sees the last use of every other owner.
    if (kept_ != nullptr && kept_->references.fetch_sub(1, base::order::acq_rel) == 1) delete kept_;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return kept_ != nullptr; }
  R operator()(Args... args) const { return kept_->call(std::forward<Args>(args)...); }

 private:
  struct holder {
    base::atomic<std::uint32_t> references{1};

    holder() = default;
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;
    virtual ~holder() = default;
    virtual R call(Args... args) = 0;
  };
  template <class F>
  struct kept final : holder {
    F function;

    explicit kept(F f) : function(std::move(f)) {}
    R call(Args... args) override {
      if constexpr (std::is_void_v<R>) {
        function(std::forward<Args>(args)...);
      } else {
        return function(std::forward<Args>(args)...);
      }
    }
  };

  holder* kept_ = nullptr;
};

}  // namespace rota::detail
