// Tasks at a semaphore, notify, events, latch, barrier and once_cell, beside plain models of them.
#include <optional>
#include <stdexcept>

#include "item.hpp"
#include "sequence.hpp"
#include "signal_waits.hpp"

namespace {

using namespace fuzz;
using namespace std::chrono_literals;
using rota::sync::acquire_refusal;
using rota::sync::event_reset;
using rota::sync::event_state;
using rota::sync::set_refusal;

class signals {
  static constexpr number things_here = 7;

 public:
  signals(scene& in, number shape) : in_(&in), shape_(shape) {
    for (number which = 0; which < things_here; ++which) renew(which, shape);
  }

  /// With one thing, or with any.
  void step(const operation& next) {
    const number focus = shape_ / 256 % 16;
    const number which = focus < things_here ? focus : next.which % things_here;
    const operation then{next.what, next.which / things_here, next.how, next.then};
    in_->note("step", next.what % 32, which);
    switch (next.what % 32) {
      case 0:
      case 1:
      case 2:
      case 4:
      case 5:
      case 6: return wait(which, then);
      case 8:
      case 9:
      case 10: return select(then);
      case 12:
      case 13: return try_one(which, then.which);
      case 14:
      case 16: return take_back(which, then.which);
      case 17: return move_door(then.which % 2 == 0);
      case 18: return renew(which, shape_ + next.how);
      default: return give(which, then.which);
    }
  }

  void compare() const {
    in_->check(of_.permits.real->available() == of_.permits.should->available(), "so many permits are there");
    in_->check(of_.permits.real->is_closed() == of_.permits.should->is_closed(),
               "a semaphore is closed that is");
    in_->check(of_.gate.real->is_set() == of_.gate.should->is_set(), "a manual event is set that is");
    in_->check(of_.turnstile.real->is_set() == of_.turnstile.should->is_set(),
               "an automatic event is set that is");
    in_->check(of_.things_left.real->left() == of_.things_left.should->left(), "so many things are left");
    in_->check(of_.meeting.real->arrived() == of_.meeting.should->arrived(), "so many have arrived");
    in_->check(of_.meeting.real->participants() == of_.meeting.should->participants(), "so many take part");
    const item* const value = of_.value.real->get();
    in_->check((value == nullptr ? 0 : value->what()) == of_.value.should->value(), "a cell has its value");
    in_->check(item::alive == (value == nullptr ? 0U : 1U), "there is one value, or none");
    in_->check(!of_.door.is_set() || !in_->is_quiet() || !in_->acts(), "who makes a value comes to an end");
  }

  [[nodiscard]] number state() const {
    return few(of_.permits.should->available()) | (of_.turnstile.should->is_set() ? 4U : 0U) |
           (of_.value.should->is_busy() ? 8U : 0U) | few(of_.meeting.should->arrived()) << 4U;
  }

  void drain() {
    move_door(true);
    release(3, false);
    notify_all();
    set(of_.gate);
    set(of_.turnstile);
    count_down(of_.things_left.should->left());
    if (of_.meeting.should->arrived() != 0) drop_out();
    set_value(0);
  }

 private:
  static plan with(reference& at, number how, const operation& next) {
    plan made = plan_of(next.how);
    made.stakes[0] = {&at, how};
    return made;
  }
  template <class Real, class Should>
  void wait_for(beside<Real, Should>& at, const operation& next) {
    start_wait(*in_, with(*at.should, 0, next), plain_wait<Real>{&*at.real});
  }
  void wait(number which, const operation& next) {
    switch (which) {
      case 0: {
        const number n = next.which % 4;
        return start_wait(*in_, with(*of_.permits.should, n, next), acquire_wait{&*of_.permits.real, n});
      }
      case 1: return wait_for(of_.calls, next);
      case 2: return wait_for(of_.gate, next);
      case 3: return wait_for(of_.turnstile, next);
      case 4: return wait_for(of_.things_left, next);
      case 5:
        // Without participants no arrival is allowed.
        if (of_.meeting.should->participants() == 0) return;
        return start_wait(*in_, with(*of_.meeting.should, 0, next), meeting_wait{&*of_.meeting.real});
      default:
        if (next.which % 3 != 0) return make_value(next);
        return start_wait(
            *in_, with(*of_.value.should, once_reference::looks, next), value_wait{&*of_.value.real});
    }
  }
  void give(number which, number n) {
    switch (which) {
      case 0: return release(n % 4, n / 4 % 2 == 0);
      case 1: return n % 3 == 0 ? notify_all() : notify_one();
      case 2: return set(of_.gate);
      case 3: return set(of_.turnstile);
      case 4: return count_down(n % 4);
      case 5: return drop_out();
      default: return set_value(n);
    }
  }
  void take_back(number which, number n) {
    if (which == 0 && n % 4 == 0) {
      of_.permits.real->close();
      of_.permits.should->close();
    }
    if (which == 0 && n % 4 == 1) {
      const number forgotten = of_.permits.real->forget_permits(n / 4 % 4);
      in_->check(forgotten == of_.permits.should->forget(n / 4 % 4), "permits are forgotten that are there");
    }
    if (which == 2) reset(of_.gate);
    if (which == 3) reset(of_.turnstile);
  }

