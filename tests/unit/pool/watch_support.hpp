// Shared by the tests of watches.
#pragma once

#include "unit/pool/pool_support.hpp"

#include <rota/pool/watch.hpp>

namespace rota::pool::test {

/// Expects that no item is in a work and none is lost.
inline void expect_settled(const watch& w) {
  const watch_stats s = w.stats();
  EXPECT_EQ(s.in_works, 0U);
  EXPECT_EQ(s.taken, s.succeeded + s.put_back + s.given_up + s.dropped + s.abandoned);
}

/// A move-only item that records its destruction.
class parcel {
 public:
  explicit parcel(int number, std::atomic<int>* ends = nullptr) : number_(number), ends_(ends) {}
  parcel(parcel&& other) noexcept : number_(other.number_), ends_(std::exchange(other.ends_, nullptr)) {}
  parcel(const parcel&) = delete;
  parcel& operator=(const parcel&) = delete;
  parcel& operator=(parcel&&) = delete;
  ~parcel() {
    if (ends_ != nullptr) ++*ends_;
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
  std::atomic<int>* ends_;
};

}  // namespace rota::pool::test
