// A user's program, built against an installed rota.
#include <rota/waker.hpp>

#include <cstdio>
#include <utility>

int main() {
  int calls = 0;
  rota::waker waker = rota::callback_waker([&calls]() noexcept { ++calls; });
  rota::waker second = waker.clone();
  second.wake_by_ref();
  std::move(waker).wake();
  rota::noop_waker().wake();
  std::printf("woken %d times\n", calls);
  return calls == 2 ? 0 : 1;
}
