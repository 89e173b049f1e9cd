// A reference to the value would dangle as soon as another is sent.
// EXPECT: what was borrowed is given back at the end
#include <rota/channel/watch.hpp>

const int& keep(rota::channel::watch_receiver<int>& at) {
  return at.borrow([](const int& value) -> const int& { return value; });
}
