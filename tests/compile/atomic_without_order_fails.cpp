// There is no default order: every operation states what it needs.
// EXPECT: (too few arguments|no matching function|no matching member function)
#include <rota/detail/base.hpp>

int unordered(const rota::base::atomic<int>& word) { return word.load(); }
