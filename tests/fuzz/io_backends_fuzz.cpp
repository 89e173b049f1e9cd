// The same script on a runtime with epoll alone, and on one with io_uring: sockets, pipes, datagrams, files
// give the same bytes and errors. At the end nothing is watched, and no task or descriptor is left.
//
// A script: one byte, which runs it; then up to 64 operations: what · of which, how · how much (2 bytes).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>

#include "../support/open_files.hpp"
#include "../support/scratch_folder.hpp"
#include "io_files.hpp"
#include "io_pair.hpp"
#include "io_script.hpp"

namespace {

using namespace fuzz;
using rota::io_backend;
using rota::task;

std::unique_ptr<rota::runtime> make_runtime(io_backend backend) {
  rota::runtime_options o;
  o.workers = 2;
  o.backend = backend;
  o.watchdog = std::chrono::seconds(0);
  return std::make_unique<rota::runtime>(o);
}

/// For as long as the program.
struct both_backends {
  std::unique_ptr<rota::runtime> by_epoll = make_runtime(io_backend::epoll);
  std::unique_ptr<rota::runtime> by_ring = make_runtime(io_backend::uring);
};

/// Without a ring there is nothing to compare: prints that.
both_backends& here() {
  try {
    static both_backends instance;
    return instance;
  } catch (const std::system_error& e) {
    std::printf("skipped: no io_uring here: %s\n", e.code().message().c_str());
    std::fflush(stdout);
    std::_Exit(0);
  }
}

class script {
 public:
  script(journal& to, std::string folder)
      : files_(to, std::move(folder)), unix_(to, 0), tcp_(to, 2), pipe_(to, 4), datagrams_(to, 6) {}

  task<> play(std::string_view bytes) {
    constexpr unsigned most_operations = 64;
    numbers input(bytes);
    for (unsigned i = 0; i < most_operations && input.any_left(); ++i) {
      const std::uint64_t what = input.of_bytes(1);
      const std::uint64_t how = input.of_bytes(1);
      const std::size_t size = size_of(input.of_bytes(2));
      co_await step(what, how, size);
      note_state(unix_.state() << 8U | files_.state() << 5U | what % 8);
      note_state(tcp_.state() << 8U | datagrams_.state());
      note_state(pipe_.state() << 5U | 1U);
    }
    co_await unix_.end();
    co_await tcp_.end();
    co_await pipe_.end();
    co_await datagrams_.end();
    co_await files_.end();
  }

 private:
  /// Mostly small; above 4096, too.
  static std::size_t size_of(std::uint64_t number) { return number < 0xC000 ? number % 300 : number % 9'000; }

  task<> step(std::uint64_t what, std::uint64_t how, std::size_t size) {
    const unsigned at = what / 8 % 2;
    switch (what % 8) {
      case 0:
      case 1: co_await unix_.step(at, how, size); break;
      case 2: co_await tcp_.step(at, how, size); break;
      case 3: co_await pipe_.step(at, how, size); break;
      case 4: co_await datagrams_.step(at, how, size); break;
      default: co_await files_.step(what / 8, how, size); break;
    }
  }

  io_files files_;
  io_pair<rota::net::unix_stream> unix_;
  io_pair<rota::net::tcp_stream> tcp_;
  io_pair<pipe_end> pipe_;
  io_pair<message_end> datagrams_;
};

task<> play_script(journal& to, std::string folder, std::string_view bytes) {
  script all(to, std::move(folder));
  co_await all.play(bytes);
}

/// On the thread that is here, or on a worker.
journal run_on(rota::runtime& by, bool is_here, std::string_view bytes) {
  journal made;
  const rota::test::scratch_folder folder;
  if (is_here) {
    by.block_on(play_script(made, folder.root(), bytes));
  } else {
    auto running = by.spawn(play_script(made, folder.root(), bytes));
    running.join();
  }
  const rota::runtime_stats s = by.stats();
  check(s.io.watched == 0, "nothing is watched any more");
  check(s.alive_tasks == 0, "no task is left");
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes = fuzz::text_of(data, size);
  const std::string_view first = fuzz::take(bytes, 1);
  if (first.empty()) return 0;
  both_backends& by = here();
  const bool is_here = static_cast<unsigned char>(first[0]) % 2 == 0;
  const std::size_t before = rota::test::open_files();
  const journal one = run_on(*by.by_epoll, is_here, bytes);
  const journal other = run_on(*by.by_ring, is_here, bytes);
  journal::compare(one, "epoll", other, "uring");
  check(rota::test::open_files() == before, "no descriptor is left");
  return 0;
}
