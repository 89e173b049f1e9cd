// Only the end of a guard lowers its shield.
// EXPECT: (is a private member of|is private within this context)
#include <rota/cancel.hpp>

void lower(rota::shield_guard& one) { one.lower(); }
