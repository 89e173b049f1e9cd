// Nor has the model's.
// FLAGS: -DROTA_MODEL=1
// EXPECT: (too few arguments|no matching function|no matching member function)
#include <rota/detail/base.hpp>

int unordered(const rota::base::atomic<int>& word) { return word.load(); }
