// Threads and tasks spawn tasks that spawn tasks; some are cancelled, some are spawned during the shutdown.
// At the end every created task has completed, was cancelled or was refused, by our count and the runtime's.
#include "stress.hpp"

#include <vector>

namespace {

struct book {
  std::atomic<std::uint64_t> created{0};
  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> destroyed{0};  // arguments of tasks, however they ended
};

/// An argument of each task: destroyed once, whether the task ran or not.
class stub {
 public:
  explicit stub(book& of) noexcept : of_(&of) { ++of.created; }
  stub(stub&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  stub& operator=(stub&&) = delete;
  ~stub() {
    if (of_ != nullptr) ++of_->destroyed;
  }
  [[nodiscard]] book& of() const noexcept { return *of_; }

 private:
  book* of_;
};

rota::task<> tree(stub mine, unsigned depth, std::uint64_t luck) {
  if (luck % 5 == 0) co_await rota::yield();
  if (luck % 11 == 0) co_await rota::sleep_for(std::chrono::microseconds(luck % 300));
  if (depth > 0) {
    auto left = rota::spawn(tree(stub(mine.of()), depth - 1, luck * 6364136223846793005U + 1));
    auto right = rota::spawn(tree(stub(mine.of()), depth - 1, luck * 2862933555777941757U + 3));
    if (luck % 7 == 0) left.cancel();
    if (luck % 3 == 0) {
      const auto end = co_await right.result();
      static_cast<void>(end);
    }
  }
  ++mine.of().completed;
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  std::uint64_t violations = 0;
  std::uint64_t created = 0;
  std::uint64_t completed = 0;
  for (std::uint64_t round = o.seed; round == o.seed || !o.is_over(); ++round) {
    book b;
    std::uint64_t ended = 0;
    {
      rota::runtime rt(stress::options_of_round(round));
      const stress::watchdog::watched here(dog, rt);
      const rota::runtime_handle from_outside = rt.handle();
      std::vector<std::thread> producers;
      for (std::uint64_t p = 0; p < 3; ++p) {
        producers.emplace_back([&b, &dog, from_outside, p, round] {
          std::mt19937_64 random(round * 31 + p);
          for (int i = 0; i < 200; ++i) {
            from_outside.spawn(tree(stub(b), static_cast<unsigned>(random() % 5), random())).detach();
            ++dog.progress;
          }
        });
      }
      // On every second round the last of them come too late.
      if (round % 2 == 0) {
        for (auto& each : producers) each.join();
        producers.clear();
      }
      rt.shutdown(round % 3 == 0 ? std::chrono::milliseconds(0) : std::chrono::milliseconds(20));
      for (auto& each : producers) each.join();
      const rota::runtime_stats s = rt.stats();
      ended = s.total_completed + s.total_cancelled;
      if (s.alive_tasks != 0 || s.total_spawned != ended) ++violations;
    }
    if (b.created != b.destroyed || b.completed > b.created) ++violations;
    created += b.created;
    completed += b.completed;
    ++dog.progress;
  }
  return stress::finish("ledger", o, {{"created", created}, {"completed", completed}}, violations);
}
