// Each change is reported, and a cancelled wait consumes none.
#include "unit/fs/fs_support.hpp"

#include <rota/error.hpp>
#include <rota/fs/watcher.hpp>
#include <rota/time.hpp>

#include <sys/inotify.h>
#include <unistd.h>
#include <cerrno>
#include <string>

namespace rota::fs::watcher_test {
namespace {

using namespace std::chrono_literals;
using test::fails;
using test::must;
using test::said;

using fs_watcher = test::fs_test;

TEST_F(fs_watcher, changes_of_a_directory_are_reported_in_order_with_names) {
  run_it([&]() -> task<void> {
    watcher changes = must(watcher::open());
    const int here = must(co_await changes.add(folder.root(), IN_CREATE | IN_MOVE | IN_DELETE));
    for (int i = 0; i < 500; ++i) folder.write("file_" + std::to_string(i), "");
    for (int i = 0; i < 500; ++i) {
      const watch_event each = must(co_await changes.next());
      EXPECT_EQ(each.watch, here);
      EXPECT_EQ(each.what, unsigned{IN_CREATE});
      EXPECT_EQ(each.name, "file_" + std::to_string(i));
    }
    std::filesystem::rename(at("file_0"), at("other"));
    const watch_event from = must(co_await changes.next());
    const watch_event to = must(co_await changes.next());
    EXPECT_EQ(from.what, unsigned{IN_MOVED_FROM});
    EXPECT_EQ(to.what, unsigned{IN_MOVED_TO});
    EXPECT_EQ(to.name, "other");
    EXPECT_EQ(from.cookie, to.cookie);
    EXPECT_NE(from.cookie, 0U);
    EXPECT_TRUE(changes.remove(here).has_value());
    const watch_event last = must(co_await changes.next());
    EXPECT_EQ(last.what, unsigned{IN_IGNORED});
    EXPECT_EQ(said(changes.remove(here)), test::generic(EINVAL));
  });
}

TEST_F(fs_watcher, cancelled_wait_consumes_no_event) {
  folder.write("f", "");
  run_it([&]() -> task<void> {
    watcher changes = must(watcher::open());
    must(co_await changes.add(at("f"), IN_MODIFY));
    for (int i = 0; i < 200; ++i) {
      const auto next = [&]() -> task<unsigned> {
        const watch_event got = must(co_await changes.next());
        co_return got.what;
      };
      join_handle<unsigned> late = spawn(next);
      if (i % 2 == 0) co_await yield();
      if (i % 3 == 0) folder.write("f", "x");
      late.cancel();
      const auto end = co_await late.result();
      if (i % 3 != 0) {
        EXPECT_TRUE(end.is_cancelled());
      } else {
        // The untaken events are still there: truncation and write give two events, or one.
        if (end.is_cancelled()) {
          const watch_event got = must(co_await changes.next());
          EXPECT_EQ(got.what, unsigned{IN_MODIFY});
        }
        for (bool more = true; more;) {
          auto asking = changes.next();
          const auto rest = co_await timeout(1ms, std::move(asking));
          more = rest.has_value();
        }
      }
    }
  });
}

TEST_F(fs_watcher, unwatchable_paths_and_closed_watchers_report_errors) {
  EXPECT_EQ(watcher::open().error(), errc::no_runtime);
  run_it([&]() -> task<void> {
    watcher changes = must(watcher::open());
    co_await fails(changes.add(at("nowhere"), IN_MODIFY), ENOENT);
    co_await fails(changes.add(folder.root(), 0), EINVAL);
    co_await fails(changes.add(std::string("x\0y", 3), IN_MODIFY), EINVAL);
    watcher closed;
    co_await fails(closed.add(folder.root(), IN_MODIFY), EBADF);
    co_await fails(closed.next(), EBADF);
    EXPECT_EQ(said(closed.remove(1)), test::generic(EBADF));
    closed = std::move(changes);
    must(co_await closed.add(folder.root(), IN_CREATE));
    folder.write("f", "");
    const watch_event one = must(co_await closed.next());
    EXPECT_EQ(one.name, "f");
  });
}

}  // namespace
}  // namespace rota::fs::watcher_test
