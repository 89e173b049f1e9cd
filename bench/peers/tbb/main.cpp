// QUESTION  What do the cases of the suites `forkjoin` and `pool` (pool.cpp) cost with oneTBB?
// WHY       It is the best known library of this kind in C++.
// BASELINE  bench/forkjoin/rota.cpp, which says what one operation is. Problems and leaves are the same code.
// READ IT   As there. Each child but the last runs in a task_group, and the last one is called directly, as
//           the manual recommends. A wait runs other tasks on the stack of the waiter.
#include "pool.hpp"
#include "support/forkjoin_peer.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <execution>
#include <numeric>

namespace peer {

void on_workers(unsigned workers, const std::function<void()>& root) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
  const tbb::global_control stacks(tbb::global_control::thread_stack_size, stack_bytes);
  tbb::task_arena arena(static_cast<int>(workers));
  arena.execute([&] { root(); });
}

std::uint64_t fib(unsigned n) {
  if (n < 2) return n;
  std::uint64_t one = 0;
  tbb::task_group children;
  children.run([&] { one = fib(n - 1); });
  const std::uint64_t other = fib(n - 2);
  children.wait();
  return one + other;
}

std::uint64_t skynet(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) return first;
  const std::uint64_t share = leaves / forkjoin::skynet_children;
  std::array<std::uint64_t, forkjoin::skynet_children> sums;
  tbb::task_group children;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    children.run([&sums, i, first, share] { sums[i] = skynet(first + i * share, share); });
  }
  children.wait();
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

std::uint64_t nqueens(board queens, unsigned row, unsigned n) {
  if (row == n) return 1;
  std::array<std::uint64_t, 14> solutions{};
  tbb::task_group children;
  for (unsigned column = 0; column < n; ++column) {
    if (!forkjoin::is_free(queens, row, column)) continue;
    const board next = forkjoin::with_queen(queens, row, column);
    children.run([&solutions, column, next, row, n] { solutions[column] = nqueens(next, row + 1, n); });
  }
  children.wait();
  return std::accumulate(solutions.begin(), solutions.end(), std::uint64_t{0});
}

void multiply(const product& todo) {
  if (todo.side <= forkjoin::leaf_side) {
    forkjoin::multiply_leaf(todo);
    return;
  }
  for (const unsigned inner : {0U, 1U}) {
    tbb::task_group children;
    children.run([&] { multiply(todo.part(0, 0, inner)); });
    children.run([&] { multiply(todo.part(0, 1, inner)); });
    children.run([&] { multiply(todo.part(1, 0, inner)); });
    multiply(todo.part(1, 1, inner));
    children.wait();
  }
}

void quicksort(key* first, key* last) {
  if (last - first <= forkjoin::sort_cut_off) {
    std::sort(first, last);
    return;
  }
  key* const middle = forkjoin::partition(first, last);
  tbb::task_group children;
  children.run([=] { quicksort(first, middle); });
  quicksort(middle, last);
  children.wait();
}

std::uint64_t uts(std::uint64_t node, unsigned count) {
  if (count == 0) return 1;
  std::vector<std::uint64_t> nodes(count);
  tbb::task_group children;
  for (unsigned i = 0; i < count; ++i) {
    children.run([&nodes, i, node] {
      const std::uint64_t child = forkjoin::child_of(node, i);
      nodes[i] = uts(child, forkjoin::is_leaf(child) ? 0 : forkjoin::node_children);
    });
  }
  children.wait();
  return std::accumulate(nodes.begin(), nodes.end(), std::uint64_t{1});
}

namespace {

void loop(std::uint64_t items, const forkjoin::loop_body& body) {
  tbb::parallel_for(std::uint64_t{0}, items, body);
}

/// The parallel sort of the C++ library, which oneTBB splits.
void sort(key* first, key* last) { std::sort(std::execution::par, first, last); }

constexpr one_case loops[] = {
    {"loop", forkjoin::loop_scale, run_loop<loop>},
    {"sort", forkjoin::sort_scale, run_sort<sort>},
};

}  // namespace
}  // namespace peer

int main(int argc, char** argv) {
  std::vector<peer::one_case> more(std::begin(peer::loops), std::end(peer::loops));
  more.insert(more.end(), peer::pool_cases.begin(), peer::pool_cases.end());
  return peer::run(argc, argv, more);
}
