// Two senders and two receivers on one place, beside receivers that are cancelled at any moment, in rounds of
// a million items with one to four workers. Each item is received once, in the order of its sender. At least
// ten million items without a sanitizer, however short the run.
#include "stress.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/runtime.hpp>

#include <array>
#include <deque>
#include <vector>

namespace {

namespace channel = rota::channel;
using rota::task;

constexpr std::uint64_t senders = 2;
constexpr std::uint64_t items_of_each = stress::measures_memory ? 500'000 : 25'000;
constexpr std::uint64_t least = stress::measures_memory ? 10'000'000 : 0;

struct item {
  std::uint64_t from;
  std::uint64_t number;
};

/// The record of one receiver. It also keeps what the receiver got before it was cancelled.
struct alignas(128) account {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t backwards = 0;
  std::array<std::uint64_t, senders> last{};

  void add(const item& one) {
    ++count;
    sum += one.number;
    if (one.number <= last.at(one.from)) ++backwards;
    last.at(one.from) = one.number;
  }
};

task<void> sends(channel::sender<item> to, std::uint64_t me, std::atomic<std::uint64_t>& violations) {
  for (std::uint64_t i = 1; i <= items_of_each; ++i) {
    const item one{me, i};
    const channel::send_status how = co_await to.send(one);
    if (how != channel::send_status::sent) ++violations;
  }
}

task<void> receives(channel::receiver<item> from, account& mine, stress::watchdog& dog) {
  for (;;) {
    const auto got = co_await from.recv();
    if (!got.has_value()) co_return;
    mine.add(*got);
    if (mine.count % 64 == 0) ++dog.progress;
  }
}

struct totals {
  std::uint64_t items = 0;
  std::uint64_t of_cancelled = 0;
  std::uint64_t cancelled = 0;
};

class round_of {
 public:
  round_of(rota::runtime& on, std::uint64_t seed, stress::watchdog& dog)
      : on_(on), random_(seed), dog_(dog), made_(channel::bounded<item>(1)) {}

  std::uint64_t run(totals& all) {
    for (std::uint64_t me = 0; me < senders; ++me)
      senders_.push_back(on_.spawn(sends(made_.sender, me, wrong_)));
    for (int i = 0; i < 2; ++i) stay_.push_back(begin());
    {
      const auto last = std::move(made_.sender);
    }
    while (!senders_[0].is_done() || !senders_[1].is_done()) come_and_go(all);
    for (auto& each : senders_) each.join();
    for (auto& each : stay_) each.join();
    account sum;
    for (const account& each : accounts_) {
      sum.count += each.count;
      sum.sum += each.sum;
      sum.backwards += each.backwards;
    }
    all.items += sum.count;
    all.of_cancelled += sum.count - accounts_[0].count - accounts_[1].count;
    const std::uint64_t of_numbers = senders * items_of_each * (items_of_each + 1) / 2;
    return wrong_ + sum.backwards + (sum.count == senders * items_of_each && sum.sum == of_numbers ? 0 : 1);
  }

 private:
  rota::join_handle<void> begin() {
    return on_.spawn(receives(made_.receiver, accounts_.emplace_back(), dog_));
  }
  void come_and_go(totals& all) {
    std::array<rota::join_handle<void>, 2> come{begin(), begin()};
    for (std::uint64_t left = random_() % 64; left != 0; --left) std::this_thread::yield();
    for (auto& each : come) each.cancel();
    for (auto& each : come) {
      const auto end = each.wait_for(std::chrono::hours(1));
      if (!end.has_value()) ++wrong_;
      if (end.has_value() && end->is_cancelled()) ++all.cancelled;
    }
  }

  rota::runtime& on_;
  std::mt19937_64 random_;
  stress::watchdog& dog_;
  channel::pair_of<channel::sender<item>, channel::receiver<item>> made_;
  std::atomic<std::uint64_t> wrong_{0};
  std::deque<account> accounts_;
  std::vector<rota::join_handle<void>> senders_;
  std::vector<rota::join_handle<void>> stay_;
};

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  totals all;
  std::uint64_t violations = 0;
  for (std::uint64_t round = o.seed; round == o.seed || !o.is_over() || all.items < least; ++round) {
    rota::runtime rt(stress::options_of_round(round));
    const stress::watchdog::watched here(dog, rt);
    violations += round_of(rt, round, dog).run(all);
    if (violations != 0) break;
  }
  return stress::finish(
      "one_place",
      o,
      {{"items", all.items}, {"of_cancelled", all.of_cancelled}, {"cancelled", all.cancelled}},
      violations);
}
