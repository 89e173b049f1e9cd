// Small trees of constructs (tests/fuzz/composition_tree.hpp) on the model, each in some hundred orders.
#include "fuzz/composition_round.hpp"

#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>

namespace rota::test {
namespace {

std::string bytes_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string made(128, '\0');
  for (char& each : made) each = static_cast<char>(random());
  return made;
}

/// Detached tasks write into the books until their runtime has gone: the books live until the next execution.
task<> runs_once(const compositions::tree& t, std::optional<compositions::books>& b) {
  if (b.has_value())
    testing::check(b->locals == 0 && b->items == 0, "frames or items of the last execution are left");
  b.emplace(t, nullptr);
  static_cast<void>(co_await compositions::guarded(*b));
  b->note_over();
  if (b->fault() != nullptr) testing::fail(b->fault());
}

TEST(compositions, small_trees_of_constructs_end_as_the_oracle_allows) {
  constexpr std::uint64_t trees = 60;
  for (std::uint64_t seed = 1; seed <= trees; ++seed) {
    const auto tree = compositions::drawing(bytes_of(seed), compositions::machine::model).draw(3);
    std::optional<compositions::books> b;
    const auto once = [&tree, &b] { return runs_once(tree, b); };
    const auto r = testing::explore({.name = "compositions", .max_runs = 100, .seed = seed}, once);
    ASSERT_FALSE(r.failed) << "seed " << seed << "\n" << compositions::text_of(tree) << to_string(r);
  }
}

}  // namespace
}  // namespace rota::test
