#include "build/trace.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace build {

void trace::add(span what) {
  const std::lock_guard guard(mutex_);
  spans_.push_back(std::move(what));
}

std::string trace::json() const {
  const auto microseconds = [](std::chrono::steady_clock::duration d) {
    return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
  };
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  const std::lock_guard guard(mutex_);
  for (const span& each : spans_) {
    events.push_back({{"name", each.name},
                      {"cat", each.rule},
                      {"ph", "X"},
                      {"ts", microseconds(each.began - began_)},
                      {"dur", microseconds(each.ended - each.began)},
                      {"pid", 1},
                      {"tid", each.slot},
                      {"args", {{"end", each.how}, {"attempt", each.attempt}}}});
  }
  const nlohmann::ordered_json all{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  return all.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::size_t slots::take() {
  const std::lock_guard guard(mutex_);
  const auto place = std::find(is_taken_.begin(), is_taken_.end(), false);
  const auto number = static_cast<std::size_t>(place - is_taken_.begin());
  if (place == is_taken_.end()) {
    is_taken_.push_back(true);
  } else {
    *place = true;
  }
  return number;
}

void slots::give_back(std::size_t slot) noexcept {
  const std::lock_guard guard(mutex_);
  is_taken_[slot] = false;
}

}  // namespace build
