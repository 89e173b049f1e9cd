// How far the models of this folder are explored. A test gives options for a short search. Every search is
// done in each memory, unless one includes the other (`buffers_include()`). `./dev model` makes them longer:
//
//   ROTA_MODEL_BRIEF      much shorter: one preemption and 5000 executions, 500 of each random search
//   ROTA_MODEL_QUICK      shorter (`./dev test` sets it): ends after 10000 executions, random ones after 2000
//   ROTA_MODEL_RUNS       executions of each random search
//   ROTA_MODEL_SECONDS    at most, of each random search, and of each depth-first one beyond its own bound
//   ROTA_MODEL_HISTORIES  of each structure, of linear_model: instead of 10^6
//   ROTA_MODEL_BOUND      at least so many preemptions if depth-first; beyond its own bound 10^7 executions
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include <rota/testing/explore.hpp>

namespace rota::model {

/// A number in the environment; `otherwise` if there is none.
inline std::uint64_t asked_for(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0')
    throw std::invalid_argument(std::string(variable) + " is no number: " + text);
  return number;
}

/// All interleavings with so many preemptions.
inline testing::options exhaustive(std::string_view name, unsigned preemptions = 2) {
  return {.name = name, .preemptions = preemptions};
}

/// Uniformly; and in the first memory with loads that see an older value.
inline testing::options at_random(std::string_view name, std::uint64_t runs = 20'000) {
  return {.name = name,
          .search = testing::search_kind::random,
          .max_runs = runs,
          .spurious_wakes = 1,
          .weak_cas_failures = 1,
          .stale_reads = 2};
}
/// The same by priorities: a thread may stay away for long.
inline testing::options by_priority(std::string_view name, std::uint64_t runs = 20'000) {
  testing::options o = at_random(name, runs);
  o.search = testing::search_kind::pct;
  o.depth = 4;
  return o;
}

namespace detail {

/// A quick run over a mutant: one preemption, and few random executions.
inline bool is_brief() { return std::getenv("ROTA_MODEL_BRIEF") != nullptr; }
/// A short run of all models. What it cuts short is explored whole without it.
inline bool is_quick() { return std::getenv("ROTA_MODEL_QUICK") != nullptr; }
/// How many executions, or histories, a run is limited to: of `whole`, the number of a run without limits.
inline std::uint64_t limited(std::uint64_t whole, std::uint64_t quick, std::uint64_t brief) {
  if (is_brief()) return std::min(whole, brief);
  return is_quick() ? std::min(whole, quick) : whole;
}

inline void expect_holds(const testing::report& r, const testing::options& o, bool all) {
  EXPECT_FALSE(r.failed) << o.name << ": " << to_string(r);
  EXPECT_GT(r.runs, 0U) << o.name;
  EXPECT_TRUE(r.complete || !all) << o.name << ": not all interleavings were tried in " << r.runs << " runs";
}

template <class Body>
void search_all(testing::options o, const Body& body) {
  if (is_brief()) o.preemptions = std::min(o.preemptions, 1U);
  o.max_runs = limited(o.max_runs, 10'000, 5'000);
  if (is_brief() || is_quick()) return expect_holds(testing::explore(o, body), o, false);
  const auto bound = static_cast<unsigned>(asked_for("ROTA_MODEL_BOUND", 0));
  expect_holds(testing::explore(o, body), o, true);
  // A replay may be of an exploration that only a larger bound has.
  if (bound <= o.preemptions && std::getenv("ROTA_MODEL_REPLAY") == nullptr) return;
  testing::options further = o;
  const std::string name = std::string(o.name) + " further";
  further.name = name;
  further.preemptions = std::max(bound, o.preemptions);
  further.seconds = static_cast<unsigned>(asked_for("ROTA_MODEL_SECONDS", 0));
  expect_holds(testing::explore(further, body), further, false);
}

/// Returns true if the complete search with store buffers repeats each execution that `o` asks for: an
/// execution without buffers is one in which each store arrives before another thread uses its word. Arrivals
/// cost neither a step nor a preemption (src/testing/arrivals.cpp), so one bound covers both
/// (checker_litmus). Loads of older values need no buffers. A search that ends early is not complete; a
/// replay has its own name.
inline bool buffers_include(const testing::options& o) {
  return o.stale_reads == 0 && !is_brief() && !is_quick() &&
         asked_for("ROTA_MODEL_BOUND", 0) <= o.preemptions && std::getenv("ROTA_MODEL_REPLAY") == nullptr;
}

template <class Body>
void search_at_random(testing::options o, const Body& body) {
  o.max_runs = limited(asked_for("ROTA_MODEL_RUNS", o.max_runs), 2'000, 500);
  o.seconds = static_cast<unsigned>(asked_for("ROTA_MODEL_SECONDS", 0));
  expect_holds(testing::explore(o, body), o, false);
}

}  // namespace detail

/// Explores `body` as `o` says, unless a depth-first search with store buffers includes that. Then, if that
/// was at random, by priorities; then with store buffers.
template <class Body>
void expect_holds(testing::options o, const Body& body) {
  const std::string name(o.name);
  const std::string by_priority = name + " pct";
  const std::string buffered = name + " tso";
  if (o.search == testing::search_kind::dfs) {
    if (!detail::buffers_include(o)) detail::search_all(o, body);
    o.name = buffered;
    o.memory = testing::memory_mode::tso;
    o.stale_reads = 0;
    return detail::search_all(o, body);
  }
  detail::search_at_random(o, body);
  o.search = testing::search_kind::pct;
  o.depth = 3;
  o.stale_reads = 0;
  o.name = by_priority;
  detail::search_at_random(o, body);
  o.name = buffered;
  o.memory = testing::memory_mode::tso;
  detail::search_at_random(o, body);
}

/// All interleavings within the bound, then random ones without.
template <class Body>
void expect_holds_everywhere(std::string_view name, const Body& body, unsigned preemptions = 2) {
  expect_holds(exhaustive(name, preemptions), body);
  const std::string random = std::string(name) + " random";
  expect_holds(at_random(random), body);
}

}  // namespace rota::model
