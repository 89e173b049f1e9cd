// File names arrive in a bounded queue. A pool fetches the files, at most two at a time. An item that fails
// is put back into the queue. After three more failed attempts the source keeps it aside.
#include <rota/pool/thread_pool.hpp>
#include <rota/pool/watch.hpp>

#include <atomic>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>

namespace pool = rota::pool;

int main() {
  std::atomic<int> fetched{0};
  pool::source<std::string> files(100);
  pool::thread_pool p({.max_threads = 4});
  pool::watch_options how;
  how.most = 2;
  how.works.group = "fetch";
  std::atomic<int> failures{0};
  how.works.callback =
      // counts each failure; because there is a callback, the pool does not report it
      [&failures](const pool::work_end& end) {
        if (end.status == pool::work_status::failed) ++failures;
      };
  const pool::watch w = pool::watch_source(
      p,
      files,
      [&fetched](std::string& name, unsigned returned) {
        if (name == "unsteady" && returned < 2) throw std::runtime_error("not yet");
        if (name == "missing") throw std::runtime_error("there is none");
        ++fetched;
      },
      how);

  for (const char* name : {"readme", "unsteady", "missing", "licence"}) {
    if (files.try_push(name) != pool::push_status::pushed) std::printf("no room for %s\n", name);
  }
  w.wait();  // until all items that were pushed have been handled
  const pool::watch_stats s = w.stats();
  std::printf("%d fetched, %d failures; %d times one came back\n",
              fetched.load(),
              failures.load(),
              static_cast<int>(s.put_back));
  while (const std::optional<std::string> name = files.try_take_given_up())
    std::printf("given up: %s\n", name->c_str());

  w.stop();  // items that are pushed from now on stay in the source
  static_cast<void>(files.try_push("later"));
  return fetched == 3 && s.given_up == 1 && files.size() == 1 ? 0 : 1;
}
