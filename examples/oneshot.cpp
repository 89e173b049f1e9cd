// A plain thread sends one answer to a task.
#include <rota/channel/oneshot.hpp>
#include <rota/rota.hpp>

#include <cstdio>
#include <thread>
#include <utility>

namespace {

rota::task<int> ask() {
  auto [answer, from] = rota::channel::oneshot<int>();
  std::thread other([to = std::move(answer)]() mutable {
    const auto how = std::move(to).send(42);
    if (how != rota::channel::send_status::sent) std::puts("nobody wants to know");
  });
  other.detach();
  const auto got = co_await from.recv();
  co_return got.value_or(0);
}

}  // namespace

int main() {
  const int got = rota::run(ask());
  std::printf("%d\n", got);
  return got == 42 ? 0 : 1;
}
