#include <rota/sync/semaphore.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace rota::sync {

using core::on_join;
using core::wait_node;
using core::wait_section;
using core::wait_state;

namespace {

semaphore& self(void* of) noexcept { return *static_cast<semaphore*>(of); }

[[noreturn]] void refuse(const char* what, std::uint64_t n, std::uint64_t most) {
  throw std::invalid_argument(std::string("sync::semaphore: ") + what + " is " + std::to_string(n) +
                              ": must be 0.." + std::to_string(most));
}

}  // namespace

const core::wait_rules semaphore::rules{
    .what = "semaphore acquire",
    .try_now = [](void* of, wait_node& me) noexcept { return self(of).try_acquire(me.wanted).has_value(); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept { return self(of).join(section, me); },
    .leave = [](void* of, wait_section& section, wait_node& me) noexcept { self(of).serve(section, me.got); },
    .pass_on = [](void* of, wait_node& me) noexcept { self(of).give_back(me.wanted); },
    .is_end = core::always_an_end,
};

semaphore::semaphore(count permits) : word_(permits) {
  if (permits > max_permits) refuse("permits", permits, max_permits);
}

semaphore::count semaphore::checked(count n) {
  if (n > max_permits) refuse("n of acquire", n, max_permits);
  return n;
}

std::expected<void, std::error_code> semaphore::result_of(core::wait_end how) {
  switch (how) {
    case core::wait_end::granted: return {};
    case core::wait_end::closed: return std::unexpected(make_error_code(errc::closed));
    case core::wait_end::timed_out: break;
  }
  return std::unexpected(make_error_code(errc::timed_out));
}

std::expected<void, std::error_code> semaphore::blocking_acquire(count n) {
  core::wait_node me;
  me.wanted = checked(n);
  return result_of(core::block(target(), me));
}

on_join semaphore::join(wait_section& section, wait_node& me) noexcept {
  // relaxed: a guess; the exchange decides. It fails only if another thread has changed the word.
  std::uint64_t seen = word_.load(base::order::relaxed);
  for (;;) {
    if ((seen & closed) != 0) return on_join::closed;
    const count there = seen & permits_mask;
    const bool enough = (seen & waiting) == 0 && there >= me.wanted;
    const std::uint64_t next = enough ? seen - me.wanted : waiting;
    // acq_rel: the acquire pairs with release(). The release makes a later releaser see the bit, and this
    // node through the lock; same word as there. failure: relaxed: again a guess.
    if (!word_.compare_exchange_weak(seen, next, base::order::acq_rel, base::order::relaxed)) continue;
    if (enough) return on_join::done;
    me.got = there;
    section.link_back(me);
    return on_join::linked;
  }
}

void semaphore::release_slowly(count n) {
  // Permits that are there stay there while there are waiters; otherwise release() has found too many.
  const count there = available();
  if (n > max_permits - there) refuse("n of release", n, max_permits - there);
  give_back(n);
}

void semaphore::give_back(count n) noexcept {
  if (try_release(n)) return;
  wait_section section(list_);
  serve(section, n);
}

/// Gives `n` permits to the waiters, and the rest to the word. Called under the lock.
void semaphore::serve(wait_section& section, count n) noexcept {
  // relaxed: only a holder of the list's lock sets `closed`. Once it is set, the remaining waiters get
  // errc::closed and no permits.
  while ((word_.load(base::order::relaxed) & closed) == 0) {
    wait_node* const first = section.first();
    if (first == nullptr) break;
    if (section.is_full()) {
      section.breathe();
      continue;
    }
    const count part = std::min(n, first->wanted - first->got);
    first->got += part;
    n -= part;
    if (first->got != first->wanted) break;
    section.grant(*first);
  }
  settle(section, n);
}

void semaphore::settle(const wait_section& section, count n) noexcept {
  if (n == 0 && !section.is_empty()) return;
  // relaxed: a guess; the exchange decides. It fails only if another thread has changed the word.
  std::uint64_t seen = word_.load(base::order::relaxed);
  for (;;) {
    if (n > max_permits - (seen & permits_mask)) ROTA_FATAL("a sync::semaphore has too many permits", n);
    const std::uint64_t next = (section.is_empty() ? seen & ~waiting : seen) + n;
    // release: pairs with the acquire of the thread that takes the permits. failure: relaxed: again a guess.
    if (word_.compare_exchange_weak(seen, next, base::order::release, base::order::relaxed)) return;
  }
}

void semaphore::close() noexcept {
  wait_section section(list_);
  // acq_rel: the release pairs with is_closed(). The acquire reads nothing, but orders the second of two
  // close() calls after the first.
  word_.fetch_or(closed, base::order::acq_rel);
  count parts = 0;
  // No waiter joins any more.
  while (wait_node* const first = section.first()) {
    if (section.is_full()) {
      section.breathe();
      continue;
    }
    parts += first->got;
    section.grant(*first, wait_state::closed);
  }
  settle(section, parts);
}

}  // namespace rota::sync
