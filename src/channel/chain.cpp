#include <rota/detail/channel_chain.hpp>

#include "base/frame_allocator.hpp"

#include <new>

namespace rota::channel::detail {

using core::on_join;
using core::wait_node;
using core::wait_section;
using core::wait_state;

namespace {

chain& self(void* of) noexcept { return *static_cast<chain*>(of); }

/// What was claimed is moved at once: nobody can give it back.
[[noreturn]] void never_passed_on(void* /*of*/, wait_node& me) noexcept {
  ROTA_FATAL("an item of a channel was claimed, and is not used", me.got);
}

constexpr std::size_t frame_align = 16;

}  // namespace

chain* chain::make(const item_shape& items) {
  return ::new (base::allocate_frame(sizeof(chain))) chain(items);
}

chain::chain(const item_shape& items) noexcept
    : item_offset_((sizeof(slot) + items.align - 1) / items.align * items.align),
      node_bytes_(item_offset_ + items.size),
      align_(items.align),
      destroy_item_(items.destroy) {}

chain::~chain() { receivers_.end("a channel was destroyed while somebody waits to receive"); }

void chain::destroy_items() noexcept {
  slot* oldest = nullptr;
  while (claim_item(oldest) == look::got) {
    destroy_item_(item_in(*oldest));
    free(*oldest);
  }
}

void chain::destroy() noexcept {
  destroy_items();
  this->~chain();
  base::free_frame(this, sizeof(chain));
}

void chain::drop_sender() noexcept {
  if (halves_.drop_sender() == halves::on_drop::others) return;
  close();
  if (halves_.drop_side()) destroy();
}

void chain::drop_receiver() noexcept {
  if (halves_.drop_receiver() == halves::on_drop::others) return;
  close();
  destroy_items();
  if (halves_.drop_side()) destroy();
}

chain::slot& chain::make_place() {
  void* const memory = align_ > frame_align ? ::operator new(node_bytes_, std::align_val_t(align_))
                                            : base::allocate_frame(node_bytes_);
  return *::new (memory) slot;
}

void chain::free(slot& place) noexcept {
  if (align_ > frame_align) {
    ::operator delete(static_cast<void*>(&place), std::align_val_t(align_));
  } else {
    base::free_frame(&place, node_bytes_);
  }
}

bool chain::publish(slot& place) noexcept {
  wait_section section(receivers_);
  if (closed_) [[unlikely]]
    return false;
  (first_ == nullptr ? first_ : last_->next) = &place;
  last_ = &place;
  ++size_;
  if (wait_node* const first = section.first()) section.call(*first);
  return true;
}

/// Under the lock. Null: there is none. Whoever takes the last one tells the others of the end.
chain::slot* chain::pop(wait_section& section) noexcept {
  slot* const oldest = first_;
  if (oldest == nullptr) return nullptr;
  first_ = oldest->next;
  --size_;
  if (has_ended()) section.grant_all(wait_state::closed);
  return oldest;
}

look chain::claim_item(slot*& place) noexcept {
  wait_section section(receivers_);
  place = pop(section);
  if (place != nullptr) return look::got;
  return has_ended() ? look::ended : look::not_now;
}

void chain::close() noexcept {
  {
    wait_section section(receivers_);
    closed_ = true;
    if (has_ended()) section.grant_all(wait_state::closed);
  }
  halves_.tell_closed();
}

bool chain::is_closed() const noexcept {
  const wait_section section(receivers_);
  return closed_;
}

std::uint64_t chain::size() const noexcept {
  const wait_section section(receivers_);
  return size_;
}

on_join chain::join(wait_section& section, wait_node& me) noexcept {
  if (slot* const oldest = pop(section)) {
    keep(me, *oldest);
    return on_join::done;
  }
  if (has_ended()) return on_join::closed;
  join_line(section, me, come_);
  return on_join::linked;
}

const core::wait_rules chain::send_rules{
    .what = "channel send",
    .try_now = [](void*, wait_node&) noexcept { return true; },  // there is always room
    .join = [](void*, wait_section&, wait_node&) noexcept { return on_join::done; },
    .leave = [](void*, wait_section&, wait_node&) noexcept {},
    .pass_on = [](void*, wait_node&) noexcept {},
};

const core::wait_rules chain::receive_rules{
    .what = "channel receive",
    .try_now = [](void* of, wait_node& me) noexcept { return self(of).try_receive_now(me); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept { return self(of).join(section, me); },
    .leave =
        [](void* of, wait_section& section, wait_node& me) noexcept {
          const bool passes = me.state() == wait_state::called && self(of).first_ != nullptr;
          wait_node* const next = section.first();
          if (passes && next != nullptr) section.call(*next);
        },
    .pass_on = never_passed_on,
    .called_may_try = true,
};

}  // namespace rota::channel::detail
