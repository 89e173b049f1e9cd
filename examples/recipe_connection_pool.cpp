// Recipe: many tasks share a few connections. The free connections are in a channel. A task that needs one
// waits in line, with or without a time limit. A cancelled wait takes no connection.
#include <rota/channel/bounded.hpp>
#include <rota/rota.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// Stands for anything that is expensive to open.
struct connection {
  explicit connection(int which) : number(which) {}
  int number;
  int served = 0;
};

class connection_pool {
 public:
  using link = std::unique_ptr<connection>;

  /// Gives the connection back when it is destroyed. The channel has a slot for every connection, so
  /// try_send() never fails.
  class lease {
   public:
    lease(connection_pool& from, link mine) noexcept : from_(&from), mine_(std::move(mine)) {}
    lease(lease&&) noexcept = default;
    lease& operator=(lease&&) = delete;
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease() {
      if (mine_ != nullptr) static_cast<void>(from_->back_.try_send(std::move(mine_)));
    }
    connection* operator->() const noexcept { return mine_.get(); }

   private:
    connection_pool* from_;
    link mine_;
  };

  explicit connection_pool(int size)
      : connection_pool(rota::channel::bounded<link>(static_cast<unsigned>(size))) {
    for (int i = 0; i < size; ++i) {
      static_cast<void>(back_.try_send(std::make_unique<connection>(i)));
    }
  }

  /// Returns nullopt if no connection has become free in time.
  rota::task<std::optional<lease>> borrow(std::chrono::nanoseconds at_most) {
    auto got = co_await free_.recv_for(at_most);
    if (!got.has_value()) co_return std::nullopt;
    co_return lease(*this, std::move(*got));
  }

 private:
  template <class Halves>
  explicit connection_pool(Halves halves)
      : back_(std::move(halves.sender)), free_(std::move(halves.receiver)) {}

  rota::channel::sender<link> back_;
  rota::channel::receiver<link> free_;
};

struct counts {
  std::atomic<int> busy = 0;
  std::atomic<int> most = 0;
};

rota::task<bool> ask(connection_pool& from, counts& seen) {
  auto mine = co_await from.borrow(10s);
  if (!mine.has_value()) co_return false;
  const int now = ++seen.busy;
  int most = seen.most;
  while (most < now && !seen.most.compare_exchange_weak(most, now)) {
  }
  co_await rota::yield();  // stands for the request and the response
  ++(*mine)->served;
  --seen.busy;
  co_return true;
}

rota::task<bool> many_questions() {
  constexpr int size = 3;
  connection_pool all(size);
  counts seen;
  std::vector<rota::join_handle<bool>> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(rota::spawn(ask(all, seen)));
  int answered = 0;
  for (auto& one : tasks) {
    const bool got = co_await one;
    answered += got ? 1 : 0;
  }
  // All connections are lent, so the next borrow() times out.
  std::vector<connection_pool::lease> lent;
  for (int i = 0; i < size; ++i) {
    auto one = co_await all.borrow(10s);
    lent.push_back(std::move(*one));
  }
  const auto late = co_await all.borrow(1ms);
  int served = 0;
  for (const auto& one : lent) served += one->served;
  std::printf("%d answers on at most %d connections\n", answered, seen.most.load());
  co_return answered == 100 && served == 100 && seen.most <= size && !late.has_value();
}

}  // namespace

int main() { return rota::run(many_questions()) ? 0 : 1; }
