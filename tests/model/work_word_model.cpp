// A job's word, its waiters, its slot: run, cancelled, stopped, timed out, given up and awaited at once, on
// the real pool. One end, reported once; no lost wakeup; a slot goes back, and an old id is stale.
#include "model/pool_world.hpp"

#include <rota/pool/this_work.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace rota::pool {
namespace {

using namespace std::chrono_literals;
using model::expect_holds;
using model::few_threads;
using model::luggage;
using model::pool_at_random;
using model::pool_exhaustive;
using model::record;
using model::signal;
using testing::check;
using testing::execution;

/// Records outlive the pool.
struct world {
  explicit world(pool_options how) : pool(std::move(how)) {}
  std::array<record, 4> of;
  signal go;
  std::optional<thread_pool> other;
  thread_pool pool;
};

// ---- memory -----------------------------------------------------------------------------------------------

// Two threads drop handles of ended works after the pool has gone: the last one frees its memory.
TEST(work_word_model, handles_that_outlive_the_pool_free_its_memory_together) {
  const auto body = [](execution& e) {
    auto& handles = e.make<std::array<work<void>, 2>>();
    {
      thread_pool p(few_threads(1));
      for (auto& each : handles) each = p.submit([] {});
      p.wait_idle();
    }
    for (auto& each : handles) e.thread("owner", [&each] { each = work<void>(); });
  };
  expect_holds(pool_exhaustive("pool_memory"), body);
}

// A search for an id that was never given out, while the first slots are made.
TEST(work_word_model, guessed_id_finds_no_job_while_slots_are_created) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    e.thread("submitter", [&w] { w.of[0].handle = w.pool.submit(w.of[0].function(), w.of[0].options()); });
    e.thread("guesses", [&w] {
      const work_id guess{(std::uint64_t{9} << 24U) | 1U};
      check(w.pool.status(guess) == work_status::created, "there was no such work");
    });
  };
  expect_holds(pool_exhaustive("slot_guess", 0), body);
}

// ---- one end ----------------------------------------------------------------------------------------------

TEST(work_word_model, job_ends_once_when_a_cancel_races_its_start) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    record& r = w.of[0];
    r.handle = w.pool.submit(r.function(), r.options());
    e.thread("canceller", [&r] { static_cast<void>(r.handle.cancel()); });
    e.thread("waiter", [&r] {
      r.handle.wait();
      r.check_end();
    });
    e.finally([&r] { r.check_end(); });
  };
  expect_holds(pool_exhaustive("work_cancel"), body);
  expect_holds(pool_at_random("work_cancel pct"), body);
}

TEST(work_word_model, job_ends_once_when_a_cancel_and_two_stops_race_its_run) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    record& r = w.of[0];
    r.handle = w.pool.submit(
        [&r, with = luggage{}] {
          ++r.runs;
          this_work::stop_if_requested();
          r.done.set(7);
          return 7;
        },
        r.options());
    e.thread("canceller",
             [&r] { check(!r.handle.cancel() || r.runs == 0, "what is taken back has not run"); });
    for (int i = 0; i < 2; ++i) e.thread("stopper", [&r] { static_cast<void>(r.handle.stop()); });
    e.thread("waiter", [&r] {
      r.handle.wait();
      r.check_end();
    });
    e.finally([&r] { r.check_end(); });
  };
  expect_holds(pool_exhaustive("work_stop", 0), body);
  expect_holds(pool_at_random("work_stop pct"), body);
}

// The handle goes while the job ends: either thread may be the last owner of the result.
TEST(work_word_model, a_failure_is_fetched_or_reported_once) {
  for (const bool fetches : {false, true}) {
    const auto body = [fetches](execution& e) {
      e.thread("owner", [fetches] {
        static int reported;
        reported = 0;
        pool_options how = few_threads(1);
        how.on_unhandled =
            unhandled_policy::callback([](const unhandled_exception&) noexcept { ++reported; });
        {
          thread_pool pool(how);
          auto made = pool.submit([with = luggage{}] { throw std::runtime_error("no"); });
          if (fetches) static_cast<void>(made.fetch());
          made = work<void>();
          pool.wait_idle();
        }
        check(reported == (fetches ? 0 : 1), "fetched, or reported once");
      });
    };
    expect_holds(pool_exhaustive(fetches ? "failure_fetched" : "failure_dropped"), body);
  }
}

