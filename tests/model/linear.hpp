// Linearizability: for operations of several threads on one object there is an order that explains each
// result. An operation that had ended before another one began comes before it.
//
// The check is the search of Wing and Gong (Testing and Verifying Concurrent Objects, 1993): each possible
// next operation is tried on a copy of a single-threaded state. No state is tried twice (Lowe, 2017).
//
// Limit: this covers what sequential consistency shows. The order in time of two unsynchronised threads is no
// order of the C++ memory model, so these histories are explored with loads that see the last store.
#pragma once

#include "model/exploring.hpp"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace rota::model {

struct operation {
  unsigned what = 0;        // the scene's number for it
  std::uint64_t given = 0;  // its argument
  std::uint64_t got = 0;    // its result
  unsigned begun = 0;       // turns of one clock
  unsigned ended = 0;
  bool is_beside_another = false;  // one was under way at the same time
  unsigned beside = 0;             // a bit for the `what` of each of these
};

/// `State`: copyable, with operator<=>. bool admits(const operation&) does it, or returns false.
template <class State>
class history {
 public:
  static constexpr std::size_t most = 12;

  /// `f` performs it, and returns its result as a number.
  template <class F>
  void add(unsigned what, std::uint64_t given, F f) {
    operation& mine = all_.at(count_++);
    mine = {.what = what, .given = given, .begun = ++clock_};
    mine.got = f();
    mine.ended = ++clock_;
  }

  [[nodiscard]] bool is_linear(State from) {
    for (std::size_t i = 0; i < count_; ++i) {
      operation& a = all_[i];
      a.beside = 0;
      for (std::size_t k = 0; k < count_; ++k) {
        const operation& b = all_[k];
        if (k != i && b.begun < a.ended && a.begun < b.ended) a.beside |= 1U << b.what;
      }
      a.is_beside_another = a.beside != 0;
    }
    tried_.clear();
    return goes_on(0, from);
  }

  [[nodiscard]] std::string text(const std::array<std::string_view, 8>& names) const {
    std::string out;
    for (std::size_t i = 0; i < count_; ++i) {
      const operation& o = all_[i];
      out += std::to_string(o.begun) + ".." + std::to_string(o.ended) + ' ' + std::string(names.at(o.what)) +
             '(' + std::to_string(o.given) + ") -> " + std::to_string(o.got) + '\n';
    }
    return out;
  }

 private:
  /// `done`: a set of operations that have led to `now`.
  bool goes_on(unsigned done, const State& now) {
    if (done == (1U << count_) - 1) return true;
    if (!tried_.emplace(done, now).second) return false;
    for (std::size_t i = 0; i < count_; ++i) {
      if ((done >> i & 1U) != 0 || !may_be_next(done, i)) continue;
      State then = now;
      if (then.admits(all_[i]) && goes_on(done | 1U << i, then)) return true;
    }
    return false;
  }
  /// No remaining operation had ended before it began.
  [[nodiscard]] bool may_be_next(unsigned done, std::size_t which) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if ((done >> i & 1U) == 0 && all_[i].ended < all_[which].begun) return false;
    }
    return true;
  }

  std::array<operation, most> all_{};
  std::size_t count_ = 0;
  unsigned clock_ = 0;
  std::set<std::pair<unsigned, State>> tried_;
};

/// Three threads, each with up to four operations. `Scene`: its state, before(), names, the `kinds` to draw
/// from, and void does(history&, unsigned kind, unsigned thread). Half of the histories are uniform walks,
/// half by priorities. ROTA_MODEL_HISTORIES: how many, instead of a million.
template <class Scene, class... Arguments>
void expect_linear(std::string_view name, Arguments... arguments) {
  const auto body = [=](testing::execution& e) {
    auto& scene = e.make<Scene>(arguments...);
    auto& seen = e.make<history<typename Scene::state>>();
    constexpr std::array<const char*, 3> threads{"first", "second", "third"};
    for (unsigned thread = 0; thread < threads.size(); ++thread) {
      std::array<unsigned, 4> plan{};
      const unsigned count = 1 + testing::choose(4);
      for (unsigned i = 0; i < count; ++i) plan.at(i) = testing::choose(Scene::kinds);
      e.thread(threads.at(thread), [&scene, &seen, plan, count, thread] {
        for (unsigned i = 0; i < count; ++i) scene.does(seen, plan.at(i), thread);
      });
    }
    e.on_failure([&seen] { return seen.text(Scene::names); });
    e.finally([&scene, &seen] {
      testing::check(seen.is_linear(scene.before()), "no order explains what they gave");
    });
  };
  const std::uint64_t histories =
      detail::limited(asked_for("ROTA_MODEL_HISTORIES", 1'000'000), 50'000, 20'000);
  testing::options o = at_random(name, histories / 2);
  o.stale_reads = 0;
  o.early_timeouts = 1;
  detail::expect_holds(testing::explore(o, body), o, false);
  const std::string by_priority_too = std::string(name) + " pct";
  o.name = by_priority_too;
  o.search = testing::search_kind::pct;
  o.depth = 4;
  detail::expect_holds(testing::explore(o, body), o, false);
}

}  // namespace rota::model
