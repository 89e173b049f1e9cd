// Items become works, and come back.
#include "pool/watch.hpp"

#include <new>
#include <utility>

namespace rota::pool::detail {

namespace {

/// The function of an item's work. It is one of the two users of the item.
class item_user {
 public:
  explicit item_user(source_node& item) noexcept : item_(&item) {}
  item_user(item_user&& other) noexcept : item_(std::exchange(other.item_, nullptr)) {}
  item_user(const item_user&) = delete;
  item_user& operator=(const item_user&) = delete;
  item_user& operator=(item_user&&) = delete;

 protected:
  ~item_user() {
    if (item_ != nullptr) watch_core::leave(*item_);
  }
  source_node* item_;
};
struct item_call : item_user {
  using item_user::item_user;
  void operator()() const { item_->watched_by->body().run(*item_); }
};
struct item_task : item_user {
  using item_user::item_user;
  task<void> operator()() const { return item_->watched_by->body().begin(*item_); }
};

template <class Call>
work_core& draw_for(pool_core& pool, source_node& item) {
  work_core& w = pool.draw(call_body<Call>::type, nullptr);
  ::new (w.body) call_body<Call>(Call(item));
  return w;
}

}  // namespace

// ---- an item becomes a work -------------------------------------------------------------------------------

unsigned watch_core::most() noexcept {
  return options_.most != 0 ? options_.most : pool_.threads.bounds().max;
}

void watch_core::feed() noexcept {
  // One for the change that caused this call, and one more: see V1.
  for (int turn = 0; turn < 2; ++turn) {
    source_node* const item = take();
    if (item == nullptr || !start(*item)) return;
  }
}

/// Takes the first waiting item. Returns null if there is none, or if the limit of items in works is reached.
source_node* watch_core::take() noexcept {
  const unsigned limit = most();
  const base::lock_guard guard(from_.lock);
  if (asked_ != request::none || in_works_ >= limit) return nullptr;
  source_node* const item = from_.waiting.pop_front();
  if (item == nullptr) return nullptr;
  ++in_works_;
  ++totals_.taken;
  retain();
  item->watched_by = this;
  item->work = nullptr;
  item->is_item = true;
  link_behind(*flight_.previous, *item);
  // relaxed: no other thread has the item.
  item->users.store(2, base::order::relaxed);
  return item;
}

work_core& watch_core::draw(source_node& item) {
  return body_->gives_task() ? draw_for<item_task>(pool_, item) : draw_for<item_call>(pool_, item);
}

/// Makes a work of an item, and submits it. Returns false if the item waits again.
bool watch_core::start(source_node& item) noexcept {
  work_core* made = nullptr;
  try {
    made = &draw(item);
    // release: pairs with try_retain(). Three references: the travelling one, the item's, and this
    // function's.
    made->state.store(word{3}.bits, base::order::release);
    {
      const base::lock_guard guard(from_.lock);
      item.work = made;
    }
    pool_.enter_watched(*made, options_.works, item);
  } catch (...) {
    untake(item, made);
    return false;
  }
  // From here on the item may be over.
  request asked = request::none;
  {
    const base::lock_guard guard(from_.lock);
    asked = asked_;
  }
  apply(*made, asked);
  pool_.drop(*made);
  return true;
}

/// Puts an item back, because there is no memory for a work, or because the pool ends (then the pool tells
/// the watch a moment later).
void watch_core::untake(source_node& item, work_core* made) noexcept {
  bool comes_again = false;
  bool was_stopped = false;
  duty then;
  {
    const base::lock_guard guard(from_.lock);
    unlink(item);
    item.work = nullptr;
  }
  from_.put(item, source_core::entry::goes_back);
  {
    const base::lock_guard guard(from_.lock);
    --in_works_;
    --totals_.taken;
    was_stopped = asked_ != request::none;
    comes_again = !was_stopped && !std::exchange(is_timed_, true);
    then = look();
  }
  if (made != nullptr) pool_.drop(*made);
  if (comes_again) try_again_later();
  if (was_stopped) from_.feed();  // another watch may exist by now, and has not seen the item
  carry_out(then);
  release();
}

waker watch_core::timer_waker() noexcept {
  static constexpr waker_vtable vtable{
      .wake = [](void* data) noexcept { static_cast<watch_core*>(data)->feed_again(); },
      .wake_by_ref = [](void*) noexcept {},
      .clone =
          [](void* data) noexcept {
            static_cast<watch_core*>(data)->retain();
            return data;
          },
      .drop = [](void* data) noexcept { static_cast<watch_core*>(data)->release(); },
  };
  retain();
  return {this, &vtable};
}

void watch_core::try_again_later() noexcept {
  constexpr auto pause = std::chrono::milliseconds(20);
  pool_.clock.arm(later_, base::now() + pause, timer_waker());
  // A thread that stops the watch either cancels the timer afterwards, or its request is seen here.
  if (!is_watching()) keeper::cancel(later_);
}

/// Runs on the keeper's thread.
void watch_core::feed_again() noexcept {
  {
    const base::lock_guard guard(from_.lock);
    is_timed_ = false;
  }
  feed();
  release();
}

// ---- and comes back ---------------------------------------------------------------------------------------

/// The later of the two users of an abandoned item destroys it.
void watch_core::leave(source_node& item) noexcept {
  // acq_rel: this user's last use happens before the destruction. The other user's last use happens before
  // it, too.
  if (item.users.fetch_sub(1, base::order::acq_rel) != 1) return;
  watch_core& watch = *item.watched_by;
  watch.from_.destroy(&item);
  {
    const base::lock_guard guard(watch.from_.lock);
    --watch.left_behind_;
  }
  watch.release();
}

watch_core::fate watch_core::fate_of(source_node& item, word end, bool was_stopped) const noexcept {
  bool comes_back = true;
  bool by_itself = end.has(timed_out);
  switch (end.status()) {
    case work_status::succeeded: return fate::done;
    case work_status::abandoned: return fate::stays_with_its_thread;
    case work_status::failed:
      comes_back = options_.put_back_failed;
      by_itself = true;
      break;
    case work_status::stopped:
    case work_status::force_stopped:
      comes_back = options_.put_back_stopped;
      by_itself = by_itself || !end.has(stop_asked);
      break;
    default: comes_back = options_.put_back_cancelled || was_stopped || end.has(ending); break;
  }
  if (!comes_back) return fate::dropped;
  if (!by_itself) return fate::comes_back;
  if (options_.returns != watch_options::unlimited && item.returned >= options_.returns)
    return fate::is_given_up;
  ++item.returned;
  return fate::comes_back;
}

watch_core::item_end watch_core::settle(source_node& item, word end) noexcept {
  work_core* work = nullptr;
  bool was_stopped = false;
  {
    // From now on a thread that iterates over the list does not find the item.
    const base::lock_guard guard(from_.lock);
    unlink(item);
    work = std::exchange(item.work, nullptr);
    was_stopped = asked_ != request::none;
  }
  const fate what = fate_of(item, end, was_stopped);
  if (what == fate::done || what == fate::dropped) from_.destroy(&item);
  if (what == fate::stays_with_its_thread) {
    {
      const base::lock_guard guard(from_.lock);
      ++left_behind_;
    }
    retain();  // for the release() below: the last leave() drops the item's own reference
    leave(item);
  }
  // The item is still counted as in a work, so it is counted at every moment.
  if (what == fate::comes_back) from_.put(item, source_core::entry::comes_back);
  duty then;
  {
    const base::lock_guard guard(from_.lock);
    --in_works_;
    switch (what) {
      case fate::done: ++totals_.succeeded; break;
      case fate::dropped: ++totals_.dropped; break;
      case fate::stays_with_its_thread: ++totals_.abandoned; break;
      case fate::comes_back: ++totals_.put_back; break;
      case fate::is_given_up:
        ++totals_.given_up;
        from_.given_up.push_back(item);
        break;
    }
    then = look();
  }
  from_.feed();
  carry_out(then);
  pool_.drop(*work);
  release();
  return what == fate::comes_back ? item_end::comes_back : item_end::leaves;
}

}  // namespace rota::pool::detail