TEST(work_word_model, fetch_returns_the_result_or_the_exception_of_the_job) {
  for (const bool fails : {false, true}) {
    const auto body = [fails](execution& e) {
      auto& w = e.make<world>(few_threads(1));
      auto& made = e.make<work<std::unique_ptr<int>>>(w.pool.submit([fails, with = luggage{}] {
        if (fails) throw std::runtime_error("no");
        return std::make_unique<int>(7);
      }));
      e.thread("fetcher", [&made, fails] {
        auto got = made.fetch();
        if (fails) {
          check(got.has_exception() && made.status() == work_status::failed, "what it threw");
        } else {
          check(got.has_value() && *got.value() == 7, "what it returned");
        }
      });
      e.thread("watcher", [&made] {
        while (!made.is_done()) base::cpu_relax();
        check(is_final(made.status()), "over is final");
      });
    };
    expect_holds(pool_exhaustive(fails ? "work_throws" : "work_returns"), body);
  }
}

// ---- waiters ----------------------------------------------------------------------------------------------

// Two wait on the word, one in a list; and one of the list leaves it while the job ends.
TEST(work_word_model, every_waiter_is_woken_when_its_job_ends) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    for (unsigned i = 0; i < 2; ++i) w.of[i].handle = w.pool.submit(w.of[i].function(), w.of[i].options());
    e.thread("any", [&w] {
      const std::array ids{w.of[0].handle.id(), w.of[1].handle.id()};
      const work_id first = w.pool.wait_any(ids);
      check(first == ids[0] || first == ids[1], "one of them");
      check((first == ids[0] ? w.of[0] : w.of[1]).handle.is_done(), "which is over");
    });
    e.thread("waiter", [&w] {
      w.of[1].handle.wait();
      w.of[1].check_end();
    });
    e.thread("canceller", [&w] { static_cast<void>(w.of[0].handle.cancel()); });
    e.finally([&w] {
      for (unsigned i = 0; i < 2; ++i) w.of[i].check_end();
    });
  };
  expect_holds(pool_exhaustive("work_waiters"), body);
  expect_holds(pool_at_random("work_waiters pct"), body);
}

// A job that waits for another one of its pool runs it, or leaves its place to a thread that does.
TEST(work_word_model, wait_inside_a_job_ends_when_the_other_job_runs_or_is_cancelled) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    record& inner = w.of[1];
    inner.handle = w.pool.submit(inner.function(), inner.options());
    record& outer = w.of[0];
    outer.handle = w.pool.submit(
        [&inner, &outer, with = luggage{}] {
          ++outer.runs;
          inner.handle.wait();
          inner.check_end();
          outer.done.set(7);
          return 7;
        },
        outer.options());
    e.thread("canceller", [&inner] { static_cast<void>(inner.handle.cancel()); });
    e.thread("waiter", [&outer] { outer.handle.wait(); });
    e.finally([&w] {
      for (unsigned i = 0; i < 2; ++i) w.of[i].check_end();
      check(w.of[0].runs == 1, "who waited has run");
    });
  };
  expect_holds(pool_exhaustive("work_waits"), body);
  expect_holds(pool_at_random("work_waits pct"), body);
}

// First the waiting job, then the one that it awaits, which is queued behind it.
TEST(work_word_model, job_runs_the_queued_job_that_it_waits_for) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(2));
    record& inner = w.of[1];
    record& outer = w.of[0];
    outer.handle = w.pool.submit(
        [&w, &inner, &outer, with = luggage{}] {
          ++outer.runs;
          inner.handle = w.pool.submit(inner.function(), inner.options());
          inner.handle.wait();
          inner.check_end();
          outer.done.set(7);
          return 7;
        },
        outer.options());
    e.thread("waiter", [&outer] { outer.handle.wait(); });
    e.finally([&w] {
      for (unsigned i = 0; i < 2; ++i) w.of[i].check_end();
    });
  };
  expect_holds(pool_exhaustive("work_inside"), body);
  expect_holds(pool_at_random("work_inside pct"), body);
}

// ---- time, force ------------------------------------------------------------------------------------------

// Its time limit passes while it begins, sleeps, and ends.
TEST(work_word_model, job_ends_once_when_its_timeout_races_its_end) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    record& r = w.of[0];
    work_options how = r.options();
    how.timeout = timeout_options(1ms);
    r.handle = w.pool.submit(
        [&r, with = luggage{}] {
          ++r.runs;
          this_work::sleep_for(1ms);
          r.done.set(7);
          return 7;
        },
        how);
    e.thread("waiter", [&r] {
      r.handle.wait();
      r.check_end();
      check(r.told == work_status::succeeded || r.told == work_status::stopped, "one or the other");
    });
  };
  testing::options o = pool_exhaustive("work_timeout");
  o.early_timeouts = 1;
  expect_holds(o, body);
  testing::options random = pool_at_random("work_timeout pct");
  random.early_timeouts = 2;
  expect_holds(random, body);
}

