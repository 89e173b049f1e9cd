#include <rota/testing/queue_contract.hpp>

#include "base/random.hpp"
#include "pool/custom_work_queue.hpp"

#include <array>
#include <climits>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace rota::testing {
namespace {

using pool::queued_work;
using pool::detail::user_queue;

enum class way : std::uint8_t { get, steal, discard };
constexpr std::array ways{way::get, way::steal, way::discard};

std::string name_of(way by) {
  constexpr std::array names{"get()", "steal()", "discard()"};
  return names[static_cast<std::size_t>(by)];
}

std::string words_for(const queued_work& work) {
  return "work " + std::to_string(work.id) + " of priority " + std::to_string(work.priority);
}

/// The faults found: one sentence of each kind.
class fault_list {
 public:
  void add(std::string kind, std::string_view example) {
    if (!kinds_.insert(kind).second) return;
    report_.faults.push_back(std::move(kind));
    if (!example.empty()) report_.faults.back().append(": ").append(example);
  }
  [[nodiscard]] queue_report& report() noexcept { return report_; }

 private:
  std::set<std::string> kinds_;
  queue_report report_;
};

/// A queue under test, and the entries that must be in it.
class trial {
 public:
  trial(const pool::custom_queue& kind, const queue_contract& how, fault_list& faults, std::string where)
      : queue_(kind.make()), faults_(faults), where_(std::move(where)), by_priority_(how.by_priority) {
    check_size();
  }

  [[nodiscard]] std::size_t size() const noexcept { return in_.size(); }

  void set(int priority) {
    const std::uint64_t id = ++last_id_;
    // A queue that makes an entry anew from its id and priority, instead of copying it, loses the pool's
    // mark.
    const queued_work work =
        pool::detail::work_mark::put(queued_work(id, priority), static_cast<std::uint32_t>(id));
    if (!call("set()", [&] { queue_->set(work); })) return;
    in_.emplace(id, work);
    ++priorities_[priority];
    check_size();
  }

  /// Returns false if the queue returned nothing.
  bool take(way by) {
    std::optional<queued_work> given;
    const bool returned = call(name_of(by), [&] { given = ask(by); });
    if (given.has_value()) {
      check_given(by, *given);
    } else if (returned && !in_.empty()) {
      fault(name_of(by) + " gave nothing although works were in", std::to_string(in_.size()) + " were in");
    }
    check_size();
    return given.has_value();
  }

  void drain(way by) {
    for (std::size_t most = 2 * in_.size(); most > 0 && !in_.empty() && take(by); --most) continue;
    check_empty();
  }

  /// Checks that all three calls return nothing. An entry that should still be in is reported as lost.
  void check_empty() {
    for (const way by : ways) static_cast<void>(take(by));
    if (in_.empty()) return;
    fault("a work was lost", words_for(in_.begin()->second));
    in_.clear();
    priorities_.clear();
  }

 private:
  void fault(std::string kind, std::string example) {
    example += std::string(example.empty() ? "" : "; ") + where_ + ", call " + std::to_string(calls_);
    faults_.add(std::move(kind), example);
  }

  template <class F>
  bool call(const std::string& name, F&& what) {
    ++calls_;
    try {
      what();
      return true;
    } catch (const std::exception& thrown) {
      fault(name + " threw", thrown.what());
    } catch (...) {
      fault(name + " threw", "no std::exception");
    }
    return false;
  }

  std::optional<queued_work> ask(way by) {
    switch (by) {
      case way::get: return queue_->get();
      case way::steal: return queue_->steal();
      case way::discard: return queue_->discard();
    }
    return std::nullopt;
  }

  void check_given(way by, const queued_work& given) {
    const auto known = in_.find(given.id);
    if (known == in_.end()) return fault_of_stranger(by, given);
    const queued_work& put = known->second;
    if (given.priority != put.priority) {
      fault(name_of(by) + " gave a work with another priority",
            words_for(given) + " had " + std::to_string(put.priority));
    } else if (given != put) {
      fault(name_of(by) + " gave a work that is no copy of the one that was put in", words_for(given));
    }
    if (by_priority_) check_order(by, put);
    forget(put.priority);
    in_.erase(known);
  }

  void fault_of_stranger(way by, const queued_work& given) {
    if (given.id == 0 || given.id > last_id_) {
      fault(name_of(by) + " gave a work that was never put in", words_for(given));
    } else {
      fault(name_of(by) + " gave a work that was out already", words_for(given));
    }
  }

