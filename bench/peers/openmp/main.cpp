// QUESTION  What do the cases of the suite `forkjoin` cost with the tasks of OpenMP, in LLVM's runtime?
// WHY       It needs no library beyond the compiler's, and numeric programs are usually parallelized with it.
// BASELINE  bench/forkjoin/rota.cpp, which says what one operation is. Problems and leaves are the same code.
// READ IT   As there. With one worker a task runs where it is created, and nothing is queued: `_1` is little
//           more than function calls.
#include "support/forkjoin_peer.hpp"

#include <omp.h>

#include <numeric>

namespace peer {

void on_workers(unsigned workers, const std::function<void()>& root) {
  kmp_set_stacksize_s(stack_bytes);
  std::exception_ptr failure;
#pragma omp parallel num_threads(workers)
#pragma omp single
  try {
    root();
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) std::rethrow_exception(failure);
}

std::uint64_t fib(unsigned n) {
  if (n < 2) return n;
  std::uint64_t one = 0;
#pragma omp task shared(one)
  one = fib(n - 1);
  const std::uint64_t other = fib(n - 2);
#pragma omp taskwait
  return one + other;
}

std::uint64_t skynet(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) return first;
  const std::uint64_t share = leaves / forkjoin::skynet_children;
  std::array<std::uint64_t, forkjoin::skynet_children> sums;
  for (std::size_t i = 0; i < sums.size(); ++i) {
#pragma omp task shared(sums)
    sums[i] = skynet(first + i * share, share);
  }
#pragma omp taskwait
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

std::uint64_t nqueens(board queens, unsigned row, unsigned n) {
  if (row == n) return 1;
  std::array<std::uint64_t, 14> solutions{};
  for (unsigned column = 0; column < n; ++column) {
    if (!forkjoin::is_free(queens, row, column)) continue;
    const board next = forkjoin::with_queen(queens, row, column);
#pragma omp task shared(solutions)
    solutions[column] = nqueens(next, row + 1, n);
  }
#pragma omp taskwait
  return std::accumulate(solutions.begin(), solutions.end(), std::uint64_t{0});
}

void multiply(const product& todo) {
  if (todo.side <= forkjoin::leaf_side) {
    forkjoin::multiply_leaf(todo);
    return;
  }
  for (const unsigned inner : {0U, 1U}) {
#pragma omp task shared(todo)
    multiply(todo.part(0, 0, inner));
#pragma omp task shared(todo)
    multiply(todo.part(0, 1, inner));
#pragma omp task shared(todo)
    multiply(todo.part(1, 0, inner));
    multiply(todo.part(1, 1, inner));
#pragma omp taskwait
  }
}

void quicksort(key* first, key* last) {
  if (last - first <= forkjoin::sort_cut_off) {
    std::sort(first, last);
    return;
  }
  key* const middle = forkjoin::partition(first, last);
#pragma omp task
  quicksort(first, middle);
  quicksort(middle, last);
#pragma omp taskwait
}

std::uint64_t uts(std::uint64_t node, unsigned count) {
  if (count == 0) return 1;
  std::vector<std::uint64_t> nodes(count);
  for (unsigned i = 0; i < count; ++i) {
#pragma omp task shared(nodes)
    {
      const std::uint64_t child = forkjoin::child_of(node, i);
      nodes[i] = uts(child, forkjoin::is_leaf(child) ? 0 : forkjoin::node_children);
    }
  }
#pragma omp taskwait
  return std::accumulate(nodes.begin(), nodes.end(), std::uint64_t{1});
}

namespace {

void loop(std::uint64_t items, const forkjoin::loop_body& body) {
#pragma omp taskloop shared(body)
  for (std::uint64_t i = 0; i < items; ++i) body(i);
}

constexpr one_case loops[] = {{"loop", forkjoin::loop_scale, run_loop<loop>}};

}  // namespace
}  // namespace peer

int main(int argc, char** argv) { return peer::run(argc, argv, peer::loops); }
