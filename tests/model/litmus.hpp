// Small programs of loads and stores: the outcomes that the checker finds, and those of a textbook machine.
#pragma once

#include <rota/testing/explore.hpp>
#include "base/barrier.hpp"

#include <rota/detail/base.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <vector>

namespace rota::litmus {

using base::order;

constexpr order rlx =
    order::relaxed;  // relaxed. The programs say why they are that weak, or that they are wrong.
constexpr order acq = order::acquire;   // acquire. As rlx.
constexpr order rel = order::release;   // release. As rlx.
constexpr order both = order::acq_rel;  // acq_rel. As rlx.
constexpr order sc = order::seq_cst;    // seq_cst. As rlx.

enum class action : unsigned char { store, load, exchange, add, barrier };

struct op {
  action what;
  unsigned word;
  unsigned value;
  order how;
};

constexpr unsigned x = 0;
constexpr unsigned y = 1;
constexpr unsigned z = 2;
constexpr std::size_t words = 3;

constexpr op write(unsigned word, unsigned value, order o = rlx) { return {action::store, word, value, o}; }
constexpr op read(unsigned word, order o = rlx) { return {action::load, word, 0, o}; }
constexpr op swap(unsigned word, unsigned value, order o = rlx) { return {action::exchange, word, value, o}; }
constexpr op add(unsigned word, unsigned value, order o = rlx) { return {action::add, word, value, o}; }

/// The heavy half of the barrier; the light one is nothing.
constexpr op barrier() { return {action::barrier, x, 0, rlx}; }

using thread_code = std::vector<op>;
using program = std::vector<thread_code>;

/// What the threads have read, thread by thread; with `shown`, a slash and the words' values at the end.
using outcomes = std::set<std::string>;

enum class ending : unsigned char { hidden, shown };

inline std::string outcome_of(const std::vector<std::vector<unsigned>>& seen,
                              const std::array<unsigned, words>& last,
                              ending e) {
  std::string text;
  for (const auto& one : seen) {
    for (const unsigned value : one) text += static_cast<char>('0' + value);
  }
  if (e == ending::hidden) return text;
  text += '/';
  for (const unsigned value : last) text += static_cast<char>('0' + value);
  return text;
}

// --- what the checker finds

struct bench {
  explicit bench(std::size_t threads) : seen(threads) {}
  std::array<base::atomic<unsigned>, words> memory;
  std::vector<std::vector<unsigned>> seen;

  void perform(std::size_t thread, const op& o) {
    base::atomic<unsigned>& word = memory[o.word];
    switch (o.what) {
      case action::store: word.store(o.value, o.how); break;
      case action::load: seen[thread].push_back(word.load(o.how)); break;
      case action::exchange: seen[thread].push_back(word.exchange(o.value, o.how)); break;
      case action::add: seen[thread].push_back(word.fetch_add(o.value, o.how)); break;
      case action::barrier: base::barrier_heavy(); break;
    }
  }
};

struct finding {
  outcomes seen;
  testing::report report;
};

inline finding explored(
    const program& p, testing::memory_mode mode, unsigned stale_reads, ending e, unsigned preemptions = 100) {
  finding found;
  const testing::options o{
      .preemptions = preemptions, .memory = mode, .stale_reads = stale_reads, .replay_every = 0};
  found.report = testing::explore(o, [&](testing::execution& run) {
    auto& b = run.make<bench>(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) {
      run.thread([&b, &p, i] {
        for (const op& one : p[i]) b.perform(i, one);
      });
    }
    run.finally([&b, &found, e] {
      std::array<unsigned, words> last{};
      for (std::size_t i = 0; i < words; ++i) last[i] = b.memory[i].load(rlx);
      found.seen.insert(outcome_of(b.seen, last, e));
    });
  });
  return found;
}

// --- a textbook machine: each arrival of a store is a step, and every order of steps is tried

class textbook {
 public:
  textbook(const program& p, bool has_buffers, ending e)
      : program_(p), has_buffers_(has_buffers), ending_(e) {}

  [[nodiscard]] outcomes all() {
    visit({std::vector<std::size_t>(program_.size()),
           std::vector<std::deque<op>>(program_.size()),
           std::vector<std::vector<unsigned>>(program_.size()),
           {}});
    return found_;
  }

 private:
  struct state {
    std::vector<std::size_t> next;
    std::vector<std::deque<op>> buffer;
    std::vector<std::vector<unsigned>> seen;
    std::array<unsigned, words> memory;
  };

  static std::string key(const state& s) {
    std::string text = outcome_of(s.seen, s.memory, ending::shown);
    for (const std::size_t n : s.next) text += '.' + std::to_string(n);
    for (const auto& buffer : s.buffer) {
      text += '|';
      for (const op& o : buffer) text += std::to_string(o.word) + '=' + std::to_string(o.value) + ' ';
    }
    return text;
  }

  static unsigned value_for(const state& s, std::size_t thread, unsigned word) {
    for (auto i = s.buffer[thread].rbegin(); i != s.buffer[thread].rend(); ++i) {
      if (i->word == word) return i->value;
    }
    return s.memory[word];
  }

  static bool any_buffered(const state& s) {
    for (const auto& buffer : s.buffer) {
      if (!buffer.empty()) return true;
    }
    return false;
  }

  void visit(const state& s) {
    if (!visited_.insert(key(s)).second) return;
    bool over = true;
    for (std::size_t i = 0; i < program_.size(); ++i) {
      if (!s.buffer[i].empty()) {
        over = false;
        arrive(s, i);
      }
      if (s.next[i] == program_[i].size()) continue;
      over = false;
      step(s, i);
    }
    if (over) found_.insert(outcome_of(s.seen, s.memory, ending_));
  }

  void arrive(state s, std::size_t thread) {
    const op first = s.buffer[thread].front();
    s.buffer[thread].pop_front();
    s.memory[first.word] = first.value;
    visit(s);
  }

  void step(state s, std::size_t thread) {
    const op o = program_[thread][s.next[thread]++];
    const bool waits = o.what != action::load && (o.what != action::store || o.how == sc);
    if (waits && !s.buffer[thread].empty()) return;            // until its stores have arrived
    if (o.what == action::barrier && any_buffered(s)) return;  // until all have
    const unsigned before = value_for(s, thread, o.word);
    switch (o.what) {
      case action::store:
        if (has_buffers_ && o.how != sc) {
          s.buffer[thread].push_back(o);
        } else {
          s.memory[o.word] = o.value;
        }
        break;
      case action::load: s.seen[thread].push_back(before); break;
      case action::exchange:
        s.seen[thread].push_back(before);
        s.memory[o.word] = o.value;
        break;
      case action::add:
        s.seen[thread].push_back(before);
        s.memory[o.word] = before + o.value;
        break;
      case action::barrier: break;
    }
    visit(s);
  }

  const program& program_;
  const bool has_buffers_;
  const ending ending_;
  std::set<std::string> visited_;
  outcomes found_;
};

}  // namespace rota::litmus
