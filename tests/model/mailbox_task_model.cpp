// P6, tasks that wait for a mailbox: for space, beside a cancellation and a thread behind them; for its end.
#include "model/whole.hpp"

#include <rota/gate/mailbox.hpp>
#include <rota/rota.hpp>
#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace rota::gate {
namespace {

using model::expect_holds;
using model::one_worker;
using model::whole;
using testing::check;
using testing::execution;

constexpr mailbox_options narrow{.capacity = 1, .on_full = overflow::wait};

task<int> sends(address<int> to) {
  const send_status end = co_await to.async_send(1);
  co_return end == send_status::sent ? 1 : 0;
}

task<int> send_from_two_tasks(mailbox<int>& box) {
  auto first = spawn(sends(box.address()));
  auto second = spawn(sends(box.address()));
  for (unsigned i = testing::choose(4); i > 0; --i) co_await yield();  // both wait by now, one, or none
  box.resume();
  first.cancel();
  int sent = 0;
  try {
    sent += co_await first;
  } catch (const cancelled_error&) {
    sent += 0;
  }
  sent += co_await second;
  co_return sent;
}

// The first waiter is woken for a place and does not take it: the second gets it.
TEST(mailbox_task_model, a_cancelled_wait_for_space_passes_the_space_to_the_next) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      executor threads(1);
      runtime rt(one_worker());
      base::cell<int> served;
      auto box = threads.make_mailbox<int>([&served](int) { served.set(served.get() + 1); }, narrow);
      box.pause();
      check(box.send(1) == send_status::sent, "there is room for one");
      const int sent = rt.spawn(send_from_two_tasks(box)).join();
      box.drain();
      check(served.get() == 1 + sent, "what was sent is served");
    });
  };
  expect_holds(whole("mailbox_task_room"), body);
  // A place becomes free between the refusal and the wait.
  testing::options uniform = model::at_random("mailbox_task_room_uniform", 5'000);
  uniform.steps = 100'000;
  expect_holds(uniform, body);
}

task<void> sends_drains_and_joins(mailbox<int>& box, base::cell<int>& of_the_task) {
  static_cast<void>(box.send(1));
  co_await box.async_drain();
  check(of_the_task.get() == 1, "it was handled");
  box.close();
  co_await box.async_join();
}

TEST(mailbox_task_model, a_task_drains_beside_a_sender_and_joins) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      executor threads(1);
      runtime rt(one_worker());
      base::cell<int> of_the_task;
      auto box = threads.make_mailbox<int>([&of_the_task](int sender) {
        if (sender == 1) of_the_task.set(of_the_task.get() + 1);
      });
      auto work = rt.spawn(sends_drains_and_joins(box, of_the_task));
      static_cast<void>(box.send(2));
      box.drain();
      work.join();
      box.join();
    });
  };
  expect_holds(whole("mailbox_task_drain"), body);
}

}  // namespace
}  // namespace rota::gate
