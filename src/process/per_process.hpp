// Static state that is made anew in a fork.
#pragma once

#include "base/atomic.hpp"
#include "base/thread.hpp"

#include <cstdint>

namespace rota::process::detail {

// PROTOCOL: made once in each process
//   A fork gets static state as it was at the fork, perhaps in use by a thread that does not exist in the
//   fork: a lock may be held for ever, a count may be short. So the state is made before its first use, once
//   in each process.
//
//   word_    63       62                                        0
//          +--------+--------------------------------------------+
//          | making |  the process, 0: none yet                  |
//          +--------+--------------------------------------------+
//
//   ensure:  this process's: nothing · this process's, and another thread is making: yield, check again
//            · unmade, or made or half made by another process: take it by a CAS, make, publish
//
//   M1  one thread of a process makes, and all others observe the result.
//   M2  state that another process has left half made is made anew.
//   A waiter waits while another thread of this process runs `make`, so `make` must not wait. A fork inside
//   `make`: M2.
//   Checked: tests/model/per_process_model.cpp.
class per_process {
 public:
  static constexpr std::uint64_t making = std::uint64_t{1} << 63U;

  constexpr per_process() noexcept = default;
  /// The state of the word in a fork.
  explicit constexpr per_process(std::uint64_t word) noexcept : word_(word) {}

  /// Makes the state unless this process has made it. `process`: see base::this_process_id(). `make`: must
  /// not throw.
  template <class Make>
  void ensure(std::uint64_t process, const Make& make) noexcept {
    for (unsigned looks = 0;; ++looks) {
      // acquire: pairs with the last store: observes what was made.
      std::uint64_t seen = word_.load(base::order::acquire);
      if (seen == process) [[likely]]
        return;
      if (seen == (process | making)) {
        base::back_off(looks);
        continue;
      }
      // relaxed: nothing of the previous maker is read. failure: relaxed: the loop reads the word again.
      if (!word_.compare_exchange_strong(seen, process | making, base::order::relaxed, base::order::relaxed))
        continue;
      make();
      // release: pairs with the load above.
      word_.store(process, base::order::release);
      return;
    }
  }

 private:
  base::atomic<std::uint64_t> word_{0};
};

}  // namespace rota::process::detail