// It ignores the stop. Either it ends in time, or its thread is lost and it ends as abandoned: once.
TEST(work_word_model, job_that_ignores_a_force_stop_ends_or_is_abandoned_once) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    for (unsigned i = 0; i < 2; ++i) {
      record& r = w.of[i];
      r.handle = w.pool.submit(
          [&w, &r, i, with = luggage{}] {
            ++r.runs;
            if (i == 0) w.go.wait();
            r.done.set(7);
            return 7;
          },
          r.options());
    }
    e.thread("stopper", [&w] {
      static_cast<void>(w.of[0].handle.force_stop());
      w.go.raise();
    });
    e.thread("waiter", [&w] {
      for (unsigned i = 0; i < 2; ++i) {
        w.of[i].handle.wait();
        w.of[i].check_end();
      }
      check(w.of[1].told == work_status::succeeded, "the one behind it has run");
    });
    e.finally([&w] {
      check(w.of[0].told != work_status::abandoned || w.pool.stats().abandoned == 0, "who was lost has gone");
    });
  };
  testing::options o = pool_exhaustive("work_abandon", 0);
  o.early_timeouts = 1;
  expect_holds(o, body);
  testing::options random = pool_at_random("work_abandon pct");
  random.early_timeouts = 2;
  expect_holds(random, body);
}

// The function goes on only after it was seen to be given up.
TEST(work_word_model, a_thread_that_is_lost_is_replaced) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    record& r = w.of[0];
    r.handle = w.pool.submit(
        [&w, &r, with = luggage{}] {
          ++r.runs;
          w.go.wait();
          return 7;
        },
        r.options());
    record& next = w.of[1];
    next.handle = w.pool.submit(next.function(), next.options());
    e.thread("stopper", [&w, &r, &next] {
      // Nothing but the word says that it runs.
      check(r.handle.force_stop(), "it has not ended");
      r.handle.wait();
      check(r.ends == 1, "it ends once");
      check(r.told == (r.runs == 0 ? work_status::cancelled : work_status::abandoned), "it was given up");
      next.handle.wait();
      next.check_end();
      w.go.raise();
    });
  };
  expect_holds(pool_exhaustive("work_lost"), body);
  expect_holds(pool_at_random("work_lost pct"), body);
}

// ---- pauses -----------------------------------------------------------------------------------------------

TEST(work_word_model, job_ends_when_pauses_and_resumes_race_its_run) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    record& r = w.of[0];
    r.handle = w.pool.submit(
        [&r, with = luggage{}] {
          ++r.runs;
          this_work::pause_if_requested();
          r.done.set(7);
          return 7;
        },
        r.options());
    e.thread("pauser", [&r] {
      static_cast<void>(r.handle.pause());
      static_cast<void>(r.handle.resume());
    });
    e.thread("all", [&w] {
      w.pool.pause_all();
      w.pool.resume_all();
    });
    e.thread("waiter", [&r] {
      r.handle.wait();
      r.check_end();
    });
  };
  expect_holds(pool_exhaustive("work_pause"), body);
  expect_holds(pool_at_random("work_pause pct"), body);
}

// It begins just after the resuming thread has found it queued: it must not see the old pause.
TEST(work_word_model, job_that_begins_during_a_resume_ignores_the_old_pause) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    e.thread("all", [&w] {
      auto handle = w.pool.submit([] { this_work::pause_if_requested(); });
      w.pool.pause_all();
      w.pool.resume_all();
      handle.wait();
    });
  };
  testing::options o = pool_exhaustive("work_pause_stale");
  o.stale_reads = 4;  // twice: how many pauses there are, and whether all are paused
  expect_holds(o, body);
}

