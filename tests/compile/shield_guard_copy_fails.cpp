// A shield is lowered once, by the one guard that holds it.
// EXPECT: (call to (implicitly-)?deleted copy constructor|use of deleted function).*shield_guard
#include <rota/cancel.hpp>

rota::shield_guard copied(const rota::shield_guard& one) { return one; }
