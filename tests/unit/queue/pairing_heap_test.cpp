#include "queue/pairing_heap.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace rota::queue::pairing_heap_test {
namespace {

struct node {
  int key = 0;
  std::size_t number = 0;
  bool is_inside = false;
  node* next_ = nullptr;
  node* prev_ = nullptr;
  node* child_ = nullptr;
};
struct by_key {
  bool operator()(const node& a, const node& b) const noexcept {
    return a.key != b.key ? a.key < b.key : a.number < b.number;
  }
};
using heap = pairing_heap<node, by_key>;

std::vector<node> make_nodes(std::size_t count) {
  std::vector<node> nodes(count);
  for (std::size_t i = 0; i < count; ++i) nodes[i].number = i;
  return nodes;
}

TEST(PairingHeap, top_is_null_when_it_is_empty) {
  heap h;
  EXPECT_EQ(h.top(), nullptr);
  node one;
  h.insert(one);
  EXPECT_EQ(h.top(), &one);
  h.remove(one);
  EXPECT_EQ(h.top(), nullptr);
  h.insert(one);
  EXPECT_EQ(h.top(), &one) << "a node that was taken out can be put in again";
}

TEST(PairingHeap, sorts) {
  std::vector<node> nodes = make_nodes(1000);
  std::mt19937 random(1);
  heap h;
  for (node& each : nodes) {
    each.key = static_cast<int>(random() % 100);
    h.insert(each);
  }
  int last = -1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    node* const first = h.top();
    ASSERT_NE(first, nullptr);
    EXPECT_GE(first->key, last);
    last = first->key;
    h.remove(*first);
  }
  EXPECT_EQ(h.top(), nullptr);
}

/// Against an ordered set: random inserts, and removals of any node.
TEST(PairingHeap, top_is_the_first_of_those_that_are_inside) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::vector<node> nodes = make_nodes(64);
    std::mt19937 random(seed);
    std::set<std::pair<int, std::size_t>> expected;
    heap h;
    for (int step = 0; step < 500; ++step) {
      node& chosen = nodes[random() % nodes.size()];
      if (std::exchange(chosen.is_inside, !chosen.is_inside)) {
        expected.erase({chosen.key, chosen.number});
        h.remove(chosen);
      } else {
        chosen.key = static_cast<int>(random() % 8);
        expected.insert({chosen.key, chosen.number});
        h.insert(chosen);
      }
      const node* const top = h.top();
      ASSERT_EQ(top == nullptr, expected.empty());
      if (top != nullptr) {
        ASSERT_EQ(top->number, expected.begin()->second) << "seed " << seed << ", step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace rota::queue::pairing_heap_test
