// A setting that changes while it is in use. A task and a thread wait for each change; another task waits for
// a certain value.
#include <rota/channel/watch.hpp>
#include <rota/rota.hpp>

#include <cstdio>
#include <string>
#include <thread>
#include <utility>

namespace {

struct settings {
  int level = 0;
  std::string name = "default";
};

/// Returns the highest level that it has seen. It may miss intermediate values, but not the last one.
rota::task<int> follow(rota::channel::watch_receiver<settings> of) {
  int highest = 0;
  for (;;) {
    const auto news = co_await of.changed();
    const int level = of.borrow([](const settings& s) { return s.level; });
    if (level > highest) highest = level;
    if (!news.has_value()) co_return highest;  // the last sender is gone
  }
}

rota::task<std::string> first_above_two(rota::channel::watch_receiver<settings> of) {
  const auto got = co_await of.when([](const settings& s) { return s.level >= 3; });
  co_return got.has_value() ? got->name : "never";
}

rota::task<bool> all(rota::channel::watch_sender<settings> to, rota::channel::watch_receiver<settings> of) {
  auto follower = rota::spawn(follow(of));
  auto ready = rota::spawn(first_above_two(of));
  for (int level = 1; level <= 5; ++level) {
    const auto how = to.send_modify([level](settings& s) {
      s.level = level;
      s.name = "level " + std::to_string(level);
    });
    if (how != rota::channel::send_status::sent) co_return false;
    co_await rota::yield();
  }
  const std::string name = co_await ready;
  {
    const auto gone = std::move(to);
  }  // the last sender is gone
  const int highest = co_await follower;
  std::printf("%s, highest %d\n", name.c_str(), highest);
  co_return name.starts_with("level ") && highest == 5;
}

}  // namespace

int main() {
  auto [to, of] = rota::channel::watch(settings{});
  std::string last;
  std::thread other([mine = of, &last]() mutable {
    while (mine.blocking_changed()) {
    }
    last = mine.get().name;  // the last value stays readable after the senders are gone
  });
  const bool worked = rota::run(all(std::move(to), std::move(of)));
  other.join();
  std::printf("%s\n", last.c_str());
  return worked && last == "level 5" ? 0 : 1;
}
