// The slots of a pool: segments are emptied, given back to the system and opened again, beside readers with
// only an id. An id is given out once, an old id leads to no other job, and the memory is freed once.
#include "pool/pool_core.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <rota/testing/explore.hpp>
#include "model/pool_world.hpp"

namespace rota::pool::detail {
namespace {

using model::expect_holds;
using model::guest;
using model::pool_at_random;
using model::pool_exhaustive;
using testing::check;
using testing::execution;

/// Over, and with one reference: it is drawn and dropped without a thread of the pool.
constexpr std::uint64_t one_reference = word{1}.to(work_status::succeeded).with(over).bits;

/// In a model a segment has 2 slots, a batch has 2, and a stock keeps up to 6.
constexpr std::size_t enough = 8;

struct world {
  world() : pool(new pool_core(with_guest())) {
    for (work_core*& each : drawn) {
      each = &pool->memory.draw(one_reference, nullptr);
      ids.push_back(each->id);
    }
    // The slots of a segment have different generations.
    pool->drop(*drawn.back());
    drawn.back() = &pool->memory.draw(one_reference, nullptr);
    ids.push_back(drawn.back()->id);
  }
  /// With something that goes when the pool's memory does.
  static pool_options with_guest() {
    pool_options o = model::few_threads(1);
    o.on_thread_start = [kept = std::make_shared<guest>()](unsigned /*index*/) {};
    return o;
  }
  /// The sixth and the seventh fill a batch, and are one segment.
  void drop_all() {
    for (const std::size_t i : {0U, 2U, 3U, 4U, 5U, 6U, 7U, 1U}) pool->drop(*drawn[i]);
  }
  /// As many as before: from the stock, from what stayed present, and from what is opened again.
  void draw_again() {
    for (work_core*& each : drawn) {
      each = &pool->memory.draw(one_reference, nullptr);
      check(std::find(ids.begin(), ids.end(), each->id) == ids.end(), "an id is given out once");
      ids.push_back(each->id);
    }
  }
  void end() {
    pool->shut_down(base::nanoseconds(0));
    pool->let_go();
  }

  pool_core* pool;
  std::array<work_core*, enough> drawn{};
  std::vector<std::uint64_t> ids;
};

TEST(pool_slots_model, an_empty_segment_is_returned_and_reused) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>();
    const std::uint32_t before = w.pool->memory.segments_held();
    w.drop_all();
    check(w.pool->memory.segments_held() < before, "a segment is given back");
    w.draw_again();
    check(w.pool->memory.segments_held() == before, "and is used again");
    for (const work_core* const each : w.drawn) check(each->index < enough, "before another one is made");
    w.drop_all();
    e.finally([&w] { w.end(); });
  };
  expect_holds(pool_exhaustive("slots_alone"), body);
}

TEST(pool_slots_model, an_old_id_is_known_and_leads_to_no_other_work) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>();
    const auto& old = e.make<std::vector<std::uint64_t>>(w.ids);
    e.thread("owner", [&w] {
      w.drop_all();
      w.draw_again();
    });
    e.thread("reader", [&w, &old] {
      // Of the segment that leaves.
      for (const std::uint64_t id : {old.back(), old[enough - 2]}) {
        check(w.pool->memory.was_drawn(id), "it was given out");
        work_core* const found = w.pool->memory.find(id);
        if (found == nullptr) continue;
        check(found->id == id, "it is that one");
        w.pool->drop(*found);
      }
    });
    e.finally([&w] {
      w.drop_all();
      w.end();
    });
  };
  expect_holds(pool_exhaustive("slots_reader"), body);
  expect_holds(pool_at_random("slots_reader pct"), body);
}

TEST(pool_slots_model, pool_memory_is_freed_once_if_a_segment_is_returned_meanwhile) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>();
    e.thread("owner", [&w] { w.drop_all(); });
    e.thread("end", [&w] { w.end(); });
  };
  expect_holds(pool_exhaustive("slots_end"), body);
  expect_holds(pool_at_random("slots_end pct"), body);
}

TEST(pool_slots_model, two_threads_return_each_emptied_segment_once) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>();
    e.thread("first", [&w] { w.drop_all(); });
    e.thread("second", [&w] {
      std::array<work_core*, enough> own{};
      for (work_core*& each : own) each = &w.pool->memory.draw(one_reference, nullptr);
      for (work_core* const each : own) {
        check(std::count(own.begin(), own.end(), each) == 1, "a slot is one thread's");
        check(each->load().refs() == 1, "and one work's");
        w.pool->drop(*each);
      }
    });
    e.finally([&w] {
      w.draw_again();
      w.drop_all();
      w.end();
    });
  };
  expect_holds(pool_exhaustive("slots_two"), body);
  expect_holds(pool_at_random("slots_two pct"), body);
}

}  // namespace
}  // namespace rota::pool::detail