// A job that waits in a queue is held, too; and it is stopped meanwhile.
TEST(work_word_model, paused_queued_jobs_end_after_a_resume_or_a_cancel) {
  const auto body = [](execution& e) {
    pool_options how = few_threads(1);
    how.pause = pause_mode::queued_too;
    auto& w = e.make<world>(how);
    for (unsigned i = 0; i < 2; ++i) w.of[i].handle = w.pool.submit(w.of[i].function(), w.of[i].options());
    e.thread("all", [&w] {
      w.pool.pause_all();
      w.pool.resume_all();
    });
    e.thread("canceller", [&w] { static_cast<void>(w.of[0].handle.cancel()); });
    e.thread("waiter", [&w] {
      for (unsigned i = 0; i < 2; ++i) {
        w.of[i].handle.wait();
        w.of[i].check_end();
      }
    });
  };
  expect_holds(pool_exhaustive("work_held"), body);
  expect_holds(pool_at_random("work_held pct"), body);
}

TEST(work_word_model, stop_reaches_a_paused_job) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    record& r = w.of[0];
    w.pool.pause_all();
    r.handle = w.pool.submit(
        [&r, with = luggage{}] {
          ++r.runs;
          this_work::pause_if_requested();
          return 7;
        },
        r.options());
    e.thread("stopper", [&r] { check(r.handle.stop(), "it has not ended"); });
    e.thread("waiter", [&r] {
      r.handle.wait();
      check(r.told == work_status::stopped || r.told == work_status::cancelled, "it was stopped");
    });
  };
  expect_holds(pool_exhaustive("work_paused_stop"), body);
}

// ---- again ------------------------------------------------------------------------------------------------

// Its first attempt fails, and it waits in a queue again, where it is cancelled, or run by another thread.
TEST(work_word_model, requeued_second_attempt_runs_once_or_is_cancelled) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(2));
    record& r = w.of[0];
    work_options how = r.options();
    how.retry.limit = 1;
    how.retry.where = retry_where::requeued;
    r.handle = w.pool.submit(
        [&r, with = std::make_shared<luggage>()]() -> int {
          if (this_work::attempt() == 0) throw std::runtime_error("again");
          check(++r.runs == 1, "the second attempt runs once");
          r.done.set(7);
          return 7;
        },
        how);
    e.thread("canceller", [&r] { static_cast<void>(r.handle.cancel()); });
    e.thread("waiter", [&r] {
      r.handle.wait();
      r.check_end();
      check(r.told == work_status::succeeded || r.told == work_status::cancelled, "its second end");
    });
  };
  expect_holds(pool_exhaustive("work_again", 0), body);
  expect_holds(pool_at_random("work_again pct"), body);
}

// The second attempt does not end, and is abandoned: its thread is lost, not that of the first.
TEST(work_word_model, abandoned_retry_loses_the_thread_of_the_second_attempt) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(2));
    record& r = w.of[0];
    work_options how = r.options();
    how.retry.limit = 1;
    how.retry.where = retry_where::requeued;
    auto& begun = e.make<signal>();
    r.handle = w.pool.submit(
        [&w, &begun]() -> int {
          if (this_work::attempt() == 0) throw std::runtime_error("again");
          begun.raise();
          w.go.wait();
          return 7;
        },
        how);
    e.thread("stopper", [&w, &r, &begun] {
      begun.wait();
      check(r.handle.force_stop(), "it runs");
      r.handle.wait();
      check(r.told == work_status::abandoned && r.ends == 1, "it was given up");
      check(w.pool.stats().abandoned == 1, "and its thread is still there");
      w.go.raise();
    });
  };
  testing::options o = pool_exhaustive("work_again_lost");
  o.early_timeouts = 1;
  expect_holds(o, body);
  testing::options random = pool_at_random("work_again_lost pct");
  random.early_timeouts = 1;
  expect_holds(random, body);
}

// ---- slots ------------------------------------------------------------------------------------------------

// An old id finds nothing, also while its slot is reused.
TEST(work_word_model, an_old_id_does_nothing_to_the_next_work_of_its_slot) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    record& first = w.of[0];
    record& next = w.of[1];
    const work_id old = w.pool.submit(first.function(), first.options()).id();
    e.thread("submitter", [&w, &next, old] {
      static_cast<void>(w.pool.wait(old));
      next.handle = w.pool.submit(next.function(), next.options());
      next.handle.wait();
      check(next.handle.id() != old && next.told == work_status::succeeded, "it was left alone");
    });
    e.thread("late", [&w, old] {
      static_cast<void>(w.pool.cancel(old));
      static_cast<void>(w.pool.stop(old));
      const work_status seen = w.pool.status(old);
      check(seen == work_status::created || seen >= work_status::queued, "nothing of another's");
    });
    e.finally([&first] { first.check_end(first.told); });
  };
  expect_holds(pool_exhaustive("slot_old"), body);
  expect_holds(pool_at_random("slot_old pct", 4'000), body);
}

// ---- the pool's end ---------------------------------------------------------------------------------------

TEST(work_word_model, submit_throws_or_its_job_ends_once_when_a_shutdown_races) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    for (unsigned i = 0; i < 2; ++i) {
      e.thread("submitter", [&w, i] {
        record& r = w.of[i];
        try {
          r.handle = w.pool.submit(r.function(), r.options());
        } catch (const error& refused) {
          check(refused.code() == errc::shut_down && r.runs == 0 && r.ends == 0,
                "refused, and nothing has happened");
          return;
        }
        r.handle.wait();
        r.check_end();
      });
    }
    e.thread("manager", [&w] { static_cast<void>(w.pool.shutdown(0ns)); });
  };
  expect_holds(pool_exhaustive("pool_end", 0), body);
  expect_holds(pool_at_random("pool_end pct"), body);
}

