#include <rota/sync/strand.hpp>

#include "base/frame_allocator.hpp"
#include "base/tls_slot.hpp"
#include "task/header.hpp"

#include <new>
#include <utility>

namespace rota::core {

namespace {

turn_line& self(void* of) noexcept { return *static_cast<turn_line*>(of); }

/// Returns the identity of the running task, or of the thread outside of a task. This makes a child that runs
/// in its parent's place a task: it is a different one.
const void* who_runs() noexcept {
  const header* const me = task_in_sight();
  return me != nullptr ? static_cast<const void*>(me) : &base::this_thread_locals();
}

}  // namespace

const wait_rules turn_line::enter_rules{
    .what = "strand run",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).take(0); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept { return self(of).join(section, me, 0); },
    .leave = [](void* of, wait_section& section, wait_node&) noexcept { self(of).give_up(section); },
    .pass_on = [](void* of, wait_node&) noexcept { self(of).give_back(); },
    .is_end = always_an_end,
};

const wait_rules turn_line::finish_rules{
    .what = "strand join",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).take(closed); },
    .join = [](void* of,
               wait_section& section,
               wait_node& me) noexcept { return self(of).join(section, me, closed); },
    .leave = [](void* of, wait_section& section, wait_node&) noexcept { self(of).give_up(section); },
    .pass_on = [](void* of, wait_node&) noexcept { self(of).give_back(); },
    .is_end = always_an_end,
};

/// Takes the turn if the strand is free. `also` is set in the same step. The finisher passes `closed`; that
/// bit does not refuse it.
bool turn_line::take(std::uint32_t also) noexcept {
  std::uint32_t seen = 0;
  do {
    if ((seen & ~also) != 0) return false;
    // acquire: pairs with give_back(). failure: relaxed: again a guess.
  } while (
      !word_.compare_exchange_weak(seen, seen | busy | also, base::order::acquire, base::order::relaxed));
  return true;
}

on_join turn_line::join(wait_section& section, wait_node& me, std::uint32_t also) noexcept {
  std::uint32_t seen = guess();
  for (;;) {
    if ((seen & closed & ~also) != 0) return on_join::closed;
    const bool gets = (seen & busy) == 0;
    const std::uint32_t next = seen | also | (gets ? busy : waiting);
    // acquire: pairs with give_back(). Same word as there: of {the strand becomes free, a waiter joins} at
    // least one side sees the other. failure: relaxed: again a guess.
    if (!word_.compare_exchange_weak(seen, next, base::order::acquire, base::order::relaxed)) continue;
    if (gets) return on_join::done;
    section.link_back(me);
    return on_join::linked;
  }
}

void turn_line::begin() noexcept {
  // relaxed: see T3.
  owner_.store(who_runs(), base::order::relaxed);
}

void turn_line::end() noexcept {
  // relaxed: see T3.
  owner_.store(nullptr, base::order::relaxed);
  give_back();
}

bool turn_line::is_mine() const noexcept {
  // relaxed: see T3.
  const void* const owner = owner_.load(base::order::relaxed);
  return owner != nullptr && owner == who_runs();
}

void turn_line::give_back() noexcept {
  std::uint32_t seen = busy;
  do {
    if ((seen & waiting) != 0) return give_back_slowly();
    // release: pairs with take() and join(). failure: relaxed: again a guess.
  } while (!word_.compare_exchange_weak(seen, seen & ~busy, base::order::release, base::order::relaxed));
}

void turn_line::give_back_slowly() noexcept {
  wait_section section(list_);
  if (wait_node* const first = section.first()) {
    section.grant(*first);
    // relaxed: the word stays busy, and the grant orders what was done in the turn.
    if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
    return;
  }
  // release: pairs with take(). The waiters have left.
  word_.fetch_and(~busy, base::order::release);
}

/// Updates the word after a node has left the list.
void turn_line::give_up(const wait_section& section) noexcept {
  // relaxed: the bit publishes nothing; it only says that there is no waiter.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

void turn_line::close() noexcept {
  // relaxed: it publishes nothing; a refused caller reads nothing.
  word_.fetch_or(closed, base::order::relaxed);
}

void turn_line::end_in_use() noexcept {
  ROTA_FATAL("a sync::strand was destroyed while something runs in it", 0);
}

// ---- a place for a task that does not run yet

void turn_place::free(wait_node* node) noexcept {
  node->~wait_node();
  base::free_frame(node, sizeof(wait_node));
}

turn_place::turn_place(turn_line& of)
    : of_(&of), node_(::new(base::allocate_frame(sizeof(wait_node))) wait_node) {
  const wait_target at = of.entering();
  on_join did = on_join::done;
  if (at.rules->try_now(at.of, *node_)) {
    node_->set(wait_state::granted);
  } else {
    waker unused;  // outlives the section
    node_->wake = noop_waker();
    wait_section section(*at.list);
    did = join_list(at, section, *node_);
    if (did != on_join::linked) unused = std::move(node_->wake);
  }
  if (did != on_join::closed) return;
  free(node_);
  throw error(errc::closed, "this strand is closed");
}

turn_place::~turn_place() {
  if (node_ == nullptr) return;
  static_cast<void>(give_up(of_->entering(), *node_, if_granted::pass_on));
  free(node_);
}

bool place_leaf::start() {
  wait_node& me = *at_->node_;
  waker mine = make_waker();  // outlives the section, if it is not used
  const wait_section section(*at_->of_->entering().list);
  if (me.state() != wait_state::waiting) return true;
  std::swap(me.wake, mine);
  return false;
}

bool place_leaf::is_ready() noexcept { return at_->node_->state() != wait_state::waiting; }

turn place_leaf::await_resume() noexcept {
  turn_place::free(std::exchange(at_->node_, nullptr));
  return turn(*at_->of_);
}

}  // namespace rota::core
