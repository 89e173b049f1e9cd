// The problems of the suite `forkjoin`, without tasks. rota's program and the C++ peers include it, so that
// all of them do the same work with the same checks. bench/forkjoin/rota.cpp says what one operation is.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace forkjoin {

/// Throws if a problem was solved wrongly.
inline void expect(bool is_right, const char* what) {
  if (!is_right) throw std::runtime_error(std::string("a wrong result of ") + what);
}

/// The operations of a problem of size 0, 1, 2 ... One of the sizes has one operation.
using operations_by_size = std::span<const std::uint64_t>;

/// The operations of a full and of a quick run.
struct scale {
  std::uint64_t full;
  std::uint64_t quick;
};

/// A run that counts operations needs small problems: then twice as many of them cost twice as much.
constexpr std::uint64_t largest_counted = 2'000;

/// Returns sizes of problems that have exactly that many operations in all, the largest that fits first.
inline std::vector<unsigned> pieces(operations_by_size table, std::uint64_t operations, bool counts) {
  std::vector<unsigned> sizes;
  while (operations > 0) {
    const std::uint64_t limit = counts ? std::min(operations, largest_counted) : operations;
    const auto above = std::upper_bound(table.begin(), table.end(), limit);
    sizes.push_back(static_cast<unsigned>(above - table.begin() - 1));
    operations -= table[sizes.back()];
  }
  return sizes;
}

// --- fib(n), size n

constexpr auto fib_values = [] {
  std::array<std::uint64_t, 41> values{0, 1};
  for (std::size_t n = 2; n < values.size(); ++n) values[n] = values[n - 1] + values[n - 2];
  return values;
}();

constexpr auto fib_calls = [] {
  std::array<std::uint64_t, 41> calls{1, 1};
  for (std::size_t n = 2; n < calls.size(); ++n) calls[n] = 1 + calls[n - 1] + calls[n - 2];
  return calls;
}();
constexpr scale fib_scale{fib_calls[35], fib_calls[27]};

inline void check_fib(unsigned n, std::uint64_t result) { expect(result == fib_values[n], "fib"); }

// --- skynet, size: the depth

constexpr std::uint64_t skynet_children = 10;

constexpr auto skynet_leaves = [] {
  std::array<std::uint64_t, 9> leaves{1};
  for (std::size_t depth = 1; depth < leaves.size(); ++depth) {
    leaves[depth] = leaves[depth - 1] * skynet_children;
  }
  return leaves;
}();
constexpr scale skynet_scale{skynet_leaves[8], skynet_leaves[6]};

inline void check_skynet(unsigned depth, std::uint64_t sum) {
  const std::uint64_t leaves = skynet_leaves[depth];
  expect(sum == leaves * (leaves - 1) / 2, "skynet");
}

// --- nqueens, size: the number of queens

/// The column of the queen in each row.
using board = std::array<char, 14>;

/// Returns true if no queen of the rows above attacks this place.
constexpr bool is_free(const board& queens, unsigned row, unsigned column) {
  for (unsigned above = 0; above < row; ++above) {
    const int aside = queens[above] - static_cast<int>(column);
    const int down = static_cast<int>(row - above);
    if (aside == 0 || aside == down || aside == -down) return false;
  }
  return true;
}

constexpr board with_queen(board queens, unsigned row, unsigned column) {
  queens[row] = static_cast<char>(column);
  return queens;
}

/// Counts the boards that a search places below this one, including all solutions.
constexpr std::uint64_t count_boards(const board& queens, unsigned row, unsigned n) {
  std::uint64_t count = 0;
  for (unsigned column = 0; row < n && column < n; ++column) {
    if (is_free(queens, row, column)) count += 1 + count_boards(with_queen(queens, row, column), row + 1, n);
  }
  return count;
}