TEST(work_word_model, submit_with_a_reserved_id_runs_or_throws_when_a_shutdown_races) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    const work_id id = w.pool.reserve();
    e.thread("submitter", [&w, id] {
      record& r = w.of[0];
      work_options how = r.options();
      how.id = id;
      try {
        r.handle = w.pool.submit(r.function(), how);
      } catch (const error&) {
        check(r.ends == 0, "refused, and nothing has happened");
        return;
      } catch (const std::invalid_argument&) {
        check(r.ends == 0, "the reservation was given up, and nothing has happened");
        return;
      }
      r.handle.wait();
      r.check_end();
    });
    e.thread("waiter", [&w, id] { static_cast<void>(w.pool.wait(id)); });
    e.thread("manager", [&w] { static_cast<void>(w.pool.shutdown(0ns)); });
  };
  expect_holds(pool_exhaustive("pool_end_reserved", 0), body);
  expect_holds(pool_at_random("pool_end_reserved pct"), body);
}

// The thread that has got the id waits for it; the pool's end must find the reservation.
TEST(work_word_model, wait_for_a_reserved_id_ends_when_the_pool_shuts_down) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    e.thread("reserver", [&w] {
      try {
        static_cast<void>(w.pool.wait(w.pool.reserve()));
      } catch (const error& refused) {
        check(refused.code() == errc::shut_down, "it says why");
      }
    });
    e.thread("manager", [&w] { static_cast<void>(w.pool.shutdown(0ns)); });
  };
  expect_holds(pool_exhaustive("pool_end_reserves"), body);
  expect_holds(pool_at_random("pool_end_reserves pct"), body);
}

