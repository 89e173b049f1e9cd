// Primitives to wait for a signal, beside their reference models, and the waits for them.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <system_error>
#include <utility>

#include "item.hpp"
#include "signals_reference.hpp"
#include "waits.hpp"

#include <rota/sync/barrier.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/latch.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/once_cell.hpp>
#include <rota/sync/semaphore.hpp>

namespace fuzz {

using rota::sync::barrier;
using rota::sync::event;
using rota::sync::latch;
using rota::sync::notify;
using rota::sync::once_cell;
using rota::sync::semaphore;

/// A primitive and its reference model.
template <class Real, class Should>
struct beside {
  std::optional<Real> real;
  std::optional<Should> should;
};

struct things {
  beside<semaphore, semaphore_reference> permits;
  beside<notify, notify_reference> calls;
  beside<event, event_reference> gate;
  beside<event, event_reference> turnstile;
  beside<latch, latch_reference> things_left;
  beside<barrier, barrier_reference> meeting;
  beside<once_cell<item>, once_reference> value;
  event door;  // in front of the task that makes a value
};

struct acquire_wait {
  semaphore* of;
  number n;
  auto leaf() { return of->acquire(n); }
  auto timed(std::chrono::milliseconds limit) { return of->acquire_for(limit, n); }
  static number got(std::expected<void, std::error_code> how) {
    return how.has_value() ? yes : code_of(how.error());
  }
};

template <class Primitive>
struct plain_wait {
  Primitive* of;
  auto leaf() { return of->wait(); }
  auto timed(std::chrono::milliseconds limit) { return of->wait_for(limit); }
  static number got(no_value) { return yes; }
};

struct meeting_wait {
  barrier* of;
  auto leaf() { return of->arrive_and_wait(); }
  auto timed(std::chrono::milliseconds limit) { return of->arrive_and_wait_for(limit); }
  static number got(barrier::passage at) { return barrier_reference::passage(at.generation, at.is_leader); }
};

struct value_wait {
  once_cell<item>* of;
  auto leaf() { return of->wait(); }
  auto timed(std::chrono::milliseconds limit) { return of->wait_for(limit); }
  static number got(const item& found) { return found.what(); }
  static number got(const item* found) { return found->what(); }
};

inline rota::task<item> made_slowly(event& door, number what, bool fails) {
  const int none = 0;
  co_await door.wait();
  if (fails) throw none;
  co_return item(what);
}

/// `make(what)`: an item, or a task of one.
template <class Make>
rota::task<void> makes_value(scene::seat me, things* of, number what, Make make) {
  me.made();
  if (me.how().hesitates) co_await rota::yield();
  me.begin(of->value.real->get() == nullptr);
  bool has_claim = false;
  number found = 0;
  const auto claims = [&] {
    has_claim = true;
    me.end(0, claimed);
    me.act();
    return make(what);
  };
  try {
    auto work = of->value.real->get_or_init(claims);
    const item& value = co_await std::move(work);
    found = value.what();
  } catch (int) {
    found = 0;
  }
  if (!has_claim) {
    me.end(0, found);
  } else {
    found != 0 ? of->value.should->fill(found) : of->value.should->abandon();
    me.act_no_more();
  }
}

}  // namespace fuzz
