// A queue that a pool may watch.
#include "pool/demand.hpp"
#include "pool/watch.hpp"

namespace rota::pool::detail {

void item_list::push_back(source_node& item) noexcept {
  item.next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = &item;
  last_ = &item;
  ++size_;
}

void item_list::push_front(source_node& item) noexcept {
  item.next = first_;
  first_ = &item;
  if (last_ == nullptr) last_ = &item;
  ++size_;
}

source_node* item_list::pop_front() noexcept {
  source_node* const out = first_;
  if (out == nullptr) return nullptr;
  first_ = out->next;
  if (first_ == nullptr) last_ = nullptr;
  --size_;
  return out;
}

void source_core::release() noexcept {
  // acq_rel: this owner's last use happens before the deletion. The last uses of all other owners happen
  // before it, too.
  if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
}

source_core::~source_core() {
  while (source_node* const item = waiting.pop_front()) destroy(item);
  while (source_node* const item = given_up.pop_front()) destroy(item);
}

void source_core::feed() noexcept {
  watch_core* who = nullptr;
  {
    const base::lock_guard guard(lock);
    if (watched_by == nullptr || !watched_by->may_take()) return;
    who = watched_by;
    who->retain();
  }
  who->feed();
  who->release();
}

void source_core::put(source_node& item, entry how) noexcept {
  busy_hold counted;
  for (;;) {
    watch_core* who = nullptr;
    {
      const base::lock_guard guard(lock);
      who = watched_by;
      if (who == nullptr || who->is_busy() || counted.is_of(who)) {
        if (how == entry::goes_back) {
          waiting.push_front(item);
        } else {
          waiting.push_back(item);
        }
        if (how == entry::admitted) --admitted;
        if (who != nullptr && counted.is_of(who)) counted.hand_over();
        return;
      }
      who->retain();
    }
    counted.take(*who);
  }
}

source_base::source_base(std::size_t capacity, void (*destroy)(source_node*) noexcept) {
  demand(capacity != 0, "source: a capacity of 0: at least 1, or source<T>::unbounded");
  core_ = new source_core(capacity, destroy);
}

source_base::~source_base() {
  close();
  core_->release();
}

void source_base::close() noexcept {
  const base::lock_guard guard(core_->lock);
  core_->is_closed = true;
}
bool source_base::is_closed() const noexcept {
  const base::lock_guard guard(core_->lock);
  return core_->is_closed;
}
std::size_t source_base::size() const noexcept {
  const base::lock_guard guard(core_->lock);
  return core_->waiting.size();
}
std::size_t source_base::capacity() const noexcept { return core_->capacity; }
std::size_t source_base::given_up() const noexcept {
  const base::lock_guard guard(core_->lock);
  return core_->given_up.size();
}
bool source_base::is_watched() const noexcept {
  const base::lock_guard guard(core_->lock);
  return core_->watched_by != nullptr;
}

push_status source_base::admit() noexcept {
  const base::lock_guard guard(core_->lock);
  if (core_->is_closed) return push_status::closed;
  if (core_->waiting.size() + core_->admitted >= core_->capacity) return push_status::full;
  ++core_->admitted;
  return push_status::pushed;
}

void source_base::withdraw() noexcept {
  const base::lock_guard guard(core_->lock);
  --core_->admitted;
}

void source_base::publish(source_node& item) noexcept {
  core_->put(item, source_core::entry::admitted);
  core_->feed();
}

source_node* source_base::take_first() noexcept {
  source_node* out = nullptr;
  watch_core* who = nullptr;
  watch_core::duty then;
  {
    const base::lock_guard guard(core_->lock);
    out = core_->waiting.pop_front();
    who = core_->watched_by;
    // The watch may have nothing left to do now.
    if (who != nullptr) then = who->look();
    if (then.is_any()) who->retain();
  }
  if (then.is_any()) {
    who->carry_out(then);
    who->release();
  }
  return out;
}

void source_base::put_front(source_node& item) noexcept {
  core_->put(item, source_core::entry::goes_back);
  core_->feed();
}

source_node* source_base::take_first_given_up() noexcept {
  const base::lock_guard guard(core_->lock);
  return core_->given_up.pop_front();
}

void source_base::put_front_given_up(source_node& item) noexcept {
  const base::lock_guard guard(core_->lock);
  core_->given_up.push_front(item);
}

}  // namespace rota::pool::detail
