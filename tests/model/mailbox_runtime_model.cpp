// P6 on a runtime: consumer tasks and their sleep; handlers that wait while their mailbox ends; the shutdown.
#include "base/thread.hpp"
#include "model/whole.hpp"

#include <rota/gate/mailbox.hpp>
#include <rota/rota.hpp>
#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

namespace rota::gate {
namespace {

using model::expect_holds;
using model::guest;
using model::one_worker;
using model::two_workers;
using model::whole;
using testing::check;
using testing::execution;

/// Something that another thread does meanwhile.
template <class F>
class beside {
 public:
  explicit beside(F work) : work_(std::move(work)) {
    auto started =
        base::thread::start("beside", [](void* me) noexcept { static_cast<beside*>(me)->work_(); }, this);
    check(started.has_value(), "a thread can be had");
    thread_ = std::move(*started);
  }
  beside(const beside&) = delete;
  beside& operator=(const beside&) = delete;
  ~beside() = default;
  void join() { thread_.join(); }

 private:
  F work_;
  base::thread thread_;
};

testing::options uniform(std::string_view name) {
  testing::options o = model::at_random(name, 3'000);
  o.steps = 100'000;
  return o;
}

// Each send finds a consumer that is awake, or wakes one.
TEST(mailbox_runtime_model, what_is_sent_is_served) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(two_workers());
      base::cell<int> first;
      base::cell<int> second;
      executor on_tasks(rt, 2);
      auto one = on_tasks.make_mailbox<int>([&first](int value) { first.set(first.get() + value); });
      auto two = on_tasks.make_mailbox<int>([&second, to = one.address()](int value) {
        second.set(second.get() + value);
        static_cast<void>(to.send(1));
      });
      auto sender = rt.spawn([to = two.address()]() -> task<> {
        static_cast<void>(to.send(1));
        co_return;
      });
      static_cast<void>(one.send(1));
      sender.join();
      two.drain();
      one.drain();
      check(first.get() == 2 && second.get() == 1, "each was served once");
    });
  };
  expect_holds(whole("mailbox_runtime_send"), body);
  expect_holds(uniform("mailbox_runtime_send_uniform"), body);
}

// Two mailboxes are ready while one handler waits for the other: a consumer for each must be awake.
TEST(mailbox_runtime_model, two_ready_mailboxes_wake_two_consumers) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(two_workers());
      model::signal served;
      executor on_tasks(rt, 2);
      auto waits = on_tasks.make_mailbox<int>([&served](int) { served.wait(); });
      auto raises = on_tasks.make_mailbox<int>([&served](int) { served.raise(); });
      static_cast<void>(waits.send(1));
      static_cast<void>(raises.send(1));
      waits.drain();
    });
  };
  expect_holds(whole("mailbox_runtime_two"), body);
  expect_holds(uniform("mailbox_runtime_two_uniform"), body);
}

// A handler waits, is about to, or has ended: destroying its mailbox returns when its frame is gone.
TEST(mailbox_runtime_model, a_mailbox_is_destroyed_while_its_handler_waits) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(two_workers());
      base::cell<int> inside;
      executor on_tasks(rt, 1);
      {
        auto box = on_tasks.make_mailbox<int>([&inside](int turns) -> task<void> {
          const guest here;
          inside.set(inside.get() + 1);
          for (; turns > 0; --turns) co_await yield();
          inside.set(inside.get() - 1);
        });
        static_cast<void>(box.send(static_cast<int>(testing::choose(3))));
        static_cast<void>(box.send(1));
      }
      inside.set(0);
    });
  };
  expect_holds(whole("mailbox_runtime_cut"), body);
  expect_holds(uniform("mailbox_runtime_cut_uniform"), body);
}

// Only its cancellation ends such a handler.
TEST(mailbox_runtime_model, a_handler_that_waits_for_ever_is_cancelled) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(one_worker());
      executor on_tasks(rt, 1);
      auto box = on_tasks.make_mailbox<int>([](int) -> task<void> {
        const guest here;
        co_await sleep_for(std::chrono::hours::max());
      });
      static_cast<void>(box.send(1));
    });
  };
  expect_holds(whole("mailbox_runtime_cancel"), body);
  expect_holds(uniform("mailbox_runtime_cancel_uniform"), body);
}

