// A downgrade takes the guard away: it has to be moved there.
// EXPECT: (cannot bind|no known conversion|binds? .*rvalue|expects an rvalue)
#include <rota/sync/shared_mutex.hpp>

rota::sync::shared_mutex::shared_guard lowered(rota::sync::shared_mutex::guard& one) {
  return rota::sync::shared_mutex::downgrade(one);
}