/// Computed by count_boards().
constexpr std::array<std::uint64_t, 15> queens_boards{
    0, 1, 2, 5, 16, 53, 152, 551, 2'056, 8'393, 35'538, 166'925, 856'188, 4'674'889, 27'358'552};
static_assert(count_boards({}, 0, 4) == queens_boards[4] && count_boards({}, 0, 7) == queens_boards[7]);
constexpr scale nqueens_scale{queens_boards[14], queens_boards[11]};

constexpr std::array<std::uint64_t, 15> queens_solutions{
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2'680, 14'200, 73'712, 365'596};

inline void check_nqueens(unsigned n, std::uint64_t solutions) {
  expect(solutions == queens_solutions[n], "nqueens");
}

// --- matmul, size: how often the matrices are halved before they are leaves

constexpr std::size_t leaf_side = 32;

constexpr auto leaf_products = [] {
  std::array<std::uint64_t, 8> leaves{1};
  for (std::size_t cuts = 1; cuts < leaves.size(); ++cuts) leaves[cuts] = leaves[cuts - 1] * 8;
  return leaves;
}();
constexpr scale matmul_scale{leaf_products[6], leaf_products[4]};

/// A square part of a matrix in row-major order.
struct square {
  std::int32_t* at;
  std::size_t stride;

  [[nodiscard]] square quarter(std::size_t half, unsigned row, unsigned column) const {
    return {at + row * half * stride + column * half, stride};
  }
};

/// The task c += a * b.
struct product {
  square a;
  square b;
  square c;
  std::size_t side;

  /// Returns the product of the quarters a[row][inner] and b[inner][column], to be added to c[row][column].
  [[nodiscard]] product part(unsigned row, unsigned column, unsigned inner) const {
    const std::size_t half = side / 2;
    return {a.quarter(half, row, inner), b.quarter(half, inner, column), c.quarter(half, row, column), half};
  }
};

/// Not inlined: its machine code must not depend on the surrounding code, such as a coroutine.
[[gnu::noinline]] inline void multiply_leaf(const product todo) {
  for (std::size_t i = 0; i < todo.side; ++i) {
    for (std::size_t k = 0; k < todo.side; ++k) {
      const std::int32_t factor = todo.a.at[i * todo.a.stride + k];
      const std::int32_t* const from = todo.b.at + k * todo.b.stride;
      std::int32_t* const to = todo.c.at + i * todo.c.stride;
      for (std::size_t j = 0; j < todo.side; ++j) to[j] += factor * from[j];
    }
  }
}

/// Two matrices of ones, and memory for their product.
class matrices {
 public:
  explicit matrices(unsigned cuts)
      : side_(leaf_side << cuts), a_(side_ * side_, 1), b_(side_ * side_, 1), c_(side_ * side_, 0) {}

  [[nodiscard]] product whole() {
    return {{a_.data(), side_}, {b_.data(), side_}, {c_.data(), side_}, side_};
  }

  void check() const {
    const auto each = static_cast<std::int32_t>(side_);
    expect(std::all_of(c_.begin(), c_.end(), [=](std::int32_t one) { return one == each; }), "matmul");
  }

 private:
  std::size_t side_;
  std::vector<std::int32_t> a_;
  std::vector<std::int32_t> b_;
  std::vector<std::int32_t> c_;
};

// --- hashes

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

/// Returns the number at a position of the splitmix64 sequence of a seed.
constexpr std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t x = seed + (position + 1) * golden;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111eb;
  return x ^ (x >> 31U);
}

// --- quicksort

using key = std::uint64_t;
constexpr std::ptrdiff_t sort_cut_off = 2048;
constexpr scale quicksort_scale{10'000'000, 1'000'000};
constexpr std::uint64_t keys_seed = 42;
constexpr std::uint64_t counted_keys = 5'000;

/// Arrays to sort, one after the other: one of all keys or, for a run that counts operations, many short and
/// equal ones.
class arrays_of_keys {
 public:
  arrays_of_keys(std::uint64_t keys, bool counts) : length_(counts ? counted_keys : keys), keys_(keys) {
    for (std::uint64_t i = 0; i < keys; ++i) keys_[i] = splitmix64(keys_seed, i % length_);
  }

  [[nodiscard]] std::size_t size() const { return (keys_.size() + length_ - 1) / length_; }
  [[nodiscard]] std::span<key> operator[](std::size_t i) {
    const std::size_t begin = i * length_;
    return std::span(keys_).subspan(begin, std::min(length_, keys_.size() - begin));
  }

  void check() {
    for (std::size_t i = 0; i < size(); ++i)
      expect(std::is_sorted((*this)[i].begin(), (*this)[i].end()), "quicksort");
  }

 private:
  std::size_t length_;
  std::vector<key> keys_;
};

/// Hoare's partition around the median of three. Makes two parts that are not empty: up to the pointer, and
/// from it on.
inline key* partition(key* first, key* last) {
  const key a = *first;
  const key b = first[(last - first) / 2];
  const key c = last[-1];
  const key pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
  for (key *left = first, *right = last - 1;; ++left, --right) {
    while (*left < pivot) ++left;
    while (*right > pivot) --right;
    if (left >= right) return right + 1;
    std::swap(*left, *right);
  }
}

// --- sort

constexpr scale sort_scale{100'000'000, 5'000'000};

// --- loop

constexpr scale loop_scale{1'000'000'000, 100'000'000};

/// One item: a hash, and a comparison that one of 2^24 items passes. Memory is written only for those.
class loop_body {
 public:
  void operator()(std::uint64_t i) const {
    if (splitmix64(keys_seed, i) < (std::uint64_t{1} << 40U)) found_->fetch_add(1, std::memory_order_relaxed);
  }
  /// Checks the number of items that passed. It is known for the first 10^8 and the first 10^9.
  void check(std::uint64_t items) const {
    const std::uint64_t found = found_->load();
    if (items == loop_scale.quick) expect(found == 1, "loop");
    if (items == loop_scale.full) expect(found == 60, "loop");
  }

 private:
  std::shared_ptr<std::atomic<std::uint64_t>> found_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

// --- uts, size: which tree

struct tree {
  std::uint64_t seed;
  unsigned root_children;
};

/// The deepest node of the last tree is 1995 below the root; of the third one 905.
constexpr std::array<tree, 4> trees{{{0, 0}, {643, 39}, {10, 200}, {27, 2000}}};
constexpr std::array<std::uint64_t, 4> tree_nodes{1, 1'000, 344'169, 5'047'965};

/// A node is the hash of its parent and its child index. It has four children with a probability of 0.2499,
/// else none.
constexpr std::uint64_t root_of(const tree& which) { return splitmix64(which.seed, 0); }
constexpr std::uint64_t child_of(std::uint64_t node, unsigned which) { return splitmix64(node, which); }
constexpr unsigned node_children = 4;
constexpr bool is_leaf(std::uint64_t node) { return node >= 4'609'841'344'020'017'152; }  // 0.2499 * 2^64
constexpr scale uts_scale{tree_nodes[3], tree_nodes[2]};

inline void check_uts(unsigned which, std::uint64_t nodes) { expect(nodes == tree_nodes[which], "uts"); }

}  // namespace forkjoin
