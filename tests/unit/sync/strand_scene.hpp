// A strand with one task in its turn, which waits for an event, and others behind it.
#pragma once

#include "support/manual_scheduler.hpp"

#include <functional>
#include <string>
#include <vector>

#include <rota/rota.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/strand.hpp>

namespace rota::sync {

using test::manual_scheduler;

struct strand_scene {
  manual_scheduler s;
  strand line;
  event go;  // the first task waits for it in its turn
  std::string order;

  static task<void> holds(strand_scene& x, char name) {
    x.order += name;
    co_await x.go.wait();
    x.order += name;
  }
  static task<void> runs(strand_scene& x, char name) {
    const auto visit = [&x, name] { x.order += name; };
    co_await x.line.run(visit);
  }
  static task<void> holds_in_turn(strand_scene& x, char name) {
    co_await x.line.run(holds, std::ref(x), name);
  }
  std::vector<join_handle<void>> start(const std::string& names) {
    std::vector<join_handle<void>> all;
    for (const char name : names) all.push_back(s.spawn(runs(*this, name)));
    s.run_until_idle();
    return all;
  }
};

}  // namespace rota::sync
