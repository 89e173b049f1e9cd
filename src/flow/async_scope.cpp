#include <rota/async_scope.hpp>

#include "flow/brood.hpp"
#include "task/ending.hpp"

namespace rota {

namespace core {

bool close_leaf::start() {
  children().expect_end(make_waker());
  waits_ = true;
  return is_ready();
}

/// Also needed if the awaiting task was cancelled: another task may close the scope then.
close_leaf::~close_leaf() {
  if (waits_) children().forget_waiter();
}

void close_leaf::await_resume() { rethrow(children().take_failure()); }

}  // namespace core

async_scope::~async_scope() {
  if (was_used() && !is_closing_)
    ROTA_FATAL("an async_scope ended without a close: co_await close()", size());
}

}  // namespace rota
