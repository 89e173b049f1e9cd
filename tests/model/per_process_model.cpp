// P: made once in each process. The word is the real one; a fork is another number.
#include "model/exploring.hpp"
#include "process/per_process.hpp"

#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace rota::process::detail {
namespace {

using model::at_random;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

struct scene {
  scene() = default;
  explicit scene(std::uint64_t word) noexcept : once(word) {}

  per_process once;
  base::cell<int> made;  // in which process
  base::atomic<unsigned> times{0};

  void use(int process) noexcept {
    once.ensure(static_cast<std::uint64_t>(process), [this, process]() noexcept {
      // relaxed. A count.
      times.fetch_add(1, base::order::relaxed);
      made.set(process);
    });
    check(made.get() == process, "it is this process's");
  }
};

TEST(per_process_model, one_thread_makes_the_value_and_all_see_it) {
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("first", [&s] {
      s.use(7);
      s.use(7);
    });
    e.thread("second", [&s] { s.use(7); });
    e.thread("third", [&s] { s.use(7); });
    e.finally([&s] {
      // relaxed. The threads have ended.
      check(s.times.load(base::order::relaxed) == 1, "once");
    });
  };
  expect_holds(exhaustive("per_process_once"), body);
  expect_holds(at_random("per_process_once random"), body);
}

// The parent has made it, or one of its threads, which is not here, was about to when it forked.
TEST(per_process_model, a_forked_process_makes_the_value_anew) {
  for (const std::uint64_t left : {std::uint64_t{7}, 7 | per_process::making}) {
    const auto body = [left](execution& e) {
      auto& s = e.make<scene>(left);
      s.made.set(7);
      e.thread("first", [&s] { s.use(8); });
      e.thread("second", [&s] { s.use(8); });
      e.finally([&s] {
        // relaxed. The threads have ended.
        check(s.times.load(base::order::relaxed) == 1, "once");
      });
    };
    expect_holds(exhaustive("per_process_fork", 3), body);
  }
}

}  // namespace
}  // namespace rota::process::detail
