// The list of an unbounded channel, whatever its items are.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

// PROTOCOL: chain of a channel
//   Everything is under the lock of receivers_: the list of items, how many there are, and whether it is closed. Items move in and out of
//   their nodes without it: in before anybody knows of the node, out when nobody knows of it any more.
//
//   H1  An item is in the list before the close, or stays with its sender: publish() says which. It has ended when it is closed and the
//       list is empty.
//   H2  A receiver joins only an empty list, each publish calls one, and who was called and gives up calls the next: while somebody
//       waits there are never more items than receivers on their way. Who comes in vain has its place in line again: join_line().

struct chain_node {
  chain_node* next = nullptr;
};

class ROTA_API chain {
 public:
  using slot = chain_node;
  static constexpr bool allocates = true;

  /// Throws std::bad_alloc.
  [[nodiscard]] static chain* make(const item_shape& items);

  chain(const chain&) = delete;
  chain& operator=(const chain&) = delete;

  void add_sender() noexcept { halves_.add_sender(); }
  void add_receiver() noexcept { halves_.add_receiver(); }
  void add_weak() noexcept { halves_.add_weak(); }
  [[nodiscard]] bool add_sender_to_others() noexcept { return halves_.add_sender_to_others(); }
  void drop_weak() noexcept {
    if (halves_.drop_side()) destroy();
  }
  void drop_sender() noexcept;
  void drop_receiver() noexcept;

  [[nodiscard]] void* item_in(slot& place) const noexcept {
    return reinterpret_cast<std::byte*>(&place) + item_offset_;
  }
  /// For an item; nobody knows of it. Throws std::bad_alloc.
  slot& make_place();
  /// False: it is closed, and nobody knows of the place.
  [[nodiscard]] bool publish(slot& place) noexcept;
  look claim_item(slot*& place) noexcept;
  void free(slot& place) noexcept;

  [[nodiscard]] core::wait_target to_close() noexcept { return halves_.to_close(); }
  [[nodiscard]] core::wait_target to_send() noexcept { return {&receivers_, this, &send_rules}; }
  [[nodiscard]] core::wait_target to_receive() noexcept { return {&receivers_, this, &receive_rules}; }
  /// wait_rules::try_now of each. There is always room.
  static bool try_send_now(core::wait_node& /*me*/) noexcept { return true; }
  bool try_receive_now(core::wait_node& me) noexcept {
    slot* place = nullptr;
    if (claim_item(place) != look::got) return false;
    keep(me, *place);
    return true;
  }
  static void keep(core::wait_node& me, slot& place) noexcept {
    me.got = reinterpret_cast<std::uintptr_t>(&place);
  }
  static slot& place_of(const core::wait_node& me) noexcept { return *__builtin_bit_cast(slot*, me.got); }

  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept;

 private:
  static const core::wait_rules send_rules;
  static const core::wait_rules receive_rules;

  explicit chain(const item_shape& items) noexcept;
  ~chain();
  void destroy_items() noexcept;
  void destroy() noexcept;

  [[nodiscard]] bool has_ended() const noexcept { return closed_ && first_ == nullptr; }
  slot* pop(core::wait_section& section) noexcept;
  core::on_join join(core::wait_section& section, core::wait_node& me) noexcept;

  std::size_t item_offset_;
  std::size_t node_bytes_;
  std::size_t align_;
  void (*destroy_item_)(void*) noexcept;
  halves halves_;
  mutable core::wait_list receivers_;
  // Under its lock.
  slot* first_ = nullptr;
  slot* last_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t come_ = 0;  // see join_line()
  bool closed_ = false;
};

}  // namespace rota::channel::detail
