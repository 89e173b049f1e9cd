// A lock is given back once: a guard moves, and is not copied.
// EXPECT: (call to (implicitly-)?deleted (copy )?constructor|use of deleted function).*guard
#include <rota/sync/shared_mutex.hpp>

rota::sync::shared_mutex::shared_guard copied(const rota::sync::shared_mutex::shared_guard& one) {
  return one;
}
