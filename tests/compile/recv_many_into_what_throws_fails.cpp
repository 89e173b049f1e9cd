// A string that is made of an item needs memory, when the item cannot be given back any more.
// EXPECT: is_nothrow_constructible
#include <rota/channel/bounded.hpp>

#include <string>
#include <vector>

void take(rota::channel::receiver<const char*>& rx, std::vector<std::string>& out) {
  static_cast<void>(rx.try_recv_many(out, 1));
}