// It waits for another job, and is found by its name: its time counts from now on, or no timer is left.
TEST(work_word_model, cancel_that_races_the_start_of_a_timeout_leaves_no_timer) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    const work_id first = (w.of[0].handle = w.pool.submit(w.of[0].function(), w.of[0].options())).id();
    e.thread("submitter", [&w, first] {
      work_options how = w.of[1].options();
      how.name = "late";
      how.after = {first};
      how.timeout = {1h, on_timeout::stop, timeout_from::submit};
      w.of[1].handle = w.pool.submit(w.of[1].function(), how);
      w.of[1].handle.wait();
    });
    e.thread("canceller", [&w] { static_cast<void>(w.pool.cancel(w.pool.find("late"))); });
  };
  expect_holds(pool_exhaustive("time_cancel", 0), body);
  expect_holds(pool_at_random("time_cancel pct", 4'000), body);
}

// ---- force, while it waits --------------------------------------------------------------------------------

/// A job waits for what comes only after its end, and is force stopped, with a grace that never passes.
void force_out(std::string_view name, void (*waits)(world&), pool_options how) {
  how.force_grace = 1h;
  const auto body = [waits, how](execution& e) {
    auto& w = e.make<world>(how);
    work_options in_group;
    in_group.group = "g";
    w.of[1].handle = w.pool.submit(
        [&w] {
          w.go.wait();
          return 7;
        },
        in_group);
    record& r = w.of[0];
    r.handle = w.pool.submit(
        [&w, &r, waits, with = luggage{}] {
          ++r.runs;
          waits(w);
          return 7;
        },
        r.options());
    e.thread("stopper", [&w, &r] {
      static_cast<void>(r.handle.force_stop());
      r.handle.wait();
      check(r.told == work_status::cancelled || r.told == work_status::force_stopped, "it was got out");
      w.go.raise();
    });
  };
  expect_holds(pool_at_random(name, 6'000), body);
}

TEST(work_word_model, a_force_stop_gets_a_work_out_of_a_wait_for_any) {
  force_out(
      "force_any",
      +[](world& w) {
        const work_id all[]{w.of[1].handle.id()};
        static_cast<void>(w.pool.wait_any(all));
      },
      few_threads(2));
}
TEST(work_word_model, a_force_stop_gets_a_work_out_of_a_wait_for_a_group) {
  force_out("force_group", +[](world& w) { w.pool.wait("g"); }, few_threads(2));
}

TEST(work_word_model, a_force_stop_gets_a_work_out_of_a_wait_for_queue_space) {
  force_out(
      "force_place",
      +[](world& w) {
        pool_options full = few_threads(1);
        full.queue_limit = 1;
        full.on_full = rejection::block;
        w.other.emplace(full);
        // One runs, and one has the place. Two more may find a place: the count of free threads is a guess,
        // possibly from the start of the first thread. The fifth has to wait.
        for (int i = 0; i < 5; ++i) *w.other | [&w] { w.go.wait(); };
      },
      few_threads(2));
}

// ---- full queues ------------------------------------------------------------------------------------------

/// Three works for one thread and a queue of one.
void fill_up(execution& e, rejection policy) {
  pool_options how = few_threads(1);
  how.queue_limit = 1;
  how.on_full = policy;
  auto& w = e.make<world>(how);
  for (unsigned p = 0; p < 3; ++p) {
    e.thread("submitter", [&w, p] {
      record& r = w.of[p];
      r.handle = w.pool.submit(r.function(), r.options());
      r.handle.wait();
      r.check_end();
    });
  }
  e.finally([&w] {
    const pool_stats now = w.pool.stats();
    check(now.outstanding == 0 && now.succeeded + now.discarded == 3, "each has ended");
  });
}

TEST(work_word_model, every_job_ends_once_when_submitters_meet_a_full_queue) {
  const auto body = [](execution& e) { fill_up(e, rejection::block); };
  expect_holds(pool_exhaustive("full_block", 0), body);
  expect_holds(pool_at_random("full_block pct"), body);
}

TEST(work_word_model, submitter_runs_the_job_itself_when_the_queue_is_full) {
  const auto body = [](execution& e) { fill_up(e, rejection::caller_runs); };
  expect_holds(pool_exhaustive("full_caller", 0), body);
  expect_holds(pool_at_random("full_caller pct"), body);
}

TEST(work_word_model, queued_job_is_discarded_when_the_queue_is_full) {
  const auto body = [](execution& e) { fill_up(e, rejection::discard_queued); };
  expect_holds(pool_exhaustive("full_discard", 0), body);
  expect_holds(pool_at_random("full_discard pct"), body);
}

// The limit of each thread's queue alone: a waiting submitter is woken for a place there.
TEST(work_word_model, submitter_waits_when_the_queue_of_the_thread_is_full) {
  const auto body = [](execution& e) {
    pool_options how = few_threads(1);
    how.worker_queue_limit = 1;
    how.on_full = rejection::block;
    auto& w = e.make<world>(how);
    for (unsigned p = 0; p < 3; ++p) {
      e.thread("submitter", [&w, p] {
        w.of[p].handle = w.pool.submit(w.of[p].function(), w.of[p].options());
        w.of[p].handle.wait();
      });
    }
  };
  expect_holds(pool_exhaustive("full_worker", 0), body);
  expect_holds(pool_at_random("full_worker pct"), body);
}

// ---- groups -----------------------------------------------------------------------------------------------

// One of three at once; the second is cancelled while it waits for its place, which goes to the third.
TEST(work_word_model, group_slot_of_a_cancelled_job_passes_to_the_next_job) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(2));
    w.pool.limit_group("g", 1);
    for (unsigned i = 0; i < 3; ++i) {
      work_options how = w.of[i].options();
      how.group = "g";
      w.of[i].handle = w.pool.submit(w.of[i].function(), how);
    }
    e.thread("canceller", [&w] { static_cast<void>(w.of[1].handle.cancel()); });
    e.thread("waiter", [&w] {
      w.pool.wait("g");
      for (unsigned i = 0; i < 3; ++i) {
        w.of[i].handle.wait();
        w.of[i].check_end();
      }
    });
  };
  expect_holds(pool_exhaustive("group_place", 0), body);
  expect_holds(pool_at_random("group_place pct"), body);
}

}  // namespace
}  // namespace rota::pool
