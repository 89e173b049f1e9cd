// The kinds of sync_zoo that come to an end, and the strand: latches, once_cells, and what runs in a line.
#pragma once

#include "zoo.hpp"

#include <rota/sync/latch.hpp>
#include <rota/sync/once_cell.hpp>
#include <rota/sync/strand.hpp>

#include <array>
#include <cstdint>
#include <expected>
#include <utility>

namespace zoo {

namespace sync = rota::sync;
using rota::task;

// ---- latch: a task that passes sees what each counter wrote before it counted down, also a cancelled one

inline constexpr unsigned stages = 32;
inline constexpr unsigned counters = 6;

struct stage {
  sync::latch left{counters};
  std::array<unsigned, counters> written{};  // each by its own counter, and not guarded

  void check_all() {
    check(left.left() == 0 && left.try_wait());
    for (const unsigned each : written) check(each == 1);
  }
};
using all_stages = std::array<stage, stages>;

/// Counts down once in each stage, however it goes.
class counts_all {
 public:
  counts_all(all_stages& in, unsigned me) : in_(&in), me_(me) {}
  counts_all(counts_all&& other) noexcept
      : in_(std::exchange(other.in_, nullptr)), me_(other.me_), next_(other.next_) {}
  counts_all& operator=(counts_all&&) = delete;
  ~counts_all() {
    while (in_ != nullptr && next_ < stages) count_next();
  }
  void count_next() {
    stage& at = in_->at(next_++);
    ++at.written.at(me_);
    at.left.count_down();
  }

 private:
  all_stages* in_;
  unsigned me_;
  unsigned next_ = 0;
};

inline task<void> counts_down(counts_all mine, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < stages; ++i) {
    if (random() % 2 == 0) co_await rota::yield();
    mine.count_next();
    in.moved();
  }
}

inline task<void> passes_all(all_stages& of, std::atomic<unsigned>& passed, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (stage& each : of) {
    if (random() % 4 == 0) {
      const auto in_time = co_await each.left.wait_for(in.some_time(random));
      if (!in_time) co_await each.left.wait();
    } else {
      co_await each.left.wait();
    }
    each.check_all();
    in.moved();
  }
  ++passed;
}

inline void latches(cage& in) {
  all_stages all;
  std::atomic<unsigned> passed{0};
  unsigned next = 0;
  in.tasks(5, cancelled::some, [&](std::uint64_t seed) { return passes_all(all, passed, in, seed); });
  in.tasks(1, cancelled::none, [&](std::uint64_t seed) { return passes_all(all, passed, in, seed); });
  in.threads(2, [&](std::uint64_t /*seed*/) {
    for (stage& each : all) {
      each.left.blocking_wait();
      each.check_all();
    }
    ++passed;
  });
  in.tasks(counters, cancelled::some, [&](std::uint64_t seed) {
    return counts_down(counts_all(all, next++), in, seed);
  });
  in.wait();
  for (stage& each : all) each.check_all();
  check(passed >= 6);  // three of the tasks, both threads, and the last
}

// ---- once_cell: made once, although attempts fail or are given up, and every reader sees that value

struct cell_of {
  struct value {
    std::uint64_t number;
  };
  struct failed {};

  sync::once_cell<value> cell;
  std::atomic<std::uint64_t> made{0};
  std::atomic<std::uint64_t> making{0};

  /// While one makes it.
  class maker {
   public:
    explicit maker(cell_of& of) : of_(of) { check(++of_.making == 1 && of_.made == 0); }
    maker(const maker&) = delete;
    maker& operator=(const maker&) = delete;
    ~maker() { --of_.making; }
    /// Nothing comes between this and the cell.
    value make() { return value{++of_.made}; }

   private:
    cell_of& of_;
  };

  task<value> make_slowly(bool fails) {
    maker now(*this);
    co_await rota::yield();
    if (fails) throw failed();
    co_await rota::yield();
    co_return now.make();
  }
  value make() { return maker(*this).make(); }
  void look(const value* seen) {
    check(seen != nullptr && seen == cell.get() && seen->number == 1 && made == 1);
  }
};

