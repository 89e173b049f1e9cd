// The watchdog once took a task that had just begun for one that had run since the poll before.
#include "sched/scheduler.hpp"

#include <gtest/gtest.h>

namespace rota::sched::regress_stamp_test {
namespace {

TEST(regress_stamp, stamp_does_not_match_a_poll_that_began_later) {
  scheduler s(1, 1, base::now());
  worker& w = s.at(0);
  const std::uint64_t idle = w.poll_stamp();
  EXPECT_EQ(w.task_of_poll(idle), 0U) << "nothing runs";

  w.note_poll(7);
  EXPECT_EQ(w.task_of_poll(idle), 0U) << "between the look at the stamp and the question a task began";
  const std::uint64_t seven = w.poll_stamp();
  EXPECT_EQ(w.task_of_poll(seven), 7U);

  w.note_poll(8);
  EXPECT_EQ(w.task_of_poll(seven), 0U);
  EXPECT_EQ(w.current_task_id(), 8U);
}

}  // namespace
}  // namespace rota::sched::regress_stamp_test
