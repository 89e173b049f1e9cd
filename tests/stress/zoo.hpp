// Shared by the zoos: a cage holds the tasks and threads of one round, of which some tasks are cancelled.
#pragma once

#include "stress.hpp"

#include <rota/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace zoo {

inline constexpr unsigned operations = 100;  // of each

inline std::atomic<std::uint64_t> violations{0};
inline void check(bool holds) {
  if (!holds) ++violations;
}

enum class cancelled : bool { none, some };

class cage {
 public:
  cage(std::uint64_t round, stress::watchdog& dog)
      : random(round), dog_(dog), tasks_of_(stress::options_of_round(round)), shown_(dog, tasks_of_) {}
  cage(const cage&) = delete;
  cage& operator=(const cage&) = delete;
  ~cage() = default;

  void moved() { dog_.progress.fetch_add(1, std::memory_order_relaxed); }
  /// Often too short, and often not.
  [[nodiscard]] std::chrono::microseconds some_time(std::mt19937_64& by) const {
    return std::chrono::microseconds(by() % 300);
  }

  /// `f(seed)` makes each.
  template <class F>
  void tasks(unsigned count, cancelled which, F f) {
    for (unsigned i = 0; i < count; ++i) {
      if (which == cancelled::some && i % 2 == 1) may_end_.push_back(handles_.size());
      handles_.push_back(tasks_of_.spawn(f(random())));
    }
  }
  template <class F>
  void threads(unsigned count, F f) {
    for (unsigned i = 0; i < count; ++i) threads_.emplace_back(f, random());
  }
  [[nodiscard]] std::size_t size() const { return handles_.size(); }

  /// Cancels those that may be, now and then; then the first `count` have ended.
  void wait_for_tasks(std::size_t count) {
    std::shuffle(may_end_.begin(), may_end_.end(), random);
    for (const std::size_t each : may_end_) {
      if (random() % 4 == 0) continue;
      for (std::uint64_t left = random() % 64; left != 0; --left) std::this_thread::yield();
      handles_[each].cancel();
    }
    may_end_.clear();
    for (; ended_ < count; ++ended_) {
      const auto end = handles_[ended_].wait_for(std::chrono::hours(1));
      check(end.has_value() && (end->has_value() || end->is_cancelled()));
    }
  }
  void wait() {
    wait_for_tasks(handles_.size());
    threads_.clear();
  }

  std::mt19937_64 random;

 private:
  stress::watchdog& dog_;
  rota::runtime tasks_of_;
  stress::watchdog::watched shown_;
  std::vector<rota::join_handle<void>> handles_;
  std::vector<std::size_t> may_end_;
  std::size_t ended_ = 0;
  std::vector<std::jthread> threads_;
};

using enclosure = void (*)(cage&);

/// Round after round, each kind in its turn.
inline int visit(const char* name, int argc, char** argv, std::initializer_list<enclosure> all) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  std::uint64_t round = o.seed;
  for (; round == o.seed || !o.is_over(); ++round) {
    cage in(round, dog);
    // Another number of workers for each kind when its turn comes again.
    all.begin()[round % all.size()](in);
    if (violations != 0) {
      std::fprintf(stderr,
                   "%s: kind %zu, round %llu\n",
                   name,
                   static_cast<std::size_t>(round % all.size()),
                   static_cast<unsigned long long>(round));
      break;
    }
  }
  return stress::finish(name, o, {{"rounds", round - o.seed}, {"operations", dog.progress}}, violations);
}

}  // namespace zoo
