// Two tasks send buffers of different sizes to one consumer. At most 16 buffers, with at most 4 KiB in all,
// are in the channel.
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/rota.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

using buffer = std::vector<std::byte>;
constexpr std::size_t budget = 4096;

rota::task<void> produce(rota::channel::weighed_sender<buffer> to, std::size_t step) {
  for (std::size_t size = step; size <= 2000; size += step) {
    const auto how = co_await to.send(buffer(size));  // waits for a slot, and for `size` free bytes
    if (how != rota::channel::send_status::sent) co_return;
  }
}

struct counts {
  std::size_t bytes = 0;
  std::size_t most = 0;
};

rota::task<counts> consume(rota::channel::weighed_receiver<buffer> from) {
  counts all;
  for (;;) {
    all.most = std::max<std::size_t>(all.most, from.weight());
    const auto next = co_await from.recv();
    if (!next.has_value()) co_return all;
    all.bytes += next->size();
  }
}

rota::task<counts> use() {
  constexpr auto bytes_of = [](const buffer& b) noexcept { return b.size(); };
  auto [to, from] = rota::channel::bounded_by_weight<buffer>(16, budget, bytes_of);
  rota::spawn(produce(to, 10)).detach();
  rota::spawn(produce(std::move(to), 400)).detach();
  auto consumer = rota::spawn(consume(std::move(from)));
  co_return co_await consumer;
}

}  // namespace

int main() {
  const counts all = rota::run(use());
  std::printf("%zu bytes, never more than %zu on their way\n", all.bytes, all.most);
  const bool is_right = all.bytes == 10 * 200 * 201 / 2 + 400 * 15 && all.most <= budget;
  return is_right ? 0 : 1;
}
