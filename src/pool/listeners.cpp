#include "pool/listeners.hpp"

#include "base/futex.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace rota::pool {

observer::~observer() = default;

namespace detail {

listeners::~listeners() {
  ROTA_ASSERT(std::all_of(all_.begin(), all_.end(), [](auto* l) { return l == nullptr; }));
}

listener& listeners::add(observer& whom) {
  auto made = std::make_unique<listener>();
  made->of = this;
  made->whom = &whom;
  const base::lock_guard guard(lock_);
  const auto place = std::find(all_.begin(), all_.end(), nullptr);
  if (place == all_.end()) {
    all_.push_back(made.get());
  } else {
    *place = made.get();
  }
  // release: pairs with the acquire load in any().
  count_.fetch_add(1, base::order::release);
  return *made.release();
}

listener* listeners::enter(std::size_t& position, handler_call& mine) noexcept {
  const base::lock_guard guard(lock_);
  for (; position < all_.size(); ++position) {
    listener* const found = all_[position];
    if (found == nullptr || found->gone) continue;
    mine.next = found->calls;
    found->calls = &mine;
    return found;
  }
  return nullptr;
}

void listeners::leave(listener& which, handler_call& mine) noexcept {
  bool free;
  {
    const base::lock_guard guard(lock_);
    handler_call** place = &which.calls;
    while (*place != &mine) place = &(*place)->next;
    *place = mine.next;
    if (!which.gone) return;
    free = which.unowned && which.calls == nullptr;
    // release: pairs with the acquire load in remove(). Under the lock, so that the listener still exists.
    which.left.fetch_add(1, base::order::release);
  }
  if (free) {
    delete &which;
  } else {
    // only the address is used: the waiting thread may have freed it by now
    base::futex_wake(&which.left, 1 << 20);
  }
}

void listeners::remove(listener& which) noexcept {
  listeners& self = *which.of;
  // A forked child has none of the threads that ran handlers.
  if (!base::is_this_process(self.process_)) return;
  const std::uint64_t here = base::this_thread_id();
  {
    const base::lock_guard guard(self.lock_);
    which.gone = true;
    *std::find(self.all_.begin(), self.all_.end(), &which) = nullptr;
    // relaxed: running handlers are waited for below.
    self.count_.fetch_sub(1, base::order::relaxed);
  }
  for (;;) {
    // acquire: read before the check of the calls; pairs with the release in leave().
    const std::uint32_t seen = which.left.load(base::order::acquire);
    {
      const base::lock_guard guard(self.lock_);
      bool others = false;
      for (const handler_call* each = which.calls; each != nullptr; each = each->next)
        others = others || each->thread != here;
      if (!others) {
        if (which.calls == nullptr) break;
        which.unowned = true;
        return;
      }
    }
    static_cast<void>(base::futex_wait(which.left, seen, base::never));
  }
  delete &which;
}

namespace {

unhandled_exception about_handler(std::string_view name, work_id id) noexcept {
  return {.id = {},
          .name = name,
          .what = "",
          .file = nullptr,
          .line = 0,
          .from = unhandled_from::pool_handler,
          .number = id.value};
}

}  // namespace

bool listeners::report(error_from place, work_id id, std::exception_ptr what) noexcept {
  const pool_error error{place, id, std::move(what)};
  bool told = false;
  if (any()) {
    for_each([&](observer& each) {
      told = true;
      try {
        each.error(error);
      } catch (...) {
        // relaxed: a count.
        failures_.fetch_add(1, base::order::relaxed);
        lost_->give(about_handler("error", id), std::current_exception());
      }
    });
  }
  if (!told && place != error_from::work) lost_->give(about_handler(to_string(place), id), error.exception);
  return told;
}

void unsubscribe(listener& whom) noexcept { listeners::remove(whom); }

}  // namespace detail

}  // namespace rota::pool
