// A value that is ignored, or a loss.
// EXPECT: (ignoring return value|nodiscard)
#include <rota/channel/broadcast.hpp>

void forget(rota::channel::broadcast_receiver<int>& from) { from.try_recv(); }