  void make_value(const operation& next) {
    plan how = with(*of_.value.should, once_reference::makes, next);
    how.limit = plan::never;
    const number what = first_item + next.which;
    const bool fails = next.which % 4 == 0;
    things* const of = &of_;
    in_->start(how, [&](scene::seat me) {
      if (next.which % 3 == 1) {
        const auto at_once = [fails](number it) {
          if (fails) throw 0;
          return item(it);
        };
        return makes_value(std::move(me), of, what, at_once);
      }
      return makes_value(
          std::move(me), of, what, [of, fails](number it) { return made_slowly(of->door, it, fails); });
    });
  }
  void set_value(number which) {
    item value(first_item + which);
    const auto did = of_.value.real->set(std::move(value));
    const number got = did.has_value() ? yes : did.error() == set_refusal::full ? refused : empty;
    in_->check(got == of_.value.should->try_claim(), "a value is set if the cell is empty");
    // NOLINTNEXTLINE(bugprone-use-after-move): that is the question
    in_->check((value.what() == 0) == did.has_value(), "a value that is not set stays where it is");
    if (got == yes) of_.value.should->fill(first_item + which);
  }
  void move_door(bool opens) { opens ? of_.door.set() : of_.door.reset(); }

  void select(const operation& next) {
    plan how = select_plan_of(next.how);
    const number n = next.which / 4 % 4;
    const auto begin = [&](reference& a, number a_how, reference& b, number b_how, auto a_kind, auto b_kind) {
      how.stakes[0] = {&a, a_how};
      how.stakes[1] = {&b, b_how};
      start_select(*in_, how, a_kind, b_kind);
    };
    const acquire_wait acquires{&*of_.permits.real, n};
    const plain_wait<notify> called{&*of_.calls.real};
    const plain_wait<event> passes{&*of_.turnstile.real};
    const value_wait looks{&*of_.value.real};
    switch (next.which % 4) {
      case 0: return begin(*of_.permits.should, n, *of_.calls.should, 0, acquires, called);
      case 1:
        return begin(*of_.turnstile.should,
                     0,
                     *of_.things_left.should,
                     0,
                     passes,
                     plain_wait<latch>{&*of_.things_left.real});
      case 2: return begin(*of_.value.should, once_reference::looks, *of_.turnstile.should, 0, looks, passes);
      default:
        return begin(
            *of_.gate.should, 0, *of_.permits.should, n, plain_wait<event>{&*of_.gate.real}, acquires);
    }
  }

  void release(number n, bool by_permit) {
    of_.permits.should->release(n);
    if (!by_permit) return of_.permits.real->release(n);
    const auto given_back = semaphore::permit::adopt(*of_.permits.real, n);
  }
  void drop_out() {
    const number there = of_.meeting.should->participants();
    if (there == 0 || (there == 1 && in_->is_staked(*of_.meeting.should))) return;
    of_.meeting.real->arrive_and_drop();
    of_.meeting.should->drop();
  }
  void notify_one() {
    of_.calls.real->notify_one();
    of_.calls.should->notify_one();
  }
  void notify_all() {
    of_.calls.real->notify_all();
    of_.calls.should->notify_all();
  }
  static void set(beside<event, event_reference>& of) {
    of.real->set();
    of.should->set();
  }
  static void reset(beside<event, event_reference>& of) {
    of.real->reset();
    of.should->reset();
  }
  void count_down(number n) {
    bool did = true;
    try {
      of_.things_left.real->count_down(n);
    } catch (const std::invalid_argument&) {
      did = false;
    }
    in_->check(did == of_.things_left.should->count_down(n), "a latch is counted down as far as it goes");
  }

