// QUESTION  What does it cost to split work into children and to wait for them: where the children do nothing
//           (fib, skynet), a little (nqueens), or all of the work (matmul, quicksort), where the amount of
//           work is unknown in advance (uts), and where the library does the splitting (sort, loop)?
// WHY       This is the purpose of work stealing, and the usual comparison of schedulers.
// BASELINE  oneTBB, OpenMP, rayon and Go, with the same problems (bench/peers). The C++ programs share the
//           code that is not about tasks: bench/support/forkjoin_problems.hpp.
// READ IT   ns per operation; the comment of each problem says what one operation is. What two workers need
//           for one is half of what they spend. `_1`: the same with one worker, so the cost of a fork that is
//           not stolen. `.peak`: the peak memory of the process in MiB, including its warm-up and the
//           runtime. Results are checked every time.
#include "support/forkjoin_problems.hpp"
#include "support/peak_memory.hpp"
#include "support/subject.hpp"

#include <rota/inplace_vector.hpp>
#include <rota/parallel.hpp>
#include <rota/spawn.hpp>
#include <rota/when.hpp>

#include <numeric>
#include <string>
#include <vector>

namespace {

using bench::job;
using forkjoin::board;
using forkjoin::key;
using forkjoin::product;
using rota::task;

template <std::size_t N>
using children_up_to = rota::inplace_vector<task<std::uint64_t>, N>;

std::uint64_t total(const auto& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
}

/// One operation: a call of fib(), of which fib(35) makes 29,860,703. There is no cut-off.
task<std::uint64_t> fib(unsigned n) {
  if (n < 2) co_return n;
  const auto [one, other] = co_await rota::when_all(fib(n - 1), fib(n - 2));
  co_return one + other;
}

task<void> solve_fib(unsigned n) { forkjoin::check_fib(n, co_await fib(n)); }

/// One operation: as fib(), but the children are spawned and awaited by their handles. Shows what `fib`
/// saves.
task<std::uint64_t> fib_spawn(unsigned n) {
  if (n < 2) co_return n;
  auto one = rota::spawn(fib_spawn(n - 1));
  auto other = rota::spawn(fib_spawn(n - 2));
  const std::uint64_t first = co_await one;
  const std::uint64_t second = co_await other;
  co_return first + second;
}

task<void> solve_fib_spawn(unsigned n) { forkjoin::check_fib(n, co_await fib_spawn(n)); }

/// One operation: a leaf, which returns its number. Every node above has ten children and returns their sum.
task<std::uint64_t> skynet(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) co_return first;
  children_up_to<forkjoin::skynet_children> children;
  const std::uint64_t share = leaves / forkjoin::skynet_children;
  for (std::uint64_t i = 0; i < forkjoin::skynet_children; ++i) {
    children.push_back(skynet(first + i * share, share));
  }
  const auto sums = co_await rota::when_all(std::move(children));
  co_return total(sums);
}

task<void> solve_skynet(unsigned depth) {
  forkjoin::check_skynet(depth, co_await skynet(0, forkjoin::skynet_leaves[depth]));
}

/// One operation: a queen that is placed on a copy of the board. Each is a child.
task<std::uint64_t> nqueens(board queens, unsigned row, unsigned n) {
  if (row == n) co_return std::uint64_t{1};
  children_up_to<std::tuple_size_v<board>> children;
  for (unsigned column = 0; column < n; ++column) {
    if (!forkjoin::is_free(queens, row, column)) continue;
    children.push_back(nqueens(forkjoin::with_queen(queens, row, column), row + 1, n));
  }
  const auto solutions = co_await rota::when_all(std::move(children));
  co_return total(solutions);
}

task<void> solve_nqueens(unsigned n) {
  const board empty{};
  forkjoin::check_nqueens(n, co_await nqueens(empty, 0, n));
}

/// One operation: the product of two leaves of 32 x 32. The time includes making the matrices and checking
/// the result.
task<void> multiply(product todo) {
  if (todo.side <= forkjoin::leaf_side) {
    forkjoin::multiply_leaf(todo);
    co_return;
  }
  for (const unsigned inner : {0U, 1U}) {
    co_await rota::when_all(multiply(todo.part(0, 0, inner)),
                            multiply(todo.part(0, 1, inner)),
                            multiply(todo.part(1, 0, inner)),
                            multiply(todo.part(1, 1, inner)));
  }
}

task<void> solve_matmul(unsigned cuts) {
  forkjoin::matrices all(cuts);
  co_await multiply(all.whole());
  all.check();
}

/// One operation: a node of the tree. Each is a child and counts the nodes below it.
task<std::uint64_t> uts(std::uint64_t node, unsigned count) {
  if (count == 0) co_return std::uint64_t{1};
  std::vector<task<std::uint64_t>> children;
  children.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t child = forkjoin::child_of(node, i);
    children.push_back(uts(child, forkjoin::is_leaf(child) ? 0 : forkjoin::node_children));
  }
  const std::vector<std::uint64_t> nodes = co_await rota::when_all(std::move(children));
  co_return 1 + total(nodes);
}

task<void> solve_uts(unsigned which) {
  const forkjoin::tree& tree = forkjoin::trees[which];
  forkjoin::check_uts(which, co_await uts(forkjoin::root_of(tree), tree.root_children));
}

/// One operation: a key. Parts of up to 2048 keys are left to std::sort.
task<void> quicksort(key* first, key* last) {
  if (last - first <= forkjoin::sort_cut_off) {
    std::sort(first, last);
    co_return;
  }
  key* const middle = forkjoin::partition(first, last);
  co_await rota::when_all(quicksort(first, middle), quicksort(middle, last));
}

