// A cache in front of a slow source, as an actor. Tasks send it requests; it may suspend while it serves one;
// it is constructed again after a failure.
#include <rota/gate/actor.hpp>
#include <rota/runtime.hpp>
#include <rota/time.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// Only the actor accesses it, so it needs no lock, although its functions suspend in the middle.
class cache {
 public:
  rota::task<std::size_t> length_of(std::string key) {
    if (const auto known = lengths_.find(key); known != lengths_.end()) co_return known->second;
    ++fetches_;
    co_await rota::sleep_for(1ms);  // for example, a database
    if (key == "broken") throw std::runtime_error("the source is broken");
    co_return lengths_[key] = key.size();
  }
  [[nodiscard]] int fetches() const { return fetches_; }

 private:
  std::map<std::string, std::size_t> lengths_;
  int fetches_ = 0;
};

rota::task<std::size_t> sum_of(rota::gate::actor_ref<cache> to, std::vector<std::string> keys) {
  std::size_t sum = 0;
  for (const std::string& key : keys) {
    const auto length = [key](cache& it) { return it.length_of(key); };
    sum += co_await to.ask(length);
  }
  co_return sum;
}

rota::task<bool> replies_within(rota::gate::actor_ref<cache> to, std::chrono::milliseconds limit) {
  auto limited = rota::timeout(limit, to.ask([](cache& it) { return it.fetches(); }));
  const auto reply = co_await limited;
  co_return reply.has_value();
}

}  // namespace

int main() {
  rota::runtime tasks;
  rota::gate::executor on_tasks(tasks);
  rota::gate::actor<cache> lengths(on_tasks,
                                   [] { return cache{}; },
                                   {.error_policy = rota::gate::on_error::restart,
                                    .restarts = {.limit = 3, .within = 1min, .pause = 1ms}});

  // Two tasks look up four different keys. Each key is fetched once.
  auto one = tasks.spawn(sum_of(lengths.ref(), {"bolt", "nut", "washer"}));
  auto two = tasks.spawn(sum_of(lengths.ref(), {"washer", "nut", "screw"}));
  const std::size_t sum = one.join() + two.join();
  const int fetches = lengths.call([](cache& it) { return it.fetches(); });
  std::printf("%zu letters, fetched %d times\n", sum, fetches);

  // An exception from a function of ask() is rethrown in the asking task. An exception from a function of
  // tell() is a failure of the actor: the actor is restarted, and mailbox_options::on_unhandled writes a line
  // to standard error.
  bool heard = false;
  try {
    tasks.block_on(sum_of(lengths.ref(), {"broken"}));
  } catch (const std::runtime_error&) {
    heard = true;
  }
  static_cast<void>(lengths.tell(
      [](cache& it) -> rota::task<void> { static_cast<void>(co_await it.length_of("broken")); }));
  const int fetches_of_the_new_one = lengths.call([](cache& it) { return it.fetches(); });
  std::printf("%llu restart, and nothing in the cache: %d\n",
              static_cast<unsigned long long>(lengths.stats().restarts),
              fetches_of_the_new_one);

  // An ask() can have a time limit: if the function has not begun by then, the actor does not call it.
  lengths.pause();
  const bool replied = tasks.block_on(replies_within(lengths.ref(), 2ms));
  std::printf("paused: %s\n", replied ? "it replied" : "no reply");
  return sum == 27 && fetches == 4 && heard && fetches_of_the_new_one == 0 && !replied ? 0 : 1;
}
