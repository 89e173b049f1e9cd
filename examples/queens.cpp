// A search that forks at every node: in how many ways can n queens stand on an n x n board without attacking
// each other?
#include <rota/inplace_vector.hpp>
#include <rota/runtime.hpp>
#include <rota/when.hpp>

#include <cstdio>
#include <utility>

namespace {

constexpr unsigned most_columns = 12;

/// The taken columns and diagonals, as bits, as seen from the next row.
struct board {
  unsigned columns = 0;
  unsigned down = 0;
  unsigned up = 0;
};

rota::task<unsigned> solutions(board queens, unsigned row, unsigned size) {
  if (row == size) co_return 1U;
  // One child for each free column. The list is a part of this frame. No child starts before the co_await.
  rota::inplace_vector<rota::task<unsigned>, most_columns> children;
  for (unsigned column = 0; column < size; ++column) {
    const unsigned here = 1U << column;
    if (((queens.columns | queens.down | queens.up) & here) != 0) continue;
    const board next{queens.columns | here, (queens.down | here) << 1U, (queens.up | here) >> 1U};
    children.push_back(solutions(next, row + 1, size));
  }
  // A child that no other worker steals runs on this worker, at the cost of a function call.
  const auto found = co_await rota::when_all(std::move(children));
  unsigned total = 0;
  for (const unsigned each : found) total += each;
  co_return total;
}

}  // namespace

int main() {
  const unsigned found = rota::run(solutions({}, 0, most_columns));
  std::printf("%u queens: %u ways\n", most_columns, found);
  return found == 14'200 ? 0 : 1;
}
