// Calls on a blocking thread that end before the task starts to wait.
#include "fs/blocking.hpp"
#include "fs/system_call.hpp"
#include "support/manual_scheduler.hpp"

#include <rota/stop_token.hpp>

#include <gtest/gtest.h>

#include <stop_token>

namespace rota::test {
namespace awaiting_task_test {
namespace {

using fs::detail::awaiting_task;
using io::result;

/// Runs each closure to its end where it is spawned.
class scheduler_with_closures : public manual_scheduler {
 public:
  scheduler_with_closures() : with_blocking_(*ops) {
    closures_.at_once = true;
    with_blocking_.blocking = [](core::scheduler& s) noexcept -> core::scheduler* {
      return &static_cast<scheduler_with_closures&>(s).closures_;
    };
    ops = &with_blocking_;
  }

 private:
  core::scheduler_ops with_blocking_;
  manual_scheduler closures_;
};

struct seen {
  bool gave_up = false;
  bool went_on = false;
};

task<> calls(seen& x, std::stop_token token) {
  const auto here = link(std::move(token));
  const auto call = [&x](const awaiting_task& by) -> result<void> {
    x.gave_up = by.has_given_up();
    if (x.gave_up) return fs::detail::given_up();
    return {};
  };
  static_cast<void>(co_await fs::detail::on_thread(call));
  x.went_on = true;
}

TEST(awaiting_task, result_of_a_call_that_has_given_up_is_discarded) {
  scheduler_with_closures tasks;
  std::stop_source source;
  source.request_stop();
  seen x;
  auto work = tasks.spawn(calls(x, source.get_token()));
  tasks.run_until_idle();
  EXPECT_TRUE(x.gave_up);
  EXPECT_FALSE(x.went_on);
  EXPECT_EQ(tasks.cancelled, 1);
}

TEST(awaiting_task, result_of_a_call_that_has_not_given_up_is_returned) {
  scheduler_with_closures tasks;
  seen x;
  auto work = tasks.spawn(calls(x, {}));
  tasks.run_until_idle();
  EXPECT_FALSE(x.gave_up);
  EXPECT_TRUE(x.went_on);
  EXPECT_EQ(tasks.cancelled, 0);
}

}  // namespace
}  // namespace awaiting_task_test
}  // namespace rota::test
