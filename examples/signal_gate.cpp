// Three queues and one consumer, which sleeps while all are empty. Each queue has a gate that tells the
// consumer that the queue is ready, at the cost of a few atomic operations per message.
#include <rota/gate/signal_gate.hpp>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace {

using rota::gate::signal_gate;
using rota::gate::signal_waker;
using rota::gate::signal_word;

/// A queue of any kind. The gate is a member of it.
class queue {
 public:
  queue(unsigned bit, signal_word& word, signal_waker& waker) : gate(bit, word, waker) {}

  void push(int item) {
    {
      const std::lock_guard guard(lock_);
      items_.push_back(item);
    }
    gate.schedule();  // always after the push
  }
  std::optional<int> pop() {
    const std::lock_guard guard(lock_);
    if (items_.empty()) return std::nullopt;
    const int item = items_.front();
    items_.pop_front();
    return item;
  }

  signal_gate gate;

 private:
  std::mutex lock_;
  std::deque<int> items_;
};

constexpr unsigned queues = 3;
constexpr int items_each = 1000;

}  // namespace

int main() {
  signal_waker waker;
  signal_word word(5);  // bit 5 of the waker, which holds up to 63 such words of 64 queues each
  std::deque<queue> all;
  for (unsigned bit = 0; bit < queues; ++bit) all.emplace_back(bit, word, waker);

  std::vector<std::jthread> producers;
  for (queue& each : all) {
    producers.emplace_back([&each] {
      for (int item = 1; item <= items_each; ++item) each.push(item);
    });
  }

  long long sum = 0;
  for (int left = static_cast<int>(queues) * items_each; left > 0;) {
    const unsigned ready =
        waker.wait();  // sleeps while all words are empty; returns the index of a word that is not, here 5
    if (ready != word.index()) return 1;
    for (std::uint64_t bits = word.take(); bits != 0; bits &= bits - 1) {
      queue& mine = all[static_cast<std::size_t>(std::countr_zero(bits))];
      mine.gate.begin();  // from here on only this thread takes from the queue
      while (const std::optional<int> item = mine.pop()) {
        sum += *item;
        --left;
      }
      mine.gate.finish();  // schedules the queue again if a producer has pushed since it was empty
    }
  }
  std::printf("%lld\n", sum);
  return sum == static_cast<long long>(queues) * items_each * (items_each + 1) / 2 ? 0 : 1;
}
