// An ignored clone is a mistake.
// EXPECT: (ignoring return value|nodiscard)
#include <rota/waker.hpp>

void forget(const rota::waker& one) { one.clone(); }
