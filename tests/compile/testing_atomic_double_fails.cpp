// Arithmetic on bit patterns would be silently wrong.
// FLAGS: -DROTA_MODEL=1
// EXPECT: (constraints not satisfied|no matching function|no matching member function|invalid reference to function)
#include <rota/testing/shared.hpp>

double add(rota::testing::atomic<double>& word) { return word.fetch_add(1.0); }
