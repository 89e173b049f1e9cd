// Moves an item into a channel and out of it, for any Core that decides where it goes.
#pragma once

#include <expected>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

/// A core that bounds the weight of its items. It needs the weight of an item before the claim.
template <class Core>
concept weighs_items = requires(const Core& on, const void* item) { on.weight_of(item); };

/// Before a send that may wait: stores the weight of the item in the wait node.
template <class T, class Core>
void note_weight([[maybe_unused]] const Core& on,
                 [[maybe_unused]] core::wait_node& me,
                 [[maybe_unused]] const T& item) noexcept {
  if constexpr (weighs_items<Core>) {
    before_items();
    me.wanted = on.weight_of(__builtin_addressof(item));
  }
}

// Moves the item into a claimed place. The claimer fills, or empties, a place at once.
template <class T, class Core>
void put(Core& on, typename Core::slot& place, T& item) noexcept {
  before_items();
  void* const here = on.item_in(place);
  base::note_write(here);
  ::new (here) T(std::move(item));
  on.publish(place);
}

/// As put(), into a place with the oldest item in it. That item is destroyed after the place was passed on:
/// its destructor may use the channel.
template <class T, class Core>
void replace(Core& on, typename Core::slot& place, T& item) noexcept {
  before_items();
  T* const oldest = std::launder(static_cast<T*>(on.item_in(place)));
  base::note_write(oldest);
  [[maybe_unused]] const T dropped(std::move(*oldest));
  oldest->~T();
  ::new (on.item_in(place)) T(std::move(item));
  on.publish_again(place);
}

template <class Result, class T, class Core>
Result take(Core& on, typename Core::slot& place) noexcept {
  before_items();
  T* const item = std::launder(static_cast<T*>(on.item_in(place)));
  base::note_write(item);
  Result taken(std::in_place, std::move(*item));
  item->~T();
  on.free(place);
  return taken;
}

/// Moves `from` back into an item that was moved from, and is still alive.
template <class T>
void give_back(T& item, T& from) noexcept {
  if constexpr (std::is_trivially_copyable_v<T>) {
    // The item is unchanged.
  } else if constexpr (std::is_nothrow_move_assignable_v<T>) {
    item = std::move(from);
  } else {
    item.~T();
    ::new (static_cast<void*>(__builtin_addressof(item))) T(std::move(from));
  }
}

/// Ends a send with the status `how`. Moves the item into the place that it has claimed, if any.
template <class T, class Core>
send_status put_if_sent(Core& on, send_status how, typename Core::slot* place, T& item) noexcept {
  if (how == send_status::sent) [[likely]] {
    put(on, *place, item);
    return how;
  }
  if constexpr (requires { on.publish_again(*place); }) {
    if (how == sent_over_oldest) [[unlikely]] {
      replace(on, *place, item);
      return send_status::sent;
    }
  }
  return how;
}

/// Sends without waiting. Moves from the item if it returns `sent`.
template <class T, class Core>
send_status send_now(Core& on, T& item) noexcept(!Core::allocates) {
  typename Core::slot* place = nullptr;
  if constexpr (weighs_items<Core>) {
    before_items();
    const send_status how = on.try_place(place, on.weight_of(__builtin_addressof(item)));
    return put_if_sent(on, how, place, item);
  } else {
    const send_status how = on.try_place(place);
    return put_if_sent(on, how, place, item);
  }
}

/// Ends a send that has waited. Throws if the claim could not be made; nothing has changed then.
template <class T, class Core>
send_status end_send(Core& on, const core::wait_node& me, T& item) noexcept(!Core::allocates) {
  if constexpr (Core::allocates) {
    put(on, Core::claimed_place(me), item);
    return send_status::sent;
  } else {
    return put_if_sent(on, status_of(me), me.got == 0 ? nullptr : &Core::place_of(me), item);
  }
}

template <class T, class Core>
class ROTA_DETAIL_AWAIT_IT send_leaf final : public core::wait_leaf {
 public:
  send_leaf(Core& on, T&& item) noexcept : wait_leaf(on.to_send()), on_(&on), item_(std::move(item)) {
    note_weight(on, node(), item_);
  }
  [[gnu::always_inline]] bool await_ready() noexcept {
    return try_here([this]() noexcept { return on_->try_send_now(node()); });
  }
  send_status await_resume() noexcept(!Core::allocates) {
    return ended_as() == core::wait_state::closed ? send_status::closed : end_send(*on_, node(), item_);
  }
  /// Returns the item of a send that did not put it in: one that was not awaited, was late, lost in a select,
  /// or was refused. The leaf is not awaited afterwards.
  [[nodiscard]] T item() && noexcept { return std::move(item_); }

 private:
  Core* on_;
  T item_;
};

/// `Result`: what recv(), or its timed forms, yield.
template <class T, class Core, class Result>
class ROTA_DETAIL_AWAIT_IT recv_leaf final : public core::wait_leaf {
 public:
  explicit recv_leaf(Core& on) noexcept : wait_leaf(on.to_receive()), on_(&on) {}
  [[gnu::always_inline]] bool await_ready() noexcept {
    return try_here([this]() noexcept { return on_->try_receive_now(node()); });
  }
  [[nodiscard]] Result await_resume() noexcept {
    if (ended_as() == core::wait_state::granted) return take<Result, T>(*on_, Core::place_of(node()));
    if constexpr (std::is_same_v<Result, std::optional<T>>) {
      return std::nullopt;
    } else {
      return std::unexpected(recv_status::closed);
    }
  }

 private:
  Core* on_;
};

}  // namespace rota::channel::detail