// Beside a sender: its message is destroyed, it hears that the mailbox is closed, and no wait is endless.
TEST(mailbox_runtime_model, a_runtime_shuts_down) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      std::optional<runtime> rt;
      rt.emplace(one_worker());
      executor on_tasks(*rt, 2);
      auto plain = on_tasks.make_mailbox<std::unique_ptr<guest>>([](std::unique_ptr<guest>&&) {});
      auto waits = on_tasks.make_mailbox<std::unique_ptr<guest>>(
          [](std::unique_ptr<guest>&&) -> task<void> { co_await sleep_for(std::chrono::hours::max()); });
      beside sender([&] {
        static_cast<void>(plain.send(std::make_unique<guest>()));
        static_cast<void>(waits.send(std::make_unique<guest>()));
        static_cast<void>(waits.send(std::make_unique<guest>()));
      });
      rt.reset();
      plain.join();
      waits.join();
      sender.join();
      auto late = on_tasks.make_mailbox<int>([](int) {});
      check(late.send(1) == send_status::closed, "it says so");
      late.join();
    });
  };
  expect_holds(whole("mailbox_runtime_shutdown"), body);
  expect_holds(uniform("mailbox_runtime_shutdown_uniform"), body);
}

// Beside a late sender, which finds no consumer that would come.
TEST(mailbox_runtime_model, an_executor_is_destroyed_during_a_send) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(one_worker());
      std::optional<executor> on_tasks;
      on_tasks.emplace(rt, 1);
      const auto ignore = [](std::unique_ptr<guest>&&) {};
      auto one = on_tasks->make_mailbox<std::unique_ptr<guest>>(ignore);
      auto two = on_tasks->make_mailbox<std::unique_ptr<guest>>(ignore);
      static_cast<void>(one.send(std::make_unique<guest>()));
      static_cast<void>(two.send(std::make_unique<guest>()));
      beside sender([a = one.address(), b = two.address()] {
        static_cast<void>(a.send(std::make_unique<guest>()));
        static_cast<void>(b.send(std::make_unique<guest>()));
      });
      on_tasks.reset();
      one.join();
      two.join();
      sender.join();
    });
  };
  expect_holds(whole("mailbox_runtime_late"), body);
  expect_holds(uniform("mailbox_runtime_late_uniform"), body);
}

// Both end all mailboxes. The thread that finds all of them ended sweeps, and must serve none.
TEST(mailbox_runtime_model, an_executor_is_destroyed_during_a_shutdown) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(one_worker());
      std::optional<executor> on_tasks;
      on_tasks.emplace(rt, 1);
      on_tasks->pause();  // so that both stay in a list
      auto one = on_tasks->make_mailbox<std::unique_ptr<guest>>(
          [](std::unique_ptr<guest>&&) -> task<void> { co_await yield(); });
      auto two = on_tasks->make_mailbox<std::unique_ptr<guest>>(
          [](std::unique_ptr<guest>&&) -> task<void> { co_await yield(); });
      static_cast<void>(one.send(std::make_unique<guest>()));
      static_cast<void>(two.send(std::make_unique<guest>()));
      beside ends([&rt] { static_cast<void>(rt.shutdown(std::chrono::seconds(0))); });
      on_tasks.reset();
      one.join();
      two.join();
      ends.join();
    });
  };
  expect_holds(whole("mailbox_runtime_both"), body);
  expect_holds(uniform("mailbox_runtime_both_uniform"), body);
}

// The handler runs to its end, whatever owns its task's handle.
TEST(mailbox_runtime_model, a_handler_destroys_its_own_mailbox) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(two_workers());
      base::atomic<int> ended{0};
      {
        executor on_tasks(rt, 1);
        std::optional<mailbox<int>> box;
        model::signal is_there;
        model::signal is_gone;
        box.emplace(on_tasks.make_mailbox<int>([&](int) -> task<void> {
          is_there.wait();
          box.reset();
          co_await yield();
          ended.store(1, base::order::relaxed);
          is_gone.raise();
        }));
        const auto to = box->address();
        is_there.raise();
        static_cast<void>(to.send(1));
        is_gone.wait();
      }
      check(ended.load(base::order::relaxed) == 1, "it was not cancelled");
    });
  };
  expect_holds(whole("mailbox_runtime_own"), body);
  expect_holds(uniform("mailbox_runtime_own_uniform"), body);
}

}  // namespace
}  // namespace rota::gate
