// A waker owns a reference: a copy has to be asked for by name.
// EXPECT: (call to deleted constructor|use of deleted function).*waker
#include <rota/waker.hpp>

rota::waker copied(const rota::waker& one) { return one; }
