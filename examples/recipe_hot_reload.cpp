// Recipe: hot reload. The configuration is read again when its file changes or SIGHUP arrives. A request sees
// the old configuration or the new one, never a mixture. A malformed file is reported, and the old
// configuration stays.
#include <rota/channel/watch.hpp>
#include <rota/fs/temporary.hpp>
#include <rota/fs/watcher.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/rota.hpp>
#include <rota/scope.hpp>
#include <rota/sync/notify.hpp>
#include <rota/unix_signal.hpp>

#include <sys/inotify.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace channel = rota::channel;

struct settings {
  int version = 0;
  int limit = 0;
};
using loaded = std::expected<settings, std::string>;

struct state {
  settings now;
  int readings = 1;
  int refused = 0;
};

/// Parses "version limit". Anything else is an error.
loaded parse(std::string_view text) {
  settings s;
  const char* const end = text.data() + text.size();
  const auto version = std::from_chars(text.data(), end, s.version);
  if (version.ec != std::errc() || version.ptr == end || *version.ptr != ' ')
    return std::unexpected("version: a number and a space expected");
  const auto limit = std::from_chars(version.ptr + 1, end, s.limit);
  if (limit.ec != std::errc() || limit.ptr != end || s.limit < 1 || s.limit > 1000)
    return std::unexpected("limit: 1 to 1000 expected");
  return s;
}

rota::task<loaded> load(std::string path) {
  const auto text = co_await rota::fs::read_to_string(std::move(path), 4096);
  if (!text.has_value()) co_return std::unexpected(text.error().message());
  co_return parse(*text);
}

rota::task<> hear_signals(rota::unix_signal hangups, rota::sync::notify& due) {
  for (;;) {
    static_cast<void>(co_await hangups.next());
    due.notify_one();
  }
}

/// Watches the folder, not the file. An editor replaces the file by a new one, and a watch of the old file
/// would get no event for that.
rota::task<> hear_changes(rota::fs::watcher changes, std::string name, rota::sync::notify& due) {
  for (;;) {
    const auto event = co_await changes.next();
    if (!event.has_value()) co_return;  // the watch has ended; SIGHUP still triggers a reload
    if (event->name == name || event->watch == -1) due.notify_one();
  }
}

/// Several notifications during one reading cause one more reading, so the last content of the file is always
/// read.
rota::task<> reload(std::string path, rota::sync::notify& due, channel::watch_sender<state> to) {
  for (;;) {
    co_await due.wait();
    const loaded got = co_await load(path);
    if (!got.has_value()) std::printf("%s; the old settings stay\n", got.error().c_str());
    static_cast<void>(to.send_modify([&](state& s) {
      if (got.has_value()) s.now = *got;
      s.readings += 1;
      s.refused += got.has_value() ? 0 : 1;
    }));
  }
}

/// A request takes one copy of the configuration and uses it to its end.
int serve(const channel::watch_receiver<state>& of) {
  const settings now = of.get().now;
  return now.version * 1000 + now.limit;
}

/// Plays the administrator and checks what requests see.
rota::task<bool> try_it(std::string path, channel::watch_receiver<state> of) {
  const auto before = serve(of);
  static_cast<void>(co_await rota::fs::write_atomically(path, "2 20"));
  static_cast<void>(co_await of.when([](const state& s) { return s.now.version == 2; }));
  const auto after = serve(of);

  static_cast<void>(co_await rota::fs::write_atomically(path, "3 5000"));
  static_cast<void>(co_await of.when([](const state& s) { return s.refused == 1; }));
  const auto beside_a_wrong_file = serve(of);

  const int readings = of.get().readings;
  ::kill(::getpid(), SIGHUP);
  const auto was_read_again = [readings](const state& s) { return s.readings > readings; };
  static_cast<void>(co_await of.when(was_read_again));
  std::printf("%d, %d, %d\n", before, after, beside_a_wrong_file);
  co_return before == 1010 && after == 2020 && beside_a_wrong_file == 2020;
}

rota::task<bool> serve_with(std::string folder) {
  const std::string path = folder + "/settings";
  const auto made = co_await rota::fs::write_atomically(path, "1 10");
  auto hangups = rota::unix_signal::open({SIGHUP});
  auto changes = rota::fs::watcher::open();
  if (!made.has_value() || !hangups.has_value() || !changes.has_value()) co_return false;
  const auto added = co_await changes->add(folder, IN_CLOSE_WRITE | IN_MOVED_TO);
  // Reads the file after the watch is set up, so that no change is missed in between.
  const loaded first = co_await load(path);
  if (!added.has_value() || !first.has_value()) co_return false;

  auto [to, of] = channel::watch(state{.now = *first});
  rota::sync::notify due;
  bool is_right = false;
  const auto all = [&, &sender = to, &receiver = of](rota::scope& s) -> rota::task<> {
    s.fork(hear_signals(*std::move(hangups), due));
    s.fork(hear_changes(*std::move(changes), "settings", due));
    s.fork(reload(path, due, std::move(sender)));
    is_right = co_await try_it(path, receiver);
    s.cancel();
  };
  co_await rota::with_scope(all);
  co_return is_right;
}

rota::task<bool> run() {
  const auto folder = co_await rota::fs::temp_dir::create();
  if (!folder.has_value()) co_return false;
  co_return co_await serve_with(folder->path());
}

}  // namespace

int main() { return rota::run(run()) ? 0 : 1; }
