// The result of a comparison, for tests that draw their steps at random, and for the fuzzer.
#pragma once

#include <string>

namespace rota::test {

/// The first thing that did not hold.
class verdict {
 public:
  void expect(bool good, const char* what) {
    if (!good && broken_.empty()) broken_ = what;
  }
  /// Empty: everything held.
  [[nodiscard]] const std::string& broken() const noexcept { return broken_; }

 private:
  std::string broken_;
};

}  // namespace rota::test