  void check_order(way by, const queued_work& given) {
    const int lowest = priorities_.begin()->first;
    const int highest = priorities_.rbegin()->first;
    if (by == way::discard && given.priority != lowest) {
      fault("discard() did not take from the lowest priority",
            words_for(given) + ", and " + std::to_string(lowest) + " was in");
    } else if (by != way::discard && given.priority != highest) {
      fault(name_of(by) + " did not take from the highest priority",
            words_for(given) + ", and " + std::to_string(highest) + " was in");
    }
  }

  void forget(int priority) {
    const auto count = priorities_.find(priority);
    if (--count->second == 0) priorities_.erase(count);
  }

  void check_size() {
    std::size_t said = in_.size();
    if (!call("size()", [&] { said = queue_->size(); }) || said == in_.size()) return;
    fault("size() is wrong", std::to_string(said) + " where " + std::to_string(in_.size()) + " are in");
  }

  const std::unique_ptr<user_queue> queue_;
  fault_list& faults_;
  const std::string where_;
  const bool by_priority_;
  std::uint64_t calls_ = 0;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, queued_work> in_;
  std::map<int, std::size_t> priorities_;
};

class examination {
 public:
  examination(const pool::custom_queue& kind, const queue_contract& how) : kind_(kind), how_(how) {}

  queue_report run() {
    begin("a new queue").check_empty();
    try_one_work();
    try_one_priority();
    try_many_priorities();
    try_filling_again();
    try_two_queues();
    try_everything();
    return std::move(faults_.report());
  }

 private:
  [[nodiscard]] trial begin(std::string where) { return {kind_, how_, faults_, std::move(where)}; }

  void try_one_work() {
    for (const way by : ways) {
      for (const int priority : {0, 1, -1, INT_MAX, INT_MIN}) {
        trial one = begin("one work");
        one.set(priority);
        one.drain(by);
      }
    }
  }

  void try_one_priority() {
    for (const way by : ways) {
      trial one = begin("works of one priority");
      for (int i = 0; i < 100; ++i) one.set(3);
      one.drain(by);
    }
  }

  /// Rising, falling and mixed priorities, with the ints at which a comparison by subtraction fails.
  void try_many_priorities() {
    for (const way by : ways) {
      trial up = begin("rising priorities");
      for (int i = -100; i < 100; ++i) up.set(i);
      up.drain(by);
      trial down = begin("falling priorities");
      for (int i = 100; i > -100; --i) down.set(i);
      down.drain(by);
      trial far = begin("priorities far apart");
      for (const int priority : {0, INT_MIN, INT_MAX, 1, INT_MIN + 1, -1, INT_MAX - 1, INT_MAX, INT_MIN, 0}) {
        far.set(priority);
      }
      far.drain(by);
    }
  }

  void try_filling_again() {
    for (const way by : ways) {
      trial again = begin("filled again");
      for (int round = 1; round <= 5; ++round) {
        for (int i = 0; i < round * 3; ++i) again.set(i % 4);
        again.drain(by);
      }
    }
  }

  void try_two_queues() {
    trial one = begin("one of two queues");
    trial other = begin("the other of two queues");
    for (int i = 0; i < 10; ++i) {
      one.set(i);
      if (i % 2 == 0) other.set(-i);
    }
    other.drain(way::get);
    one.drain(way::get);
  }

  /// Random calls that fill and empty the queue alternately.
  void try_everything() {
    base::random chance(how_.seed);
    trial all = begin("random calls, seed " + std::to_string(how_.seed));
    for (std::uint32_t step = 0; step < how_.steps; ++step) {
      const bool fills = (step / 500) % 2 == 0;
      if (chance.below(10) < (fills ? 7U : 3U)) {
        all.set(any_priority(chance));
      } else {
        static_cast<void>(all.take(ways[chance.below(3)]));
      }
    }
    all.drain(way::get);
  }

  /// Returns mostly one of a few small priorities, so that many are equal, and sometimes any int.
  static int any_priority(base::random& chance) {
    if (chance.below(8) == 0) return static_cast<int>(static_cast<std::uint32_t>(chance.next()));
    return static_cast<int>(chance.below(7)) - 3;
  }

  const pool::custom_queue& kind_;
  const queue_contract& how_;
  fault_list faults_;
};

}  // namespace

std::string to_string(const queue_report& report) {
  std::string text;
  for (const std::string& fault : report.faults) text.append(fault).append("\n");
  return text;
}

queue_report check_queue(const pool::custom_queue& kind, const queue_contract& how) {
  return examination(kind, how).run();
}

}  // namespace rota::testing
