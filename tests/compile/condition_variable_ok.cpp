// The usual uses of std::condition_variable.
#include <rota/sync/condition_variable.hpp>
#include <rota/task.hpp>

#include <chrono>

namespace {

using namespace std::chrono_literals;

[[maybe_unused]] rota::task<bool> waits(rota::sync::condition_variable& c,
                                        rota::sync::mutex& m,
                                        bool& ready) {
  auto held = co_await m.lock();
  co_await c.wait(held);
  co_await c.wait(held, [&ready] { return ready; });
  const auto soon = co_await c.wait_for(held, 1.5s);
  const auto later = co_await c.wait_until(held, std::chrono::steady_clock::time_point::max());
  const auto met = co_await c.wait_for(held, std::chrono::hours::max(), [&ready] { return ready; });
  co_return soon.has_value() && later.has_value() && met.has_value();
}

[[maybe_unused]] bool blocks(rota::sync::condition_variable& c, rota::sync::mutex& m, bool& ready) {
  auto held = m.blocking_lock();
  c.blocking_wait(held);
  c.blocking_wait(held, [&ready] { return ready; });
  return c.blocking_wait_for(held, 1.5s).has_value() &&
         c.blocking_wait_until(held, std::chrono::steady_clock::time_point::max(), [&ready] {
            return ready;
          }).has_value();
}

}  // namespace
