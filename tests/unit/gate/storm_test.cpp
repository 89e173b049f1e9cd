// Known hazards of such designs: mailboxes that come and go during sends; consumers that share a waker.
#include <rota/gate/mailbox.hpp>
#include <rota/gate/signal_gate.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace rota::gate::storm_test {
namespace {

/// Lets senders find mailboxes, which their owner makes and destroys meanwhile.
class directory {
 public:
  explicit directory(std::size_t size) : entries_(size) {}
  void set(std::size_t at, address<std::uint64_t> to) {
    const std::lock_guard guard(lock_);
    entries_[at] = std::move(to);
  }
  [[nodiscard]] address<std::uint64_t> get(std::size_t at) {
    const std::lock_guard guard(lock_);
    return entries_[at % entries_.size()];
  }

 private:
  std::mutex lock_;
  std::vector<address<std::uint64_t>> entries_;
};

TEST(mailboxes_that_come_and_go, account_for_what_is_sent_to_them) {
  constexpr std::size_t alive = 500;
  constexpr int rounds = 200;  // 100,000 mailboxes
  std::atomic<std::uint64_t> served{0};
  std::atomic<std::uint64_t> sent{0};
  std::atomic<bool> is_over{false};
  directory all(alive);
  {
    executor threads(2);
    std::vector<mailbox<std::uint64_t>> boxes(alive);
    const auto make = [&](std::size_t i) {
      boxes[i] = threads.make_mailbox<std::uint64_t>([&served](std::uint64_t count) {
        // relaxed: only a sum.
        served.fetch_add(count, std::memory_order_relaxed);
      });
      all.set(i, boxes[i].address());
    };
    for (std::size_t i = 0; i < alive; ++i) make(i);
    std::vector<std::jthread> senders;
    for (std::size_t s = 0; s < 3; ++s) {
      senders.emplace_back([&, s] {
        std::uint64_t mine = 0;
        for (std::size_t i = s * 7919; !is_over; i += 31) {
          if (all.get(i).send(1) == send_status::sent) ++mine;
        }
        sent += mine;
      });
    }
    std::uint64_t dropped = 0;
    for (int round = 1; round < rounds; ++round) {
      for (std::size_t i = 0; i < alive; ++i) {
        if (round % 2 == 0) boxes[i].close();
        make(i);
      }
    }
    is_over = true;
    senders.clear();
    threads.drain();
    const executor_stats end = threads.stats();
    dropped = end.dropped;
    EXPECT_EQ(end.served, served);
    EXPECT_EQ(end.served + dropped, sent);
    EXPECT_EQ(end.mailboxes, alive);
  }
}

TEST(a_sender, may_hold_the_last_address_of_a_mailbox_destroyed_while_it_waits) {
  const auto token = std::make_shared<int>(1);
  std::optional<executor> threads(std::in_place, 1U);
  std::optional<mailbox<std::shared_ptr<int>>> box;
  box.emplace(threads->make_mailbox<std::shared_ptr<int>>([](std::shared_ptr<int>&&) {},
                                                          {.capacity = 1, .on_full = overflow::wait}));
  box->pause();
  EXPECT_EQ(box->send(token), send_status::sent);
  std::latch begun(4);
  std::vector<std::jthread> senders;
  for (int s = 0; s < 4; ++s) {
    senders.emplace_back([&begun, &token, to = box->address()]() mutable {
      begun.count_down();
      EXPECT_EQ(to.send(token), send_status::closed);
      to = {};
    });
  }
  begun.wait();
  box.reset();
  senders.clear();
  threads.reset();  // a consumer may destroy items a little later
  EXPECT_EQ(token.use_count(), 1);
}

/// Two consumers share the words of one waker. A lock passes the waker's consumer role between them. Each
/// keeps one queue that it has found, and gives the others back before it serves that one.
TEST(two_consumers, share_one_waker) {
  constexpr unsigned words = 2;
  constexpr unsigned queues = 2 * 64;
  constexpr int each = 2000;
  signal_waker waker;
  std::deque<signal_word> word;
  for (unsigned w = 0; w < words; ++w) word.emplace_back(w);
  struct queue {
    queue(unsigned bit, signal_word& in, signal_waker& by) : gate(bit, in, by) {}
    signal_gate gate;
    std::atomic<int> pushed{0};
    std::atomic<int> inside{0};
    int taken = 0;  // used only by the consumer that serves it
  };
  std::deque<queue> all;
  for (unsigned q = 0; q < queues; ++q) all.emplace_back(q % 64, word[q / 64], waker);
  constexpr int total = static_cast<int>(queues) * each;
  std::atomic<int> taken{0};
  std::mutex role;

  const auto consume = [&] {
    for (;;) {
      unsigned index = 0;
      std::uint64_t bits = 0;
      {
        const std::lock_guard guard(role);
        if (taken == total) return;
        index = waker.wait();
        bits = word[index].take();
        for (std::uint64_t others = bits & (bits - 1); others != 0; others &= others - 1) {
          if (word[index].set(static_cast<unsigned>(std::countr_zero(others)))) waker.mark_active(index);
        }
      }
      if (bits == 0) continue;
      queue& mine = all[index * 64 + static_cast<unsigned>(std::countr_zero(bits))];
      mine.gate.begin();
      EXPECT_EQ(++mine.inside, 1);
      int count = 0;
      do {
        // acquire: pairs with the release of the pushes that begin() has seen.
        const int there = mine.pushed.load(std::memory_order_acquire);
        count += there - mine.taken;
        mine.taken = there;
        --mine.inside;
        // The consumer that begins the next round increments `inside` again.
      } while (mine.gate.finish_or_continue() && ++mine.inside == 1);
      // The consumer that takes the last items wakes the other one, which waits with the role.
      if (taken.fetch_add(count) + count == total) waker.mark_active(0);
    }
  };
  std::vector<std::jthread> threads;
  threads.emplace_back(consume);
  threads.emplace_back(consume);
  for (unsigned p = 0; p < 2; ++p) {
    threads.emplace_back([&all, p] {
      for (int i = 0; i < each; ++i) {
        for (unsigned q = p; q < queues; q += 2) {
          all[q].pushed.fetch_add(1, std::memory_order_release);
          all[q].gate.schedule();
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(taken, total);
  for (const queue& q : all) EXPECT_EQ(q.taken, each);
}

}  // namespace
}  // namespace rota::gate::storm_test
