// Each receiver gets a copy.
// EXPECT: each receiver of a broadcast gets a copy
#include <rota/channel/broadcast.hpp>

struct unique {
  unique(unique&&) = default;
};

void make() { static_cast<void>(rota::channel::broadcast<unique>(1)); }
