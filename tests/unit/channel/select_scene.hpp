// Two channels, and a task that selects between them.
#pragma once

#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>

namespace rota::channel {

struct two {
  pair_of<sender<int>, receiver<int>> a = bounded<int>(4);
  pair_of<sender<int>, receiver<int>> b = bounded<int>(4);
};

/// Returns the item of a, or 100 plus that of b; -1 and 99 stand for the ends.
inline task<int> one_of(two& of) {
  auto first = co_await select(of.a.receiver.recv(), of.b.receiver.recv());
  if (first.index() == 0) co_return first.get<0>().value_or(-1);
  co_return 100 + first.get<1>().value_or(-1);
}

}  // namespace rota::channel
