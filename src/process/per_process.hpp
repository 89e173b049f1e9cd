// What is static, and made anew in a fork.
#pragma once

#include "base/atomic.hpp"
#include "base/thread.hpp"

#include <cstdint>

namespace rota::process::detail {

// PROTOCOL: made once in each process
//   A fork has what is static as some thread of its parent had it, which the fork does not have: a lock may be taken for ever, a count be short. So
//   whoever is about to use it has it made first, once in each process.
//
//   word_    63       62                                        0
//          +--------+--------------------------------------------+
//          | making |  the process, 0: none yet                  |
//          +--------+--------------------------------------------+
//
//   ensure:  this process's: nothing · this process's, and another thread is making: give way, look again
//            · nobody's, or another's, made or half made: take it by a CAS, make, publish
//
//   M1  one thread of a process makes, and all others see what it has made.
//   M2  what another process has left half made is begun anew.
//   Who waits does so while another thread of this process calls `make`, which must not wait for anybody. A fork inside of `make`: M2.
//   Checked: tests/model/per_process_model.cpp.
class per_process {
 public:
  static constexpr std::uint64_t making = std::uint64_t{1} << 63U;

  constexpr per_process() noexcept = default;
  /// As a fork finds it.
  explicit constexpr per_process(std::uint64_t word) noexcept : word_(word) {}

  /// `process`: see base::this_process_id(). `make`: any function that cannot throw.
  template <class Make>
  void ensure(std::uint64_t process, const Make& make) noexcept {
    for (unsigned looks = 0;; ++looks) {
      // acquire. Pairs with the last store: what was made is seen.
      std::uint64_t seen = word_.load(base::order::acquire);
      if (seen == process) [[likely]]
        return;
      if (seen == (process | making)) {
        base::back_off(looks);
        continue;
      }
      // relaxed. Nothing of who made it before is read. failure: relaxed. The look is taken again.
      if (!word_.compare_exchange_strong(seen, process | making, base::order::relaxed, base::order::relaxed))
        continue;
      make();
      // release. Pairs with the look.
      word_.store(process, base::order::release);
      return;
    }
  }

 private:
  base::atomic<std::uint64_t> word_{0};
};

}  // namespace rota::process::detail
