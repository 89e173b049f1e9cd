// One lock, used by tasks of a runtime and by a plain thread.
#include <rota/rota.hpp>
#include <rota/sync/mutex.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

/// A log that tasks and a thread write to. The lock keeps their lines apart.
struct log {
  rota::sync::mutex lock;
  std::string text;
};

rota::task<void> writes(log& to, char who) {
  for (int i = 0; i < 3; ++i) {
    const auto held = co_await to.lock.lock();
    to.text += who;
    co_await rota::yield();  // the task keeps the lock while it is suspended; it occupies no thread
    to.text += who;
  }
}

rota::task<bool> is_busy(log& of) {
  const auto held = co_await of.lock.lock_for(1ms);
  co_return !held.has_value();
}

}  // namespace

int main() {
  log shared;
  rota::runtime rt;
  auto a = rt.spawn(writes(shared, 'a'));
  auto b = rt.spawn(writes(shared, 'b'));
  std::thread other([&shared] {
    const auto held = shared.lock.blocking_lock();
    shared.text += "cc";
  });
  a.join();
  b.join();
  other.join();
  bool pairs = shared.text.size() == 14;
  for (std::size_t i = 0; pairs && i < shared.text.size(); i += 2)
    pairs = shared.text[i] == shared.text[i + 1];
  std::printf("written: %s\n", shared.text.c_str());

  auto held = shared.lock.blocking_lock();
  const bool busy = rt.block_on(is_busy(shared));
  held.unlock();
  std::printf("a wait of a millisecond was too short: %s\n", busy ? "yes" : "no");
  return pairs && busy ? 0 : 1;
}
