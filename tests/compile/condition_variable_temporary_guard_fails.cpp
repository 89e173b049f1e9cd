// The guard must outlive the wait, and the waiter must see it: no temporary.
// EXPECT: (cannot bind|no matching|expects an l-?value|no known conversion)
#include <rota/sync/condition_variable.hpp>

void waits(rota::sync::condition_variable& c, rota::sync::mutex& m) { c.blocking_wait(m.blocking_lock()); }
