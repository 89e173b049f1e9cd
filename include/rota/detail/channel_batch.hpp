// Receives several items at once: waits for the first, and takes those that are there.
#pragma once

#include <concepts>
#include <cstddef>
#include <expected>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

/// The container that recv_many() adds to: a std::vector<T> and its like. A claimed item cannot be given
/// back, so the construction of an element from it must not throw.
template <class Out, class T>
concept holds_many = requires(Out& out, T&& item, std::size_t n) {
  { out.size() } -> std::convertible_to<std::size_t>;
  { out.capacity() } -> std::convertible_to<std::size_t>;
  out.reserve(n);
  out.push_back(std::move(item));
  requires std::is_nothrow_constructible_v<typename Out::value_type, T>;
};

/// Reserves capacity for at least one more element. A full container doubles, even for a small batch: a
/// series of small batches must not move all elements each time. Throws what reserve() throws.
template <class Out>
void make_room(Out& out, std::size_t most) {
  const std::size_t count = out.size();
  if (count != out.capacity()) return;
  const std::size_t by = most < 16 && most != 0 ? most : 16;
  out.reserve(count + (count < by ? by : count));
}

/// Takes the claimed item, and up to `most` in all of those that are there. There is capacity for the first.
/// If there is no memory for more, it stops at those that were taken.
template <class T, class Core, class Out>
std::size_t take_many(Core& on, typename Core::slot* place, Out& out, std::size_t most) noexcept {
  std::size_t count = 0;
  for (;;) {
    before_items();
    T* const item = std::launder(static_cast<T*>(on.item_in(*place)));
    base::note_write(item);
    out.push_back(std::move(*item));
    item->~T();
    on.free(*place);
    if (++count >= most) return count;
    try {
      make_room(out, most - count);
    } catch (...) {
      return count;
    }
    if (on.claim_item(place) != look::got) return count;
  }
}

/// `Result`: what recv_many(), or its timed forms, yield.
template <class T, class Core, class Out, class Result>
class ROTA_DETAIL_AWAIT_IT recv_many_leaf final : public core::wait_leaf {
 public:
  recv_many_leaf(Core& on, Out& out, std::size_t most)
      : wait_leaf(on.to_receive()), on_(&on), out_(&out), most_(most) {
    prepare();
  }
  /// Runs before each wait: the items of the last wait have used the capacity that was reserved for it.
  void prepare() { make_room(*out_, most_); }
  bool await_ready() {
    prepare();
    return try_here([this]() noexcept { return on_->try_receive_now(node()); });
  }
  [[nodiscard]] Result await_resume() noexcept {
    if (ended_as() == core::wait_state::granted)
      return take_many<T>(*on_, &Core::place_of(node()), *out_, most_);
    if constexpr (std::is_same_v<Result, std::size_t>) {
      return 0;
    } else {
      return std::unexpected(recv_status::closed);
    }
  }

 private:
  bool start() override {
    prepare();
    return wait_leaf::start();
  }

  Core* on_;
  Out* out_;
  std::size_t most_;
};

}  // namespace rota::channel::detail
