// Custom queues as users would write them.
#pragma once

#include <rota/pool/custom_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rota::pool {

using maybe_work = std::optional<queued_work>;

/// One deque, sorted by priority. Oldest first among equals.
class sorted_deque {
 public:
  void set(queued_work work) {
    const auto lower = [](const queued_work& a, const queued_work& b) { return a.priority > b.priority; };
    works_.insert(std::upper_bound(works_.begin(), works_.end(), work, lower), work);
  }
  maybe_work get() { return take(works_.begin()); }
  maybe_work steal() { return take(works_.begin()); }
  maybe_work discard() { return take(works_.empty() ? works_.end() : std::prev(works_.end())); }
  [[nodiscard]] std::size_t size() const { return works_.size(); }

 private:
  maybe_work take(std::deque<queued_work>::iterator from) {
    if (works_.empty()) return std::nullopt;
    const queued_work work = *from;
    works_.erase(from);
    return work;
  }

  std::deque<queued_work> works_;
};

/// A binary heap: any order among equals.
class heap_queue {
 public:
  void set(queued_work work) {
    works_.push_back(work);
    std::ranges::push_heap(works_, {}, &queued_work::priority);
  }
  maybe_work get() {
    if (works_.empty()) return std::nullopt;
    std::ranges::pop_heap(works_, {}, &queued_work::priority);
    const queued_work work = works_.back();
    works_.pop_back();
    return work;
  }
  maybe_work steal() { return get(); }
  maybe_work discard() {
    if (works_.empty()) return std::nullopt;
    const auto lowest = std::ranges::min_element(works_, {}, &queued_work::priority);
    const queued_work work = *lowest;
    works_.erase(lowest);
    std::ranges::make_heap(works_, {}, &queued_work::priority);
    return work;
  }
  [[nodiscard]] std::size_t size() const { return works_.size(); }

 private:
  std::vector<queued_work> works_;
};

/// A deque for each priority: newest first for the owner, oldest first for thieves.
class map_queue {
 public:
  void set(queued_work work) { of_[work.priority].push_back(work); }
  maybe_work get() { return of_.empty() ? std::nullopt : take_newest(std::prev(of_.end())); }
  maybe_work steal() { return of_.empty() ? std::nullopt : take_oldest(std::prev(of_.end())); }
  maybe_work discard() { return of_.empty() ? std::nullopt : take_newest(of_.begin()); }
  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const auto& [priority, works] : of_) sum += works.size();
    return sum;
  }

 private:
  using place = std::map<int, std::deque<queued_work>>::iterator;
  maybe_work take_newest(place from) {
    const queued_work work = from->second.back();
    from->second.pop_back();
    if (from->second.empty()) of_.erase(from);
    return work;
  }
  maybe_work take_oldest(place from) {
    const queued_work work = from->second.front();
    from->second.pop_front();
    if (from->second.empty()) of_.erase(from);
    return work;
  }

  std::map<int, std::deque<queued_work>> of_;
};

}  // namespace rota::pool
