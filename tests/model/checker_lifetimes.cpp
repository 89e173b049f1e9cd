// Allocation, free and use after free; and how a failing execution ends.
#include <rota/testing/explore.hpp>
#include "base/frame_allocator.hpp"
#include "base/tls_slot.hpp"

#include <rota/detail/base.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

namespace rota {
namespace {

using base::order;
using testing::check;
using testing::execution;
using testing::explore;

bool mentions(const testing::report& r, std::string_view words) {
  return r.what.find(words) != std::string::npos;
}

template <class F>
testing::report in_one_thread(F f, testing::options o = {}) {
  return explore(o, [&f](execution& e) { e.thread("only", f); });
}

TEST(checker_lifetimes, a_frame_that_is_freed_once_is_fine) {
  const auto r = in_one_thread([] { base::free_frame(base::allocate_frame(100), 100); });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_lifetimes, a_frame_that_is_not_freed_is_a_leak) {
  const auto r = in_one_thread([] { (void)base::allocate_frame(100); });
  EXPECT_TRUE(mentions(r, "leak: 1 left at the end")) << to_string(r);
  EXPECT_TRUE(mentions(r, "allocated by T1 only")) << r.what;
}

TEST(checker_lifetimes, a_frame_that_is_freed_twice_is_a_failure) {
  const auto r = in_one_thread([] {
    void* frame = base::allocate_frame(100);
    base::free_frame(frame, 100);
    base::free_frame(frame, 100);
  });
  EXPECT_TRUE(mentions(r, "double free")) << to_string(r);
}

TEST(checker_lifetimes, a_frame_that_is_freed_with_another_size_is_a_failure) {
  const auto r = in_one_thread([] { base::free_frame(base::allocate_frame(100), 101); });
  EXPECT_TRUE(mentions(r, "another size")) << to_string(r);
}

TEST(checker_lifetimes, free_of_a_frame_that_was_never_allocated_is_a_failure) {
  const auto r = in_one_thread([] {
    int local = 0;
    base::free_frame(&local, sizeof local);
  });
  EXPECT_TRUE(mentions(r, "never allocated")) << to_string(r);
}

TEST(checker_lifetimes, tracked_object_must_be_deleted_exactly_once) {
  const auto deleted = [](int times) {
    return in_one_thread([times] {
      int object = 0;
      testing::track_new(&object, "a thing");
      for (int i = 0; i < times; ++i) testing::track_delete(&object);
    });
  };
  EXPECT_TRUE(mentions(deleted(0), "a thing")) << to_string(deleted(0));
  EXPECT_FALSE(deleted(1).failed) << to_string(deleted(1));
  EXPECT_TRUE(mentions(deleted(2), "double free")) << to_string(deleted(2));
}

TEST(checker_lifetimes, object_may_be_created_where_another_was_destroyed) {
  const auto r = in_one_thread([] {
    int object = 0;
    for (int i = 0; i < 2; ++i) {
      testing::track_new(&object, "a thing");
      testing::track_delete(&object);
    }
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_lifetimes, access_to_an_atomic_in_a_freed_frame_is_a_failure) {
  const auto r = in_one_thread([] {
    void* frame = base::allocate_frame(sizeof(base::atomic<int>));
    auto* word = ::new (frame) base::atomic<int>(0);
    base::free_frame(frame, sizeof(base::atomic<int>));
    word->store(1, order::relaxed);  // relaxed. The fault is the store itself.
  });
  EXPECT_TRUE(mentions(r, "use after free")) << to_string(r);
}

TEST(checker_lifetimes, access_to_plain_memory_in_a_freed_frame_is_a_failure) {
  const auto r = in_one_thread([] {
    void* frame = base::allocate_frame(64);
    base::free_frame(frame, 64);
    base::note_read(static_cast<std::byte*>(frame) + 17);
  });
  EXPECT_TRUE(mentions(r, "use after free")) << to_string(r);
}

TEST(checker_lifetimes, a_freed_address_is_not_given_out_again) {
  const auto r = in_one_thread([] {
    void* first = base::allocate_frame(64);
    base::free_frame(first, 64);
    void* second = base::allocate_frame(64);
    check(first != second, "an old pointer points to nothing");
    base::free_frame(second, 64);
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_lifetimes, free_of_a_frame_under_a_reader_is_a_failure) {
  struct holder {
    base::cell<void*> frame{nullptr};
    base::atomic<int> ready{0};
  };
  const auto r = explore({}, [](execution& e) {
    auto& h = e.make<holder>();
    e.thread("owner", [&h] {
      h.frame.set(base::allocate_frame(64));
      base::note_write(h.frame.get());
      h.ready.store(1, order::release);  // release. Pairs with the reader's load.
      base::free_frame(h.frame.get(), 64);
    });
    e.thread("reader", [&h] {
      // acquire. Pairs with the owner's store.
      if (h.ready.load(order::acquire) == 1) base::note_read(h.frame.get());
    });
  });
  EXPECT_TRUE(mentions(r, "data race") || mentions(r, "use after free")) << to_string(r);
}

TEST(checker_lifetimes, use_of_an_atomic_after_its_destructor_is_a_failure) {
  const auto r = in_one_thread([] {
    std::optional<base::atomic<int>> word(std::in_place, 0);
    auto* old = &*word;
    word.reset();
    (void)old->load(order::relaxed);  // relaxed. The fault is the load itself.
  });
  EXPECT_TRUE(mentions(r, "use after end of life")) << to_string(r);
}

TEST(checker_lifetimes, an_atomic_may_be_made_where_another_was) {
  const auto r = in_one_thread([] {
    std::optional<base::atomic<int>> word;
    for (int i = 0; i < 3; ++i) {
      word.emplace(i);
      check(word->load(order::relaxed) == i, "a new one");  // relaxed. One thread.
    }
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_lifetimes, memory_that_was_given_back_is_new_to_the_next_owner) {
  const auto r = explore({}, [](execution& e) {
    auto& memory = e.make<long>(0);
    auto& turn = e.make<base::atomic<int>>(0);
    e.thread([&] {
      base::note_write(&memory);
      base::note_free(&memory, sizeof memory);
      turn.store(
          1, order::relaxed);  // relaxed. As the heap's own lock would order them, out of the model's sight.
    });
    e.thread([&] {
      if (turn.load(order::relaxed) == 1) base::note_write(&memory);  // relaxed. As the store.
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_lifetimes, memory_that_is_given_back_under_a_reader_is_a_race) {
  const auto r = explore({}, [](execution& e) {
    auto& memory = e.make<long>(0);
    e.thread("reader", [&memory] { base::note_read(&memory); });
    e.thread("owner", [&memory] { base::note_free(&memory, sizeof memory); });
  });
  EXPECT_TRUE(mentions(r, "data race: T2 owner frees")) << to_string(r);
}

TEST(checker_lifetimes, an_allocation_may_fail) {
  bool thrown = false;
  const auto r = in_one_thread(
      [&thrown] {
        try {
          base::free_frame(base::allocate_frame(8), 8);
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
      },
      {.allocation_failures = 1});
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_EQ(r.runs, 2U);
  EXPECT_TRUE(thrown);
}

TEST(checker_lifetimes, objects_of_the_body_are_destroyed_newest_first) {
  std::string destroyed;
  struct note {
    note(std::string& to, char letter) : to_(to), letter_(letter) {}
    note(const note&) = delete;
    note& operator=(const note&) = delete;
    ~note() { to_ += letter_; }
    std::string& to_;
    char letter_;
  };
  const auto r = explore({.replay_every = 0}, [&destroyed](execution& e) {
    e.make<note>(destroyed, 'a');
    e.make<note>(destroyed, 'b');
    e.finally([&destroyed] { destroyed += '-'; });
  });
  EXPECT_EQ(r.runs, 1U);
  EXPECT_EQ(destroyed, "-ba");
}

TEST(checker_lifetimes, large_functions_are_kept_and_destroyed_too) {
  const auto counted = std::make_shared<int>(0);
  const auto r = explore({}, [&counted](execution& e) {
    std::array<char, 200> large{};
    e.thread([counted, large] { check(large[0] == 0 && counted != nullptr, "captures are there"); });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(checker_lifetimes, an_exception_that_leaves_a_thread_is_a_failure) {
  const auto r = in_one_thread([] { throw std::runtime_error("out of luck"); });
  EXPECT_EQ(r.what, "an exception left T1 only: out of luck");
  EXPECT_TRUE(mentions(in_one_thread([] { throw 7; }), "of a type that is not std::exception"));
}

TEST(checker_lifetimes, an_exception_that_leaves_the_body_is_a_failure) {
  const auto r = explore({}, [](execution&) { throw std::runtime_error("no state"); });
  EXPECT_EQ(r.what, "an exception left main: no state");
}

TEST(checker_lifetimes, an_exception_that_leaves_a_noexcept_function_is_a_failure) {
  const auto raise = [] { throw std::runtime_error("not here"); };
  const auto r = in_one_thread([raise]() noexcept { raise(); });
  EXPECT_EQ(r.what, "std::terminate was called");
}

TEST(checker_lifetimes, a_fatal_error_is_a_failure_with_its_words) {
  const auto r = in_one_thread([] { ROTA_FATAL("the ledger does not balance", 17); });
  EXPECT_TRUE(mentions(r, "fatal: the ledger does not balance: 17")) << to_string(r);
}

// With a sanitizer the program ends here, with the sanitizer's report.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define __has_feature(x) 0
#endif
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

int deepen(volatile int* below, int depth) {
  volatile int here = depth;
  return depth == 0 ? *below : deepen(&here, depth - 1) + here;
}

TEST(checker_lifetimes, a_crash_is_a_failure_with_a_trace) {
  for (int round = 0; round < 3; ++round) {
    const auto r = in_one_thread([] {
      base::atomic<int> word{0};
      word.store(1, order::relaxed);  // relaxed. To be seen in the trace.
      volatile int* volatile nowhere = nullptr;
      *nowhere = 1;
    });
    EXPECT_TRUE(mentions(r, "crash: SIGSEGV")) << to_string(r);
    EXPECT_NE(r.trace.find("store"), std::string::npos);
  }
  EXPECT_TRUE(mentions(in_one_thread([] { std::abort(); }), "crash: SIGABRT"));
}

TEST(checker_lifetimes, a_stack_that_overflows_is_a_failure) {
  const auto r = in_one_thread([] {
    volatile int bottom = 0;
    check(deepen(&bottom, 10'000'000) != 1, "the sum is used");
  });
  EXPECT_TRUE(mentions(r, "crash: SIGSEGV")) << to_string(r);
}

#endif
#endif

// Each fibre has its own exceptions in flight, although all run on one thread of the system.
TEST(checker_lifetimes, thread_switch_inside_a_catch_handler_keeps_its_exception) {
  const auto r = explore({.preemptions = 3}, [](execution& e) {
    auto& word = e.make<base::atomic<int>>(0);
    for (int i = 1; i <= 2; ++i) {
      e.thread([&word, i] {
        try {
          throw i;
        } catch (int mine) {
          // relaxed. Points to change at.
          for (int step = 0; step < 3; ++step) word.fetch_add(1, order::relaxed);
          const auto current = std::current_exception();
          word.fetch_add(1, order::relaxed);  // relaxed. Another one.
          try {
            std::rethrow_exception(current);
          } catch (int again) {
            check(again == i && mine == i, "each handles its own");
          }
        }
        check(std::uncaught_exceptions() == 0, "nothing is in flight");
      });
    }
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_lifetimes, a_failure_inside_a_handler_leaves_no_exception_behind) {
  const auto r = in_one_thread([] {
    try {
      throw std::runtime_error("first");
    } catch (const std::exception&) {
      testing::fail("inside");
    }
  });
  EXPECT_EQ(r.what, "check failed: inside");
  EXPECT_EQ(std::current_exception(), nullptr);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST(checker_lifetimes, every_thread_has_its_own_locals) {
  const auto r = explore({.preemptions = 3}, [](execution& e) {
    auto& word = e.make<base::atomic<int>>(0);
    for (int i = 0; i < 2; ++i) {
      e.thread([&word] {
        check(base::this_thread_locals().worker == nullptr, "fresh");
        base::this_thread_locals().worker = &base::this_thread_locals();
        word.fetch_add(1, order::relaxed);  // relaxed. A point to change at.
        check(base::this_thread_locals().worker == &base::this_thread_locals(), "mine");
      });
    }
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_EQ(base::this_thread_locals().worker, nullptr);
}

TEST(checker_lifetimes, words_are_plain_outside_of_executions) {
  base::atomic<std::uint8_t> word{250};
  EXPECT_EQ(word.fetch_add(10, order::acq_rel), 250);  // acq_rel. Any order is the strongest here. So below.
  EXPECT_EQ(word.load(order::acquire), 4);             // acquire.
  EXPECT_EQ(word.fetch_sub(5, order::acq_rel), 4);     // acq_rel.
  EXPECT_EQ(word.exchange(0b0110, order::acq_rel), 255);      // acq_rel.
  EXPECT_EQ(word.fetch_or(0b0001, order::acq_rel), 0b0110);   // acq_rel.
  EXPECT_EQ(word.fetch_and(0b0011, order::acq_rel), 0b0111);  // acq_rel.
  std::uint8_t expected = 9;
  // acq_rel. failure: acquire.
  EXPECT_FALSE(word.compare_exchange_strong(expected, 1, order::acq_rel, order::acquire));
  EXPECT_EQ(expected, 0b0011);
  // acq_rel. failure: acquire.
  EXPECT_TRUE(word.compare_exchange_strong(expected, 1, order::acq_rel, order::acquire));
}

TEST(checker_lifetimes, words_of_every_size_wrap_as_they_do_on_the_machine) {
  const auto r = in_one_thread([] {
    base::atomic<std::uint8_t> small{250};
    check(small.fetch_add(10, order::relaxed) == 250, "8 bits");  // relaxed. One thread. So below.
    check(small.load(order::relaxed) == 4, "wrapped");            // relaxed.
    base::atomic<std::int32_t> negative{1};
    check(negative.fetch_sub(5, order::relaxed) == 1, "32 bits");  // relaxed.
    check(negative.load(order::relaxed) == -4, "signed");          // relaxed.
    base::atomic<std::uint64_t> large{0};
    check(large.fetch_sub(1, order::relaxed) == 0, "64 bits");          // relaxed.
    check(large.fetch_and(0xFF, order::relaxed) == ~0ULL, "all ones");  // relaxed.
    base::atomic<bool> flag{false};
    check(!flag.exchange(true, order::relaxed) && flag.load(order::relaxed), "bool");  // relaxed, both.
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

}  // namespace
}  // namespace rota
