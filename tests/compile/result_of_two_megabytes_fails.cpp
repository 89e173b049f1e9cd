// A result lies in front of its frame, and the distance is kept in 16 bits.
// EXPECT: larger than a megabyte: return it by pointer
#include <rota/task.hpp>

struct large {
  char bytes[2 << 20] = {};
};

rota::task<large> makes() { co_return large{}; }
