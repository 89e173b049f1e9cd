// The timer wheel, or two shards with their wakers, against a sorted set: arm, arm again, cancel, polls of
// any size, a clock that jumps anywhere.
#include "../unit/time/wheel_duel.hpp"
#include "fuzz.hpp"
#include "shard_duel.hpp"

namespace {

using namespace time_test;

std::int64_t signed_below(fuzz::numbers& input, std::uint32_t bound) {
  return static_cast<std::int64_t>(input.below(bound)) - bound / 2;
}

/// A little before or after: nanoseconds, or milliseconds.
time_point near(time_point at, fuzz::numbers& input) {
  const nanoseconds by(signed_below(input, 8) * (input.below(2) == 0 ? 1 : 1'000'000));
  const time_point low = time_point::min() + nanoseconds(10'000'000);
  const time_point high = never - nanoseconds(10'000'000);
  return at < low || at > high ? at : at + by;
}

/// Near the beginning of a slot of some level. 64 slots ahead is the slot of `now` itself, a turn later.
time_point near_slot(time_point now, fuzz::numbers& input) {
  const time_point since_zero = std::max(now, time_point{});
  const unsigned level = input.below(7);
  const std::uint32_t ahead = input.below(128);
  const std::uint64_t slots = ahead < 66 ? ahead : 62 + ahead % 4;
  return near(later_by(since_zero, up_to_slot(since_zero, level, slots)), input);
}

time_point before(time_point now, std::uint64_t by) {
  const std::uint64_t room = static_cast<std::uint64_t>(now.time_since_epoch().count()) -
                             static_cast<std::uint64_t>(time_point::min().time_since_epoch().count());
  if (by >= room) return time_point::min();
  return now - nanoseconds(static_cast<std::int64_t>(by));
}

/// A deadline, or a moment to move the clock to. `other`: of another timer, or what the wheel says.
time_point moment(fuzz::numbers& input, time_point now, time_point other) {
  switch (input.below(11)) {
    case 0: return now;
    case 1: return never;
    case 2: return never - nanoseconds(input.below(4));
    case 3: return time_point::min();
    case 4: return time_point{};
    case 5: return other;
    case 6: return near(other, input);
    case 7: return near(now, input);
    case 8: return near_slot(now, input);
    case 9: return before(now, input.of_any_size());
    default: return later_by(now, input.of_any_size());
  }
}

/// Few and many steps alike.
unsigned some(fuzz::numbers& input) {
  const std::uint32_t n = input.below(32);
  return n == 31 ? plenty : n;
}

struct wheel_game {
  wheel_duel duel;
  fuzz::numbers& input;

  void step() {
    const std::uint32_t what = input.below(10);
    const unsigned i = input.below(duel.reference().size());
    switch (what) {
      case 0: return duel.disarm(i);
      case 1: return duel.set_clock(moment(input, duel.now(), duel.next_deadline()));
      case 2: return duel.poll_all();
      case 3: return duel.begin_poll();
      case 4: {
        const unsigned wanted = some(input);
        return duel.pop(wanted, some(input));
      }
      case 5: return sleep();
      default: return arm(i);
    }
  }

  void arm(unsigned i) {
    const unsigned other = input.below(duel.reference().size());
    duel.arm(i, moment(input, duel.now(), duel.reference().deadline(other)));
  }

  /// As a poller does.
  void sleep() {
    duel.set_clock(std::max(duel.now(), duel.next_deadline()));
    duel.poll_all();
  }
};

struct shard_game {
  shard_duel duel;
  fuzz::numbers& input;

  shard_game(time_point now, unsigned timers, fuzz::numbers& from)
      : duel(now, timers, on_fire, this), input(from) {}

  static void on_fire(shard_duel& /*duel*/, unsigned i, void* self) {
    shard_game& game = *static_cast<shard_game*>(self);
    const std::uint32_t what = game.input.below(4);
    if (what == 1) game.arm(i);
    if (what == 2) game.duel.cancel(game.input.below(game.duel.size()));
    if (what == 3) game.arm(game.input.below(game.duel.size()));
  }

  void step() {
    const std::uint32_t what = input.below(8);
    const unsigned i = input.below(duel.size());
    switch (what) {
      case 0: return duel.cancel(i);
      case 1: return duel.set_clock(moment(input, duel.now(), duel.next_deadline()));
      case 2: return duel.poll(i % shard_duel::shards, some(input));
      case 3: return sleep();
      default: return arm(i);
    }
  }

  void arm(unsigned i) {
    const unsigned s = input.below(shard_duel::shards);
    const unsigned other = input.below(duel.size());
    duel.arm(i, s, moment(input, duel.now(), duel.reference(s).deadline(other)));
  }

  void sleep() {
    duel.set_clock(std::max(duel.now(), duel.next_deadline()));
    for (unsigned s = 0; s < shard_duel::shards; ++s) duel.poll(s, plenty);
  }
};

template <class Game>
void play(Game& game, fuzz::numbers& input) {
  while (input.any_left() && game.duel.broken().empty()) game.step();
  if (game.duel.broken().empty()) game.duel.end();
  fuzz::check(game.duel.broken().empty(), game.duel.broken().c_str());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::numbers input(fuzz::text_of(data, size));
  const bool is_wheel = input.below(2) == 0;
  const time_point now = moment(input, at_tick(span_of(3)), time_point{});
  const unsigned timers = 1 + input.below(80);
  if (is_wheel) {
    wheel_game game{wheel_duel(now, timers), input};
    play(game, input);
  } else {
    shard_game game(now, timers, input);
    play(game, input);
  }
  return 0;
}