  /// Operations that do not wait: tries, and threads with a zero limit.
  void try_one(number which, number n) {
    switch (which) {
      case 0: return try_permits(n % 4, n / 4 % 3);
      case 1: return try_both(of_.calls, n, of_.calls.should->try_wait());
      case 2: return try_both(of_.gate, n, of_.gate.should->try_wait());
      case 3: return try_both(of_.turnstile, n, of_.turnstile.should->try_wait());
      case 4: return try_both(of_.things_left, n, of_.things_left.should->left() == 0);
      case 5: return try_meeting();
      default:
        if (n % 3 == 0) return try_thread(of_.value, of_.value.should->value() != 0);
        return make_at_once(first_item + n, n % 3 == 1);
    }
  }
  void try_permits(number n, number form) {
    if (form == 0) return refuse_permits();
    const number should = of_.permits.should->try_acquire(n);
    if (form == 1) {
      const number got = acquire_wait::got(of_.permits.real->blocking_acquire_for(0ms, n));
      return in_->check(got == (should == empty ? late : should), "a thread has permits that are there");
    }
    const auto got = of_.permits.real->try_acquire(n);
    const number code = got.has_value() ? yes : got.error() == acquire_refusal::closed ? closed : empty;
    in_->check(code == should, "permits are had that are there");
  }
  template <class Real, class Should>
  void try_both(beside<Real, Should>& at, number n, bool should) {
    if (n % 2 == 0) return try_thread(at, should);
    in_->check(at.real->try_wait() == should, "who tries passes if it may");
  }
  template <class Real, class Should>
  void try_thread(beside<Real, Should>& at, bool should) {
    in_->check(at.real->blocking_wait_for(0ms).has_value() == should, "a thread passes if it may");
  }
  void try_meeting() {
    if (of_.meeting.should->participants() == 0) return;
    const bool should = of_.meeting.should->is_there(thread, 0);
    const auto got = of_.meeting.real->blocking_arrive_and_wait_for(0ms);
    in_->check(got.has_value() == should, "a thread passes with the last, or takes its arrival back");
    if (!should) return;
    of_.meeting.should->arrive(thread, 0);
    in_->check(meeting_wait::got(*got) == of_.meeting.should->take(thread), "a thread leads the others");
  }
  void refuse_permits() {
    if (of_.permits.should->available() == 0) return;
    bool refused = false;
    try {
      of_.permits.real->release(semaphore::max_permits);
    } catch (const std::invalid_argument&) {
      refused = true;
    }
    in_->check(refused, "too many permits are refused");  // and compare() sees that nothing has changed
  }
  void make_at_once(number what, bool fails) {
    if (of_.value.should->is_busy()) return;
    const auto make = [&] {
      in_->check(of_.value.should->try_claim() == yes, "a value is made where none is");
      if (fails) throw 0;
      return item(what);
    };
    try {
      const item& found = of_.value.real->blocking_get_or_init(make);
      if (of_.value.should->is_busy()) of_.value.should->fill(what);
      in_->check(found.what() == of_.value.should->value(), "a value is made once");
    } catch (int) {
      of_.value.should->abandon();
    }
  }

  /// Replaces one that no task uses by a new one.
  void renew(number which, number shape) {
    switch (which) {
      case 0: return renew(of_.permits, shape % 4);
      case 1: return renew(of_.calls);
      case 2: return renew_event(of_.gate, event_reset::manual, shape % 8 == 2);
      case 3: return renew_event(of_.turnstile, event_reset::automatic, shape % 8 == 6);
      case 4: return renew(of_.things_left, shape / 4 % 4);
      case 5: return renew(of_.meeting, static_cast<barrier::count>(1 + shape / 16 % 4));
      default:
        if (!of_.value.should.has_value() || !of_.value.should->is_busy()) renew(of_.value);
    }
  }
  template <class Real, class Should, class... Args>
  void renew(beside<Real, Should>& what, Args... args) {
    if (what.should.has_value() && in_->is_staked(*what.should)) return;
    what.should.emplace(args...);
    what.real.emplace(args...);
  }

  void renew_event(beside<event, event_reference>& what, event_reset how, bool is_set) {
    if (what.should.has_value() && in_->is_staked(*what.should)) return;
    what.should.emplace(how == event_reset::automatic, is_set);
    what.real.emplace(how, is_set ? event_state::set : event_state::unset);
  }

  scene* in_;
  number shape_;
  things of_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  play<signals>(fuzz::text_of(data, size));
  return 0;
}
