// At most three downloads at once, over all tasks. A large download counts as two.
#include <rota/rota.hpp>
#include <rota/sync/semaphore.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

struct line {
  rota::sync::semaphore free{3};
  std::atomic<int> used = 0;
  std::atomic<int> most = 0;
};

rota::task<bool> download(line& over, int size) {
  const auto wanted = static_cast<std::uint64_t>(size);
  const auto got = co_await over.free.acquire(wanted);
  if (!got.has_value()) co_return false;  // the semaphore is closed
  const auto held = rota::sync::semaphore::permit::adopt(over.free, wanted);
  const int now = over.used += size;
  int seen = over.most;
  while (seen < now && !over.most.compare_exchange_weak(seen, now)) {
  }
  co_await rota::yield();
  over.used -= size;
  co_return true;
}

rota::task<int> download_all(line& over) {
  std::vector<rota::join_handle<bool>> all;
  for (int i = 0; i < 30; ++i) all.push_back(rota::spawn(download(over, 1 + i % 2)));
  int done = 0;
  for (auto& each : all) {
    const bool got = co_await each;
    done += got ? 1 : 0;
  }
  co_return done;
}

}  // namespace

int main() {
  line over;
  const int done = rota::run(download_all(over));
  std::printf("%d downloads, at most %d at once\n", done, over.most.load());
  over.free.close();
  const int refused = rota::run(download_all(over));
  std::printf("%d after the line was closed\n", refused);
  return done == 30 && over.most <= 3 && refused == 0 ? 0 : 1;
}
