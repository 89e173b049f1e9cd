// A sequence of operations, from the bytes of an input.
//
//   four bytes for the things: which of them, how large, how many
//   then, four bytes for each operation, at most 64 of them:
//           what · of which, and how much · how to wait for it · which tasks run after it
#pragma once

#include <cstdint>
#include <string_view>

#include "fuzz.hpp"
#include "scene.hpp"

#include "base/tls_slot.hpp"

namespace fuzz {

struct operation {
  number what;
  number which;
  number how;
  number then;
};

/// How to wait: 0: for good; 1: with a limit; 2: for good, in the last round; 3: awaits later than it makes.
inline plan plan_of(number how) {
  plan made;
  const number form = how % 8;
  if (form % 4 == 1) made.limit = how / 8 % 8;
  made.is_tired = form % 4 == 2 || form == 5;
  made.hesitates = form % 4 == 3;
  return made;
}
/// Of a select: without a sleep, or with one.
inline plan select_plan_of(number how) {
  plan made = plan_of(how & ~number{1});
  made.in_order = (how & 64U) != 0;
  if ((how & 128U) != 0) made.nap = how / 8 % 8;
  return made;
}

/// Operations that all have.
inline void move_scene(scene& in, const operation& next) {
  switch (next.what % 4) {
    case 0:
      in.note("detach", next.which % scene::most, 0);
      return in.detach(static_cast<unsigned>(next.which));
    case 1: in.note("advance", next.which % 8, 0); return in.advance(next.which % 8);
    default:
      in.note("cancel", next.which % scene::most, 0);
      return in.cancel(static_cast<unsigned>(next.which));
  }
}

/// Runs all tasks half of the time, else one or none: the next operation then meets tasks that will run.
inline void run_after(scene& in, number then) {
  switch (then % 8) {
    case 0:
    case 1: return;
    case 2:
    case 3: static_cast<void>(in.run(then / 8)); return;
    case 4: return in.run_all_newest_first();
    default: return in.run_all();
  }
}

/// A `Game` has the things. step() does one operation with one of them, compare() checks them all, drain()
/// ends all waits. state(): a rough state of them, below 64.
template <class Game>
void play(std::string_view bytes) {
  constexpr unsigned most_operations = 64;
  numbers input(bytes);
  rota::base::this_thread_locals().draws = input.of_bytes(1);
  const number shape = input.of_bytes(3);
  {
    scene in;
    Game game(in, shape);
    for (unsigned i = 0; i < most_operations && input.any_left(); ++i) {
      const operation next{input.of_bytes(1), input.of_bytes(1), input.of_bytes(1), input.of_bytes(1)};
      if (next.what % 4 == 3) {
        move_scene(in, {next.what / 4, next.which, next.how, next.then});
      } else {
        game.step(next);
      }
      note_state(in.state_of_all() | game.state() << 8U);
      run_after(in, next.then);
      in.check_quiet();
      game.compare();
    }
    if (shape % 2 == 0) in.cancel_all();
    in.run_all();
    for (unsigned i = 0; i < 100 && !in.is_empty(); ++i) {
      game.drain();
      in.run_all();
      in.check_quiet();
      game.compare();
    }
    in.end();
    game.compare();
  }
}

}  // namespace fuzz
