// A callback waker is called from any thread, inside noexcept code.
// EXPECT: (no matching function|is_nothrow_invocable)
#include <rota/waker.hpp>

rota::waker loud() {
  return rota::callback_waker([] { throw 1; });
}
