// Items for channels, which count how many of them exist.
#pragma once

#include <cstdint>
#include <utility>

#include "reference.hpp"

namespace fuzz {

/// A number that exists at one place. A moved-from item has none.
class item {
 public:
  explicit item(number what) noexcept : what_(what) { ++alive; }
  item(item&& other) noexcept : what_(std::exchange(other.what_, 0)) {}
  item& operator=(item&& other) noexcept {
    if (what_ != 0) --alive;
    what_ = std::exchange(other.what_, 0);
    return *this;
  }
  item(const item&) = delete;
  item& operator=(const item&) = delete;
  ~item() {
    if (what_ != 0) --alive;
  }

  [[nodiscard]] number what() const noexcept { return what_; }

  static inline number alive = 0;

 private:
  number what_;
};

/// The same, and it can be copied.
class copied : public item {
 public:
  explicit copied(number what) noexcept : item(what) {}
  copied(copied&&) noexcept = default;
  copied(const copied& other) noexcept : item(other.what()) {}
  copied& operator=(copied&&) noexcept = default;
  copied& operator=(const copied&) = delete;
  ~copied() = default;
};

/// The same as plain bytes: if halves of two items are mixed, its number is 0.
struct bytes {
  explicit bytes(number what) noexcept : one(what), other(~what) {}
  [[nodiscard]] number what() const noexcept { return one == ~other ? one : 0; }

  number one;
  number other;
};

}  // namespace fuzz
