// Shared data of a program may keep the standard library's orders under a test.
// FLAGS: -DROTA_MODEL=1
#include <rota/testing/shared.hpp>

#include <atomic>

int add(rota::testing::atomic<int>& word) {
  word.store(1, std::memory_order_release);
  (void)word.fetch_add(2, rota::testing::order::relaxed);
  return word.load(std::memory_order_acquire);
}
