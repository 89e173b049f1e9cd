// Records what ran when, for chrome://tracing.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace build {

struct span {
  std::string name;
  std::string rule;
  std::string how;  // how it ended
  std::size_t slot = 0;
  unsigned attempt = 0;
  std::chrono::steady_clock::time_point began, ended;
};

/// Threads    Any.
class trace {
 public:
  void add(span what);
  /// Returns the spans in the Trace Event Format. A slot is shown as a thread.
  [[nodiscard]] std::string json() const;

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::vector<span> spans_;
};

/// Assigns numbers to concurrent commands, always the smallest free one.
class slots {
 public:
  [[nodiscard]] std::size_t take();
  void give_back(std::size_t slot) noexcept;

 private:
  std::mutex mutex_;
  std::vector<bool> is_taken_;
};

class slot_guard {
 public:
  explicit slot_guard(slots& of) : of_(of), number_(of.take()) {}
  slot_guard(const slot_guard&) = delete;
  slot_guard& operator=(const slot_guard&) = delete;
  ~slot_guard() { of_.give_back(number_); }
  [[nodiscard]] std::size_t number() const noexcept { return number_; }

 private:
  slots& of_;
  std::size_t number_;
};

}  // namespace build
