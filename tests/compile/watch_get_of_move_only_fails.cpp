// A value that cannot be copied is read in place: borrow().
// EXPECT: (constraints not satisfied|no matching (member )?function|invalid reference to function 'get')
#include <rota/channel/watch.hpp>

struct unique {
  unique() = default;
  unique(unique&&) = default;
};

void look(rota::channel::watch_receiver<unique>& at) { static_cast<void>(at.get()); }
