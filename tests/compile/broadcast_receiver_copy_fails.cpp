// A copy would have to begin somewhere: subscribe() begins at now.
// EXPECT: (call to deleted constructor|use of deleted function).*broadcast_receiver
#include <rota/channel/broadcast.hpp>

using receiver = rota::channel::broadcast_receiver<int>;

receiver copied(const receiver& one) { return one; }
