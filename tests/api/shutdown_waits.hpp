// For tests of a shutdown that finds a task in some kind of wait: the task ends as cancelled, its locals are
// destroyed once, and the process has as many threads and descriptors as before.
#pragma once

#include "api/scenario_support.hpp"

#include <rota/rota.hpp>
#include <rota/sync/once_cell.hpp>
#include <rota/sync/strand.hpp>
#include <rota/unix_signal.hpp>

#include <ostream>
#include <string>
#include <tuple>

namespace rota::test {

/// Shared by the waiting tasks and the test. Outlives the runtime.
struct surroundings {
  std::atomic<int> gone{0};
  event never;
  sync::strand line;
  sync::once_cell<int> cell;
  std::binary_semaphore inside{0};

  [[nodiscard]] witness guest() noexcept { return witness(gone); }
};

inline task<> naps(witness /*mine*/) { co_await sleep_for(std::chrono::hours::max()); }

struct wait_kind {
  const char* name;
  task<> (*body)(surroundings& s, witness mine);
  const char* state;  // as dump() calls it; empty: it never waits, and releases `inside`
  int witnesses;      // that end with it
};
inline std::ostream& operator<<(std::ostream& out, const wait_kind& k) { return out << k.name; }

/// With so many workers.
class shutdown_in : public ::testing::TestWithParam<std::tuple<wait_kind, unsigned>> {
 protected:
  static void ends_it() {
    const auto& [kind, workers] = GetParam();
    // The descriptors of signals are kept for the next subscription.
    run([]() -> task<> {
      static_cast<void>(unix_signal::open({SIGUSR1}));
      co_return;
    });
    const std::size_t files = open_files();
    const std::size_t threads = threads_of_process();
    surroundings s;
    join_handle<void> handle;
    {
      runtime rt(with_workers(workers));
      handle = rt.spawn(kind.body(s, s.guest()));
      if (*kind.state != '\0') {
        wait_for_state(rt, kind.state);
      } else {
        s.inside.acquire();
      }
      EXPECT_TRUE(rt.shutdown(0s).survivors.empty());
      EXPECT_EQ(s.gone, kind.witnesses) << "each local has gone, once";
      EXPECT_EQ(rt.stats().alive_tasks, 0U);
    }
    expect_cancelled(handle);
    EXPECT_FALSE(s.never.is_awaited());
    EXPECT_EQ(open_files(), files);
    wait_until([threads] { return threads_of_process() <= threads; });
  }

 private:
  static void expect_cancelled(join_handle<void>& handle) {
    EXPECT_TRUE(handle.is_done());
    try {
      handle.join();
      ADD_FAILURE() << "it never comes to its end";
    } catch (const cancelled_error& e) {
      EXPECT_EQ(e.reason(), cancel_reason::shutdown);
    }
  }
};

inline std::string name_of_kind(const ::testing::TestParamInfo<shutdown_in::ParamType>& one) {
  return std::string(std::get<0>(one.param).name) + "_with_" + std::to_string(std::get<1>(one.param)) +
         "_workers";
}

}  // namespace rota::test
