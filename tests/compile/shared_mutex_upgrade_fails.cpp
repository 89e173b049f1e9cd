// A reader cannot become a writer: two that try would wait for each other.
// EXPECT: (no matching function|cannot convert|no viable conversion|no known conversion)
#include <rota/sync/shared_mutex.hpp>

#include <utility>

rota::sync::shared_mutex::guard raised(rota::sync::shared_mutex::shared_guard one) {
  return rota::sync::shared_mutex::guard(std::move(one));
}