inline task<void> gets_or_makes(cell_of& of, cage& in, std::mt19937_64& random) {
  const bool fails = random() % 4 == 0;
  const auto make = [&of, fails] { return of.make_slowly(fails); };
  if (random() % 2 == 0) {
    const auto got = co_await of.cell.get_or_init_for(in.some_time(random), make);
    if (got.has_value()) of.look(*got);
  } else {
    const cell_of::value& got = co_await of.cell.get_or_init(make);
    of.look(&got);
  }
}

/// Round the cells, until all of them are there.
inline task<void> visits_cells(std::array<cell_of, stages>& all, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (cell_of& each : all) {
    while (each.cell.get() == nullptr) {
      try {
        co_await gets_or_makes(each, in, random);
      } catch (const cell_of::failed&) {
        in.moved();
      }
    }
    const auto seen = co_await each.cell.wait_for(in.some_time(random));
    check(seen.has_value());
    each.look(each.cell.get());
    in.moved();
  }
}

inline void once_cells(cage& in) {
  std::array<cell_of, stages> all;
  in.tasks(8, cancelled::some, [&](std::uint64_t seed) { return visits_cells(all, in, seed); });
  in.threads(2, [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (cell_of& each : all) {
      if (random() % 4 == 0) {
        each.look(&each.cell.blocking_get_or_init([&each] { return each.make(); }));
      } else if (const auto got = each.cell.blocking_wait_for(in.some_time(random))) {
        each.look(*got);
      }
      in.moved();
    }
  });
  in.wait();
  for (cell_of& each : all) {
    each.look(each.cell.get());
    check(each.making == 0);
  }
}

// ---- strand: one at a time, and a task keeps its turn where it waits

struct line_of {
  sync::strand line;
  std::uint64_t plain = 0;  // guarded by the turn alone
  std::atomic<std::uint64_t> exact{0};
  std::atomic<std::uint64_t> inside{0};
  std::atomic<std::uint64_t> posted{0};
  std::atomic<std::uint64_t> begun{0};  // of those

  class turn {
   public:
    explicit turn(line_of& of) : of_(of) { check(++of_.inside == 1 && of_.line.running_here()); }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() { --of_.inside; }
    void add() {
      ++of_.plain;
      ++of_.exact;
    }

   private:
    line_of& of_;
  };

  void call() { turn(*this).add(); }
  task<void> call_slowly() {
    turn mine(*this);
    const std::uint64_t before = plain;
    co_await rota::yield();
    check(plain == before);
    mine.add();
  }
  void post(bool slowly) {
    ++posted;
    if (slowly) {
      line.post([this] {
        ++begun;
        return call_slowly();
      });
    } else {
      line.post([this] {
        ++begun;
        call();
      });
    }
  }
};

inline task<void> runs(line_of& of, cage& in, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto call = [&of] { of.call(); };
  const auto slowly = [&of] { return of.call_slowly(); };
  for (unsigned i = 0; i < operations; ++i) {
    switch (random() % 8) {
      case 0: of.post(true); break;
      case 1: of.post(false); break;
      case 2: static_cast<void>(co_await of.line.run_for(in.some_time(random), call)); break;
      case 3: static_cast<void>(co_await of.line.run_for(in.some_time(random), slowly)); break;
      case 4: static_cast<void>(of.line.try_run(call)); break;
      case 5: co_await of.line.run(call); break;
      default: co_await of.line.run(slowly); break;
    }
    in.moved();
  }
}

inline void strands(cage& in) {
  line_of all;
  in.tasks(8, cancelled::some, [&](std::uint64_t seed) { return runs(all, in, seed); });
  in.threads(2, [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto call = [&all] { all.call(); };
    for (unsigned i = 0; i < operations; ++i) {
      switch (random() % 4) {
        case 0: static_cast<void>(all.line.try_run(call)); break;
        case 1: static_cast<void>(all.line.blocking_run_for(in.some_time(random), call)); break;
        default: all.line.blocking_run(call); break;
      }
      in.moved();
    }
  });
  in.wait();
  all.line.blocking_join();  // all posted calls have run
  check(all.begun == all.posted && all.inside == 0 && all.plain == all.exact && !all.line.is_busy());
}

}  // namespace zoo