task<void> sort(key* first, key* last) { co_await rota::parallel_sort(first, last); }

template <task<void> (*Sort)(key* first, key* last)>
task<bench::spent> sort_arrays(std::uint64_t keys, bool counts) {
  forkjoin::arrays_of_keys arrays(keys, counts);
  const bench::stretch measured;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::span<key> one = arrays[i];
    co_await Sort(one.data(), one.data() + one.size());
  }
  const bench::spent sum = measured.end();
  arrays.check();
  co_return sum;
}

template <task<void> (*Sort)(key* first, key* last)>
task<bench::spent> measure_sort(job what) {
  co_await sort_arrays<Sort>(what.warm_up, what.counts);
  co_return co_await sort_arrays<Sort>(what.operations, what.counts);
}

/// One operation: an item.
task<void> loop(std::uint64_t items, const forkjoin::loop_body& body, unsigned /*workers*/) {
  co_await rota::parallel_for(std::uint64_t{0}, items, body);
}

/// One operation: as loop(), but split by hand into one child per worker, all of the same size.
task<void> stretch(std::uint64_t first, std::uint64_t last, const forkjoin::loop_body& body) {
  rota::core::call_for(first, last, body);
  co_return;
}
task<void> loop_by_hand(std::uint64_t items, const forkjoin::loop_body& body, unsigned workers) {
  std::vector<task<void>> parts;
  for (std::uint64_t i = 0; i < workers; ++i) {
    parts.push_back(stretch(items * i / workers, items * (i + 1) / workers, body));
  }
  co_await rota::when_all(std::move(parts));
}

template <task<void> (*Loop)(std::uint64_t items, const forkjoin::loop_body& body, unsigned workers)>
task<bench::spent> measure_loop(job what) {
  const forkjoin::loop_body warm_up;
  co_await Loop(what.warm_up, warm_up, what.workers);
  const forkjoin::loop_body body;
  const bench::stretch measured;
  co_await Loop(what.operations, body, what.workers);
  const bench::spent sum = measured.end();
  body.check(what.operations);
  co_return sum;
}

/// Solves problems with as many operations in all as the job says, after those of the warm-up.
template <task<void> (*Solve)(unsigned size), const auto& Operations>
task<bench::spent> measure(job what) {
  for (const unsigned size : forkjoin::pieces(Operations, what.warm_up, what.counts)) co_await Solve(size);
  const std::vector<unsigned> sizes = forkjoin::pieces(Operations, what.operations, what.counts);
  const bench::stretch measured;
  for (const unsigned size : sizes) co_await Solve(size);
  co_return measured.end();
}

/// Peak memory is not an operation, so a job that counts operations does not report it.
template <task<bench::spent> (*Measure)(job)>
void on_worker(const job& what) {
  rota::runtime runtime(bench::options_of(what));
  auto root = runtime.spawn(Measure(what));
  bench::report(what, root.join());
  if (what.counts) return;
  const std::string name = std::string(what.test_case) + ".peak";
  bench::report_value(what, name.c_str(), "MiB", bench::peak_mib());
}

constexpr auto run_fib = on_worker<measure<solve_fib, forkjoin::fib_calls>>;
constexpr auto run_fib_spawn = on_worker<measure<solve_fib_spawn, forkjoin::fib_calls>>;
constexpr auto run_skynet = on_worker<measure<solve_skynet, forkjoin::skynet_leaves>>;
constexpr auto run_nqueens = on_worker<measure<solve_nqueens, forkjoin::queens_boards>>;
constexpr auto run_matmul = on_worker<measure<solve_matmul, forkjoin::leaf_products>>;
constexpr auto run_uts = on_worker<measure<solve_uts, forkjoin::tree_nodes>>;
constexpr auto run_quicksort = on_worker<measure_sort<quicksort>>;
constexpr auto run_sort = on_worker<measure_sort<sort>>;
constexpr auto run_loop = on_worker<measure_loop<loop>>;
constexpr auto run_loop_by_hand = on_worker<measure_loop<loop_by_hand>>;

constexpr bench::one_case of(const char* name, forkjoin::scale scale, void (*run)(const job&)) {
  return {name, "ns", scale.full, scale.quick, run};
}

/// Sizes, full and quick: fib(35) and fib(27); 10^8 and 10^6 leaves; 14 and 11 queens; matrices of 2048 x
/// 2048 and 512 x 512.
constexpr bench::one_case cases[] = {
    of("fib", forkjoin::fib_scale, run_fib),
    of("fib_1", forkjoin::fib_scale, run_fib),
    of("fib_spawn", forkjoin::fib_scale, run_fib_spawn),
    of("fib_spawn_1", forkjoin::fib_scale, run_fib_spawn),
    of("skynet", forkjoin::skynet_scale, run_skynet),
    of("skynet_1", forkjoin::skynet_scale, run_skynet),
    of("nqueens", forkjoin::nqueens_scale, run_nqueens),
    of("nqueens_1", forkjoin::nqueens_scale, run_nqueens),
    of("matmul", forkjoin::matmul_scale, run_matmul),
    of("matmul_1", forkjoin::matmul_scale, run_matmul),
    of("quicksort", forkjoin::quicksort_scale, run_quicksort),
    of("uts", forkjoin::uts_scale, run_uts),
    of("sort", forkjoin::sort_scale, run_sort),
    of("loop", forkjoin::loop_scale, run_loop),
    of("loop_by_hand", forkjoin::loop_scale, run_loop_by_hand),
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, cases); }
