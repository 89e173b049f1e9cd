// Litmus programs: exactly these outcomes in each of the three memories. The names are those of the
// literature (Alglave, Maranget, Tautschnig, "Herding cats", 2014; Owens, Sarkar, Sewell, "x86-TSO", 2009).
#include "model/litmus.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace rota::litmus {
namespace {

struct program_test {
  const char* name;
  program threads;
  outcomes sequential;
  outcomes tso_too;    // outcomes that store buffers add
  outcomes stale_too;  // outcomes that stale reads add
  ending shows = ending::hidden;
};

void PrintTo(const program_test& t, std::ostream* out) { *out << t.name; }

outcomes all_but(unsigned digits, const outcomes& missing) {
  outcomes all;
  for (unsigned n = 0; n < (1U << digits); ++n) {
    std::string text;
    for (unsigned i = digits; i-- > 0;) text += static_cast<char>('0' + ((n >> i) & 1U));
    if (!missing.contains(text)) all.insert(text);
  }
  return all;
}

std::vector<program_test> programs() {
  return {
      // Message passing: data, flag | flag, data.
      {"MP_release_acquire",
       {{write(x, 1), write(y, 1, rel)}, {read(y, acq), read(x)}},
       all_but(2, {"10"}),
       {},
       {}},
      {"MP_relaxed", {{write(x, 1), write(y, 1)}, {read(y), read(x)}}, all_but(2, {"10"}), {}, {"10"}},
      {"MP_relaxed_store",
       {{write(x, 1), write(y, 1)}, {read(y, acq), read(x)}},
       all_but(2, {"10"}),
       {},
       {"10"}},
      {"MP_relaxed_load",
       {{write(x, 1), write(y, 1, rel)}, {read(y), read(x)}},
       all_but(2, {"10"}),
       {},
       {"10"}},
      {"MP_exchange",
       {{write(x, 1), swap(y, 1, rel)}, {read(y, acq), read(x)}},
       {"000", "001", "011"},
       {},
       {}},

      // Store buffering, the heart of Dekker's and of every parking protocol.
      {"SB_release_acquire",
       {{write(x, 1, rel), read(y, acq)}, {write(y, 1, rel), read(x, acq)}},
       all_but(2, {"00"}),
       {"00"},
       {"00"}},
      {"SB_seq_cst",
       {{write(x, 1, sc), read(y, sc)}, {write(y, 1, sc), read(x, sc)}},
       all_but(2, {"00"}),
       {},
       {}},
      {"SB_one_side_seq_cst",
       {{write(x, 1, sc), read(y, sc)}, {write(y, 1, rel), read(x, acq)}},
       all_but(2, {"00"}),
       {"00"},
       {"00"}},
      // x86 has no weaker load, but C++ has: only stale reads find it.
      {"SB_stores_seq_cst",
       {{write(x, 1, sc), read(y, acq)}, {write(y, 1, sc), read(x, acq)}},
       all_but(2, {"00"}),
       {},
       {"00"}},
      {"SB_barrier_of_two_halves",
       {{write(x, 1), read(y)}, {write(y, 1), barrier(), read(x)}},
       all_but(2, {"00"}),
       {},
       {}},
      {"SB_barrier_before_the_store",
       {{write(x, 1), read(y)}, {barrier(), write(y, 1), read(x)}},
       all_but(2, {"00"}),
       {"00"},
       {"00"}},
      {"SB_exchange",
       {{swap(x, 1, both), read(y, acq)}, {swap(y, 1, both), read(x, acq)}},
       {"0001", "0100", "0101"},
       {},
       {"0000"}},
      // Dekker's with read-modify-writes on both sides: the last value is always seen.
      {"SB_read_modify_write_twice",
       {{swap(x, 1, both), add(y, 0, both)}, {swap(y, 1, both), add(x, 0, both)}},
       {"0001", "0100", "0101"},
       {},
       {}},

      // Load buffering. C++ allows "11" for relaxed operations. Not covered: no load here sees a later store.
      {"LB_not_covered", {{read(x), write(y, 1)}, {read(y), write(x, 1)}}, all_but(2, {"11"}), {}, {}},

      // Independent reads of independent writes.
      {"IRIW_acquire",
       {{write(x, 1, rel)}, {write(y, 1, rel)}, {read(x, acq), read(y, acq)}, {read(y, acq), read(x, acq)}},
       all_but(4, {"1010"}),
       {},
       {"1010"}},
      {"IRIW_seq_cst",
       {{write(x, 1, sc)}, {write(y, 1, sc)}, {read(x, sc), read(y, sc)}, {read(y, sc), read(x, sc)}},
       all_but(4, {"1010"}),
       {},
       {}},

      // Write to read causality: what another has seen.
      {"WRC_release_acquire",
       {{write(x, 1)}, {read(x), write(y, 1, rel)}, {read(y, acq), read(x)}},
       all_but(3, {"110"}),
       {},
       {}},
      {"WRC_relaxed",
       {{write(x, 1)}, {read(x), write(y, 1)}, {read(y), read(x)}},
       all_but(3, {"110"}),
       {},
       {"110"}},
      {"ISA2_release_acquire",
       {{write(x, 1), write(y, 1, rel)}, {read(y, acq), write(z, 1, rel)}, {read(z, acq), read(x)}},
       all_but(3, {"110"}),
       {},
       {}},

      // Coherence: one word has one order, in every memory.
      {"CoRR", {{write(x, 1)}, {read(x), read(x)}}, all_but(2, {"10"}), {}, {}},
      {"CoWR", {{write(x, 1), read(x)}, {write(x, 2)}}, {"1/100", "1/200", "2/200"}, {}, {}, ending::shown},
      {"CoRW", {{read(x), write(x, 1)}, {write(x, 2)}}, {"0/100", "0/200", "2/100"}, {}, {}, ending::shown},
      {"CoWW", {{write(x, 1), write(x, 2)}}, {"/200"}, {}, {}, ending::shown},
      // n4: two threads do not disagree about the order of two stores.
      {"n4", {{write(x, 1), read(x)}, {write(x, 2), read(x)}}, {"12", "11", "22"}, {}, {}},

      // Two words, two stores each. C++ allows "11" at the end if relaxed: not covered by stale reads.
      {"2_2W",
       {{write(x, 1), write(y, 2)}, {write(y, 1), write(x, 2)}},
       {"/120", "/210", "/220"},
       {},
       {},
       ending::shown},
      {"R",
       {{write(x, 1), write(y, 1)}, {write(y, 2), read(x)}},
       {"0/110", "1/110", "1/120"},
       {"0/120"},
       {"0/120"},
       ending::shown},
      {"S",
       {{write(x, 2), write(y, 1, rel)}, {read(y, acq), write(x, 1)}},
       {"0/110", "0/210", "1/110"},
       {},
       {},
       ending::shown},

      // n6: a thread sees its own store before others do, and its store arrives after theirs.
      {"n6",
       {{write(x, 1), read(x), read(y)}, {write(y, 2), write(x, 2)}},
       {"10/220", "12/120", "12/220", "22/220"},
       {"10/120"},
       {"10/120", "20/220"},
       ending::shown},
      // iwp2.3.b: both see their own store first.
      {"iwp2_3_b",
       {{write(x, 1), read(x), read(y)}, {write(y, 1), read(y), read(x)}},
       {"1011", "1110", "1111"},
       {"1010"},
       {"1010"}},

      // Read-modify-writes are atomic, whatever their order.
      {"RMW_adds", {{add(x, 1)}, {add(x, 1)}}, {"01", "10"}, {}, {}},
      {"RMW_against_store", {{add(x, 1)}, {write(x, 2)}}, {"0/200", "2/300"}, {}, {}, ending::shown},
  };
}

class litmus : public ::testing::TestWithParam<program_test> {};

outcomes joined(outcomes a, const outcomes& b) {
  a.insert(b.begin(), b.end());
  return a;
}

void expect_exactly(const finding& f, const outcomes& expected, const char* memory) {
  EXPECT_FALSE(f.report.failed) << to_string(f.report);
  EXPECT_TRUE(f.report.complete);
  EXPECT_EQ(f.seen, expected) << memory;
}

TEST_P(litmus, has_exactly_its_outcomes_in_each_memory) {
  const program_test& t = GetParam();
  using testing::memory_mode;
  expect_exactly(explored(t.threads, memory_mode::sequential, 0, t.shows), t.sequential, "sequential");
  expect_exactly(explored(t.threads, memory_mode::tso, 0, t.shows), joined(t.sequential, t.tso_too), "TSO");
  expect_exactly(
      explored(t.threads, memory_mode::sequential, 4, t.shows), joined(t.sequential, t.stale_too), "stale");
}

// The list above and the textbook machine agree for the first two memories.
TEST_P(litmus, agrees_with_the_textbook) {
  const program_test& t = GetParam();
  EXPECT_EQ(textbook(t.threads, false, t.shows).all(), t.sequential);
  EXPECT_EQ(textbook(t.threads, true, t.shows).all(), joined(t.sequential, t.tso_too));
}

std::string name_of(const ::testing::TestParamInfo<program_test>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(programs, litmus, ::testing::ValuesIn(programs()), name_of);

// --- and random programs

thread_code some_code(std::mt19937& random, std::size_t length) {
  constexpr std::array orders{rlx, rlx, sc};
  thread_code code;
  for (std::size_t i = 0; i < length; ++i) {
    const auto word = static_cast<unsigned>(random() % 2);
    const auto value = static_cast<unsigned>(1 + random() % 3);
    const order o = orders[random() % orders.size()];
    const auto kind = static_cast<unsigned>(random() % 9);
    code.push_back(kind < 4   ? write(word, value, o)
                   : kind < 7 ? read(word, o)
                   : kind < 8 ? swap(word, value, o)
                              : barrier());
  }
  return code;
}

std::string to_string(const program& p) {
  constexpr std::array names{"write", "read", "swap", "add", "barrier"};
  std::string text;
  for (const thread_code& code : p) {
    for (const op& o : code) {
      text += std::string(names[static_cast<std::size_t>(o.what)]) + '(' + "xyz"[o.word] + ' ' +
              std::to_string(o.value) + (o.how == sc ? " sc) " : ") ");
    }
    text += "| ";
  }
  return text;
}

program some_program(std::mt19937& random, int number) {
  if (number % 2 == 0) return {some_code(random, 4), some_code(random, 4)};
  return {some_code(random, 3), some_code(random, 2), some_code(random, 2)};
}

TEST(checker_litmus, random_programs_agree_with_the_textbook) {
  std::mt19937 random(2026);
  std::size_t weaker = 0;
  for (int i = 0; i < 500; ++i) {
    const program p = some_program(random, i);
    const outcomes sequential = textbook(p, false, ending::shown).all();
    const outcomes buffered = textbook(p, true, ending::shown).all();
    EXPECT_EQ(explored(p, testing::memory_mode::sequential, 0, ending::shown).seen, sequential)
        << to_string(p);
    EXPECT_EQ(explored(p, testing::memory_mode::tso, 0, ending::shown).seen, buffered) << to_string(p);
    weaker += buffered.size() > sequential.size() ? 1 : 0;
  }
  EXPECT_GT(weaker, 20U) << "the programs tell the two memories apart";
}

// Because of this exploring.hpp skips searches without store buffers. Bounds cut outcomes in both memories.
TEST(checker_litmus, store_buffers_show_every_sequential_outcome_at_the_same_bound) {
  std::mt19937 random(2027);
  std::size_t cut_off = 0;
  for (int i = 0; i < 500; ++i) {
    const program p = some_program(random, i);
    const std::size_t all = textbook(p, false, ending::shown).all().size();
    for (unsigned bound = 0; bound <= 2; ++bound) {
      const outcomes sequential = explored(p, testing::memory_mode::sequential, 0, ending::shown, bound).seen;
      const outcomes buffered = explored(p, testing::memory_mode::tso, 0, ending::shown, bound).seen;
      EXPECT_EQ(joined(buffered, sequential), buffered) << bound << ": " << to_string(p);
      cut_off += sequential.size() < all ? 1 : 0;
    }
  }
  EXPECT_GT(cut_off, 100U) << "the bounds matter";
}

}  // namespace
}  // namespace rota::litmus
