// A worker task that serves two queues, reports at intervals, and ends on request: a loop around a select.
// Also selects over lists, in a task and in a thread.
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace channel = rota::channel;

struct totals {
  int orders = 0;
  int letters = 0;
  int reports = 0;
};

rota::task<totals> serve(channel::unbounded_receiver<int> orders,
                         channel::unbounded_receiver<std::string> letters,
                         rota::sync::event& stop) {
  totals so_far;
  rota::interval every(1ms, rota::missed_tick::skip);
  bool has_orders = true;
  for (;;) {
    auto first = co_await channel::select(
        channel::when(has_orders, orders.recv()), letters.recv(), every.tick(), stop.wait());
    switch (first.index()) {
      case 0:
        has_orders = first.get<0>().has_value();  // empty: the last sender of orders is gone
        so_far.orders += has_orders ? 1 : 0;
        break;
      case 1: so_far.letters += first.get<1>().has_value() ? 1 : 0; break;
      case 2: ++so_far.reports; break;
      default: co_return so_far;
    }
  }
}

rota::task<totals> run() {
  auto orders = channel::unbounded<int>();
  auto letters = channel::unbounded<std::string>();
  rota::sync::event stop;
  auto served = rota::spawn(serve(orders.receiver, letters.receiver, stop));
  for (int i = 0; i < 100; ++i) {
    if (orders.sender.try_send(i) != channel::send_status::sent) break;
    if (letters.sender.try_send("letter") != channel::send_status::sent) break;
    co_await rota::yield();
  }
  {
    const auto gone = std::move(orders.sender);
  }
  while (orders.receiver.size() != 0) co_await rota::sleep_for(1ms);
  // Takes the remaining letters with a handler, without waiting.
  int left = 0;
  while (channel::try_select(channel::on(letters.receiver.recv(), [&](const auto&) { ++left; }))) {
  }
  stop.set();
  totals got = co_await served;
  got.letters += left;
  co_return got;
}

rota::task<int> answer_after(std::chrono::milliseconds span, int answer) {
  co_await rota::sleep_for(span);
  co_return answer;
}

/// A select over a list: returns the answers of `count` tasks, the earliest first.
rota::task<std::vector<int>> answers_of(int count) {
  std::vector<rota::join_handle<int>> asked;
  for (int i = 0; i < count; ++i) asked.push_back(rota::spawn(answer_after((count - i) * 1ms, i)));
  std::vector<int> answers;
  while (!asked.empty()) {
    auto first = co_await channel::select(asked);
    answers.push_back(first.get());
    asked.erase(asked.begin() + static_cast<std::ptrdiff_t>(first.index()));
  }
  co_return answers;
}

/// A blocking select over a list, in a thread: returns the sum of all values, until the last channel ends.
int sum_of(std::vector<channel::unbounded_receiver<int>> all) {
  int sum = 0;
  while (!all.empty()) {
    auto first = channel::blocking_select(all);
    if (first.get().has_value()) {
      sum += *first.get();
    } else {
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(first.index()));
    }
  }
  return sum;
}

int sum_of_numbers_in_channels(int count) {
  std::vector<channel::unbounded_receiver<int>> all;
  for (int i = 0; i < count; ++i) {
    auto made = channel::unbounded<int>();
    if (made.sender.try_send(i) == channel::send_status::sent) all.push_back(std::move(made.receiver));
  }
  return sum_of(std::move(all));
}

}  // namespace

int main() {
  const totals got = rota::run(run());
  const std::vector<int> answers = rota::run(answers_of(5));
  const int sum = sum_of_numbers_in_channels(5);
  std::printf("%d orders, %d letters, %zu answers, sum %d\n", got.orders, got.letters, answers.size(), sum);
  return got.orders == 100 && got.letters == 100 && answers.size() == 5 && sum == 10 ? 0 : 1;
}
