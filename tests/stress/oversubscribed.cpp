// Eight workers on one processor beside two processes that burn it; the whole process is stopped and
// continued at random. Nothing is lost, only late.
#include "stress.hpp"

#include <csignal>
#include <memory>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

std::atomic<std::uint64_t> violations{0};

rota::task<std::uint64_t> work(std::uint64_t luck) {
  if (luck % 3 == 0) co_await rota::yield();
  if (luck % 17 == 0) co_await rota::sleep_for(std::chrono::microseconds(luck % 500));
  co_return luck % 100;
}

rota::task<> round_of(std::uint64_t seed, stress::watchdog& dog) {
  std::mt19937_64 random(seed);
  rota::join_set<std::uint64_t> all;
  std::uint64_t expected = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t luck = random();
    expected += luck % 100;
    all.spawn(work(luck));
    ++dog.progress;
  }
  for (;;) {
    auto end = co_await all.next();
    if (!end.has_value()) break;
    expected -= std::move(*end).value();
    ++dog.progress;
  }
  if (expected != 0) ++violations;
}

/// Children of this process, which go when it goes.
template <class F>
pid_t beside(F run) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  run(parent);
  ::_exit(0);
}

[[noreturn]] void burn(pid_t /*parent*/) {
  for (;;) asm volatile("");
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  ::sched_setaffinity(0, sizeof first, &first);
  // Before there are threads: a child of fork() has only one.
  const pid_t burners[] = {beside(burn), beside(burn)};
  const pid_t stopper = beside([&o](pid_t parent) {
    std::mt19937_64 dice(o.seed);
    for (;;) {
      ::usleep(static_cast<useconds_t>(1000 + dice() % 100'000));
      ::kill(parent, SIGSTOP);
      ::usleep(static_cast<useconds_t>(1000 + dice() % 30'000));
      ::kill(parent, SIGCONT);
    }
  });
  std::uint64_t rounds = 0;
  {
    stress::watchdog dog;
    rota::runtime_options options;
    options.workers = 8;
    options.watchdog = std::chrono::nanoseconds(0);
    for (std::uint64_t round = o.seed; round == o.seed || !o.is_over(); ++round, ++rounds) {
      options.seed = round;
      rota::runtime rt(options);
      const stress::watchdog::watched here(dog, rt);
      rt.spawn(round_of(round, dog)).join();
    }
  }
  for (const pid_t child : {burners[0], burners[1], stopper}) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  ::kill(::getpid(), SIGCONT);
  return stress::finish("oversubscribed", o, {{"rounds", rounds}, {"tasks", rounds * 5000}}, violations);
}
