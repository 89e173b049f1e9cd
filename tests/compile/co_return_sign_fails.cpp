// A conversion that is warned of is warned of where the co_return stands, not inside of a header.
// FLAGS: -Wsign-conversion
// EXPECT: co_return_sign_fails\.cpp:6:[0-9]+: error: .*conversion
#include <rota/task.hpp>

rota::task<unsigned> may_be_negative(int n) { co_return n; }
